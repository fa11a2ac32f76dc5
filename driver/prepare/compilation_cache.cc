// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/compilation_cache.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/clients/charged_work.h"
#include "driver/clients/client.h"
#include "driver/execute/device_state.h"
#include "driver/execute/saved_model.h"
#include "driver/model/validate.h"
#include "driver/prepare/cache_file.h"
#include "driver/prepare/cache_key.h"
#include "driver/prepare/kept_data.h"
#include "driver/prepare/load_model.h"
#include "engine/base/aligned_buffer.h"
#include "engine/base/build_identity.h"
#include "engine/base/byte_format.h"
#include "engine/base/log.h"
#include "engine/base/section_file.h"
#include "engine/base/version.h"

namespace halyard::driver {
namespace {

constexpr std::string_view kMagic = "HALYKEPT";
constexpr uint32_t kFileVersion = 3;
constexpr size_t kDigest = std::tuple_size_v<Sha256::Digest>;
// Magic, version, bytes, of control data, priority, origin, data; and the seal of the token and of
// all these.
constexpr size_t kVouched =
        kMagic.size() + sizeof(uint32_t) + 2 * sizeof(uint64_t) + sizeof(int32_t) + 2 * kDigest;
constexpr size_t kModelFile = kVouched + kDigest;

void add(Sha256& hash, std::string_view text) {
    const auto size = static_cast<uint64_t>(text.size());
    hash.add({reinterpret_cast<const uint8_t*>(&size), sizeof size});
    hash.add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

// All but the model itself that decides on its program: of another origin, it is of no use.
Sha256::Digest originOf(const DeviceState& state) {
    Sha256 hash;
    const std::span<const uint8_t> build = buildIdentity();
    add(hash, HALYARD_VERSION);
    add(hash, {reinterpret_cast<const char*>(build.data()), build.size()});
    add(hash, settingsOf(state));
    for (const engine::Backend* backend : state.backendList) {
        add(hash, backend->name());
        add(hash, backend->identity());
    }
    return hash.finish();
}

void put(ByteWriter& to, const Sha256::Digest& digest) {
    for (const uint8_t byte : digest) {
        to.put(byte);
    }
}

Status get(ByteReader& from, Sha256::Digest& digest) {
    for (uint8_t& byte : digest) {
        HALYARD_RETURN_IF_ERROR(from.get(byte));
    }
    return {};
}

// Null: there is none.
std::shared_ptr<const CacheKey> keyFor(const DeviceState& state, const CompilationCache& cache) {
    return cache.key != nullptr ? cache.key : state.cacheKey;
}

Sha256::Digest sealOf(std::span<const uint8_t> vouched, const CompilationCache& cache,
                      const CacheKey* key) {
    if (key != nullptr) {
        return key->authenticate({cache.token, vouched});
    }
    Sha256 hash;
    hash.add(cache.token);
    hash.add(vouched);
    return hash.finish();
}

std::vector<uint8_t> modelFileOf(const KeptModel& kept, const Sha256::Digest& origin,
                                 const CompilationCache& cache, const CacheKey* key) {
    ByteWriter to;
    for (const char c : kMagic) {
        to.put(c);
    }
    to.put(kFileVersion);
    to.put(kept.bytes);
    to.put(kept.control);
    to.put(static_cast<int32_t>(kept.priority));
    put(to, origin);
    put(to, kept.data);
    std::vector<uint8_t> bytes = to.take();
    const Sha256::Digest seal = sealOf(bytes, cache, key);
    bytes.insert(bytes.end(), seal.begin(), seal.end());
    return bytes;
}

Result<KeptModel> keptModelFrom(std::span<const uint8_t> bytes, const Sha256::Digest& origin,
                                const CompilationCache& cache, const CacheKey* key) {
    const std::span<const uint8_t> vouched = bytes.first(kVouched);
    if (!std::ranges::equal(vouched.first(kMagic.size()), kMagic)) {
        return internalError("the model file holds no model");
    }
    ByteReader from(vouched.subspan(kMagic.size()), "the model file");
    KeptModel kept;
    uint32_t version = 0;
    int32_t priority = 0;
    Sha256::Digest keptOrigin = {};
    HALYARD_RETURN_IF_ERROR(from.get(version));
    HALYARD_RETURN_IF_ERROR(from.get(kept.bytes));
    HALYARD_RETURN_IF_ERROR(from.get(kept.control));
    HALYARD_RETURN_IF_ERROR(from.get(priority));
    HALYARD_RETURN_IF_ERROR(get(from, keptOrigin));
    HALYARD_RETURN_IF_ERROR(get(from, kept.data));
    if (version != kFileVersion) {
        return unsupported("version " + std::to_string(version) + " of a model file");
    }
    if (!equalDigests(sealOf(vouched, cache, key), bytes.subspan(kVouched))) {
        return internalError(
                "the model file is not as it was written, or is another token's or another key's");
    }
    kept.authentic = key != nullptr;
    if (keptOrigin != origin) {
        return unsupported(
                "the model was kept by another build, or by a device of other settings, backends "
                "or processor features");
    }
    kept.priority = static_cast<Priority>(priority);
    HALYARD_RETURN_IF_ERROR(validatePriority(kept.priority));
    return kept;
}

Status checkAccess(std::span<const FileDescriptor> files, uint32_t wanted, std::string_view kind,
                   int refused) {
    if (files.size() != wanted) {
        return invalidArgument("there are " + std::to_string(files.size()) + " " +
                               std::string(kind) + " files instead of " + std::to_string(wanted));
    }
    for (const FileDescriptor& file : files) {
        const int flags = fcntl(file.get(), F_GETFL);
        if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == refused) {
            return internalError("a " + std::string(kind) + " file is not open for " +
                                 (refused == O_RDONLY ? "writing" : "reading"));
        }
    }
    return {};
}

// `refused`: the access mode that is of no use.
Status checkFiles(const CompilationCache& cache, int refused) {
    const NumberOfCacheFiles wanted = numberOfCacheFiles();
    if (wanted == NumberOfCacheFiles()) {
        return unsupported("nothing is kept by a build that has no identity");
    }
    HALYARD_RETURN_IF_ERROR(checkAccess(cache.modelFiles, wanted.model, "model", refused));
    return checkAccess(cache.dataFiles, wanted.data, "data", refused);
}

class Writing final : public FileWork {
  public:
    Writing(std::shared_ptr<const CompilationCache> cache,
            std::shared_ptr<const PreparedModel> model, const DeviceState& state,
            const Deadline& deadline)
        : FileWork(model->client(), deadline),
          mCache(std::move(cache)),
          mModel(std::move(model)),
          mKey(keyFor(state, *mCache)),
          mSaved(mModel->saved(mKey != nullptr ? engine::SavedBlobs::ALL
                                               : engine::SavedBlobs::NONE)),
          mOrigin(originOf(state)) {}

  protected:
    Status run() override {
        const int model = mCache->modelFiles.front().get();
        const int data = mCache->dataFiles.front().get();
        // The model file, which vouches for the data, is emptied first and written last.
        HALYARD_RETURN_IF_ERROR(emptyFile(model));
        Status written = emptyFile(data);
        if (written.ok()) {
            written = write(model, data);
        }
        if (!written.ok()) {
            static_cast<void>(emptyFile(model));
            static_cast<void>(emptyFile(data));
        }
        return written;
    }

  private:
    Status write(int model, int data) const {
        FileSink file(data, checkpoint(), client().account().sharedMemory);
        const uint64_t control = mSaved.bytesBefore(engine::kFirstOfConstants);
        KeptDataSink hashing(file, control);
        HALYARD_RETURN_IF_ERROR(mModel->write(mSaved, hashing));
        const KeptModel kept = {.bytes = hashing.count(),
                                .control = control,
                                .priority = mModel->priority(),
                                .data = hashing.finish()};
        FileSink vouching(model, checkpoint(), nullptr);
        return vouching.write(modelFileOf(kept, mOrigin, *mCache, mKey.get()));
    }

    const std::shared_ptr<const CompilationCache> mCache;
    const std::shared_ptr<const PreparedModel> mModel;
    const std::shared_ptr<const CacheKey> mKey;
    const SectionWriter mSaved;
    const Sha256::Digest mOrigin;
};

// The model file.
class Reading final : public FileWork {
  public:
    // The cache has the file.
    Reading(const std::shared_ptr<Client>& client, const Deadline& deadline,
            std::shared_ptr<const CompilationCache> cache)
        : FileWork(client, deadline), mCache(std::move(cache)) {}

    // Once it has ended.
    std::span<const uint8_t> bytes() const { return mBytes; }

  protected:
    Status run() override { return readWhole(mCache->modelFiles[0].get(), mBytes, checkpoint()); }

  private:
    const std::shared_ptr<const CompilationCache> mCache;
    std::array<uint8_t, kModelFile> mBytes = {};
};

// The data file, copied and summed.
class ReadingData final : public FileWork {
  public:
    ReadingData(const std::shared_ptr<Client>& client, const Deadline& deadline,
                std::shared_ptr<const CompilationCache> cache, AlignedBuffer copy,
                const KeptModel& kept)
        : FileWork(client, deadline),
          mCache(std::move(cache)),
          mCopy(std::move(copy)),
          mSize(static_cast<size_t>(kept.bytes)),
          mControl(static_cast<size_t>(kept.control)) {}

    // Once it has ended.
    std::span<const uint8_t> bytes() const { return all(); }
    const Sha256::Digest& digest() const { return mDigest; }

  protected:
    Status run() override {
        HALYARD_ASSIGN_OR_RETURN(
                mDigest, readKeptData(mCache->dataFiles[0].get(), all(), mControl, checkpoint()));
        return {};
    }

  private:
    std::span<uint8_t> all() const { return {reinterpret_cast<uint8_t*>(mCopy.data()), mSize}; }

    const std::shared_ptr<const CompilationCache> mCache;
    const AlignedBuffer mCopy;
    const size_t mSize;
    const size_t mControl;
    Sha256::Digest mDigest = {};
};

Result<std::shared_ptr<PreparedModel>> load(const std::shared_ptr<DeviceState>& state,
                                            const std::shared_ptr<Client>& client,
                                            const KeptModel& kept, const PrepareOptions& options,
                                            const Checkpoint& checkpoint) {
    if (kept.bytes > std::numeric_limits<size_t>::max()) {
        return internalError("the data file is larger than the address space");
    }
    if (kept.control > kept.bytes) {
        return internalError("the data file has fewer bytes than control data in it");
    }
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer copy, allocateKeptData(static_cast<size_t>(kept.bytes),
                                                                  client->account().memory));
    const auto reading = std::make_shared<ReadingData>(client, options.deadline, options.cache,
                                                       std::move(copy), kept);
    HALYARD_RETURN_IF_ERROR(
            FileWork::perform(reading, *options.cache).withContext("the data file"));
    if (reading->digest() != kept.data) {
        return internalError("the data file is not as it was written");
    }
    return loadPrivateModel(
            state, client,
            {.owner = reading, .bytes = reading->bytes(), .authentic = kept.authentic},
            kept.priority, checkpoint);
}

}  // namespace

NumberOfCacheFiles numberOfCacheFiles() {
    return buildIdentity().empty() ? NumberOfCacheFiles()
                                   : NumberOfCacheFiles{.model = 1, .data = 1};
}

std::shared_ptr<const CompilationCache> usableCache(
        const std::shared_ptr<const CompilationCache>& cache, const Client& client,
        Reservation& held) {
    if (cache == nullptr || (cache->modelFiles.empty() && cache->dataFiles.empty())) {
        return nullptr;
    }
    Status usable = checkFiles(*cache, O_RDONLY);
    if (usable.ok()) {
        Result<Reservation> descriptors = Reservation::create(
                client.account().descriptors, cache->modelFiles.size() + cache->dataFiles.size());
        usable = descriptors.status();
        if (usable.ok()) {
            held = std::move(*descriptors);
            return cache;
        }
    }
    log(LogLevel::VERBOSE, "prepareModel: the model is not kept: " + usable.toString());
    return nullptr;
}

void keepModel(const DeviceState& state, const std::shared_ptr<const PreparedModel>& model,
               const std::shared_ptr<const CompilationCache>& cache, const Deadline& deadline) {
    const Status kept =
            FileWork::perform(std::make_shared<Writing>(cache, model, state, deadline), *cache);
    if (!kept.ok()) {
        log(LogLevel::VERBOSE, "prepareModel: the model is not kept: " + kept.toString());
    }
}

Result<KeptModel> findKeptModel(const DeviceState& state, const std::shared_ptr<Client>& client,
                                const std::shared_ptr<const CompilationCache>& cache,
                                const Deadline& deadline) {
    if (cache == nullptr) {
        return invalidArgument("there are no cache files");
    }
    HALYARD_RETURN_IF_ERROR(checkFiles(*cache, O_WRONLY));
    const auto reading = std::make_shared<Reading>(client, deadline, cache);
    HALYARD_RETURN_IF_ERROR(FileWork::perform(reading, *cache).withContext("the model file"));
    return keptModelFrom(reading->bytes(), originOf(state), *cache, keyFor(state, *cache).get());
}

Result<std::shared_ptr<PreparedModel>> loadKeptModel(std::shared_ptr<DeviceState> state,
                                                     const KeptModel& kept,
                                                     const PrepareOptions& options) {
    const std::shared_ptr<Client> client =
            options.client == nullptr ? state->clients.own() : options.client;
    const TimeLimit limit = state->timeLimit(options.deadline);
    const ChargedWork work(state->processors, *client);
    const Checkpoint checkpoint =
            Checkpoint(limit.deadline(), &client->ended()).unless(work.condition());
    Result<std::shared_ptr<PreparedModel>> model = load(state, client, kept, options, checkpoint);
    if (!model.ok()) {
        return limit.explain(model.status());
    }
    return model;
}

}  // namespace halyard::driver
