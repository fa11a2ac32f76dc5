// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/compilation_cache.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/charged_work.h"
#include "driver/client.h"
#include "driver/device_state.h"
#include "driver/model/validate.h"
#include "driver/prepare/build_identity.h"
#include "driver/prepare/cache_file.h"
#include "driver/prepare/saved_model.h"
#include "engine/base/aligned_buffer.h"
#include "engine/base/byte_format.h"
#include "engine/base/checksum.h"
#include "engine/base/log.h"
#include "engine/base/section_file.h"
#include "engine/base/thread_pool.h"

namespace halyard::driver {
namespace {

constexpr std::string_view kMagic = "HALYKEPT";
constexpr uint32_t kFileVersion = 2;
constexpr size_t kDigest = std::tuple_size_v<Sha256::Digest>;
// Magic, version, bytes, of descriptions, priority, origin, data; and the digest of the token and
// of all these.
constexpr size_t kVouched =
        kMagic.size() + sizeof(uint32_t) + 2 * sizeof(uint64_t) + sizeof(int32_t) + 2 * kDigest;
constexpr size_t kModelFile = kVouched + kDigest;
// Of the data file's copy: more than sections that are mapped want, so that it can be of pages as
// large.
constexpr size_t kAlignment = size_t{1} << 21;
static_assert(kAlignment % kSectionPage == 0);
// Constants are summed in parts of so many bytes, as many at a time as there are threads.
constexpr size_t kPart = size_t{1} << 18;

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

Sha256::Digest sealOf(std::span<const uint8_t> vouched, const CompilationCache& cache) {
    Sha256 hash;
    hash.add(cache.token);
    hash.add(vouched);
    return hash.finish();
}

std::vector<uint8_t> modelFileOf(const KeptModel& kept, const Sha256::Digest& origin,
                                 const CompilationCache& cache) {
    ByteWriter to;
    for (const char c : kMagic) {
        to.put(c);
    }
    to.put(kFileVersion);
    to.put(kept.bytes);
    to.put(kept.descriptions);
    to.put(static_cast<int32_t>(kept.priority));
    put(to, origin);
    put(to, kept.data);
    std::vector<uint8_t> bytes = to.take();
    const Sha256::Digest seal = sealOf(bytes, cache);
    bytes.insert(bytes.end(), seal.begin(), seal.end());
    return bytes;
}

Result<KeptModel> keptModelFrom(std::span<const uint8_t> bytes, const Sha256::Digest& origin,
                                const CompilationCache& cache) {
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
    HALYARD_RETURN_IF_ERROR(from.get(kept.descriptions));
    HALYARD_RETURN_IF_ERROR(from.get(priority));
    HALYARD_RETURN_IF_ERROR(get(from, keptOrigin));
    HALYARD_RETURN_IF_ERROR(get(from, kept.data));
    if (version != kFileVersion) {
        return unsupported("version " + std::to_string(version) + " of a model file");
    }
    if (!std::ranges::equal(sealOf(vouched, cache), bytes.subspan(kVouched))) {
        return internalError("the model file is not as it was written, or is another token's");
    }
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

uint64_t sumOf(std::span<const uint8_t> bytes) {
    Checksum sum;
    sum.add(bytes);
    return sum.value();
}

// Of the data file: what SHA-256 says of its descriptions and of the checksums of all that follows.
Sha256::Digest digestOf(Sha256& descriptions, std::span<const uint64_t> sums) {
    Sha256 hash;
    hash.add(descriptions.finish());
    hash.add({reinterpret_cast<const uint8_t*>(sums.data()), sums.size_bytes()});
    return hash.finish();
}

// Counts what goes by, and makes the digest of it.
class HashingSink final : public ByteSink {
  public:
    // `descriptions`: so many bytes come before the constants.
    HashingSink(ByteSink& sink, uint64_t descriptions) : mSink(sink), mLeft(descriptions) {}

    Status write(std::span<const uint8_t> bytes) override {
        mCount += bytes.size();
        const auto described = static_cast<size_t>(std::min<uint64_t>(mLeft, bytes.size()));
        mDescriptions.add(bytes.first(described));
        mLeft -= described;
        for (std::span<const uint8_t> rest = bytes.subspan(described); !rest.empty();) {
            const std::span<const uint8_t> next =
                    rest.first(std::min(kPart - mInPart, rest.size()));
            mPart.add(next);
            mInPart += next.size();
            rest = rest.subspan(next.size());
            if (mInPart == kPart) {
                endPart();
            }
        }
        return mSink.write(bytes);
    }
    uint64_t count() const { return mCount; }
    Sha256::Digest finish() {
        if (mInPart > 0) {
            endPart();
        }
        return digestOf(mDescriptions, mSums);
    }

  private:
    void endPart() {
        mSums.push_back(mPart.value());
        mPart = {};
        mInPart = 0;
    }

    ByteSink& mSink;
    uint64_t mLeft;  // of the descriptions
    uint64_t mCount = 0;
    Sha256 mDescriptions;
    Checksum mPart;
    size_t mInPart = 0;
    std::vector<uint64_t> mSums;
};

class Writing final : public FileWork {
  public:
    Writing(std::shared_ptr<const CompilationCache> cache,
            std::shared_ptr<const PreparedModel> model, const Sha256::Digest& origin,
            const Deadline& deadline)
        : FileWork(model->client(), deadline),
          mCache(std::move(cache)),
          mModel(std::move(model)),
          mSaved(mModel->saved()),
          mOrigin(origin) {}

  protected:
    Status run() override {
        const int model = mCache->modelFiles.front().get();
        const int data = mCache->dataFiles.front().get();
        // What vouches goes first and comes last.
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
        const uint64_t descriptions = mSaved.bytesBeforeMapped();
        HashingSink hashing(file, descriptions);
        HALYARD_RETURN_IF_ERROR(mModel->write(mSaved, hashing));
        const KeptModel kept = {.bytes = hashing.count(),
                                .descriptions = descriptions,
                                .priority = mModel->priority(),
                                .data = hashing.finish()};
        FileSink vouching(model, checkpoint(), nullptr);
        return vouching.write(modelFileOf(kept, mOrigin, *mCache));
    }

    const std::shared_ptr<const CompilationCache> mCache;
    const std::shared_ptr<const PreparedModel> mModel;
    const SectionWriter mSaved;
    const Sha256::Digest mOrigin;
};

// All of a file that is exactly as long as the buffer.
class Reading final : public FileWork {
  public:
    // The cache has the file.
    Reading(const std::shared_ptr<Client>& client, const Deadline& deadline,
            std::shared_ptr<const CompilationCache> cache, const FileDescriptor& file,
            AlignedBuffer buffer)
        : FileWork(client, deadline),
          mCache(std::move(cache)),
          mFile(file.get()),
          mBuffer(std::move(buffer)) {}

    // Once it has ended.
    std::span<const uint8_t> bytes() const { return all(); }

  protected:
    Status run() override { return readWhole(mFile, all(), checkpoint()); }

  private:
    std::span<uint8_t> all() const {
        return {reinterpret_cast<uint8_t*>(mBuffer.data()), mBuffer.size()};
    }

    const std::shared_ptr<const CompilationCache> mCache;
    const int mFile;
    const AlignedBuffer mBuffer;
};

// As HashingSink does it. `descriptions`: no more than there are bytes.
Result<Sha256::Digest> digestOf(std::span<const uint8_t> bytes, size_t descriptions,
                                ThreadPool& threads, const Checkpoint& checkpoint) {
    const std::span<const uint8_t> constants = bytes.subspan(descriptions);
    std::vector<uint64_t> sums((constants.size() + kPart - 1) / kPart);
    const auto sumParts = [&](int64_t begin, int64_t end, size_t /*worker*/) -> Status {
        for (auto part = static_cast<size_t>(begin); part < static_cast<size_t>(end); ++part) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while a kept model was checked"));
            const size_t at = part * kPart;
            sums[part] = sumOf(constants.subspan(at, std::min(kPart, constants.size() - at)));
        }
        return {};
    };
    ThreadLease lease = ThreadLease::take(&threads);
    HALYARD_RETURN_IF_ERROR(lease.parallelFor(static_cast<int64_t>(sums.size()), 1, sumParts));
    Sha256 described;
    described.add(bytes.first(descriptions));
    return digestOf(described, sums);
}

// Of the client's memory. Large pages come into being sooner than hundreds of small ones; where the
// kernel has none, nothing is lost.
Result<AlignedBuffer> allocateCopy(size_t size, const std::shared_ptr<Budget>& memory) {
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                             AlignedBuffer::allocate(size, kAlignment, memory));
    if (const size_t whole = size - size % kAlignment; whole > 0) {
        static_cast<void>(madvise(buffer.data(), whole, MADV_HUGEPAGE));
    }
    return buffer;
}

Result<std::shared_ptr<PreparedModel>> load(const std::shared_ptr<DeviceState>& state,
                                            const std::shared_ptr<Client>& client,
                                            const KeptModel& kept, const PrepareOptions& options,
                                            const Checkpoint& checkpoint) {
    if (kept.bytes > std::numeric_limits<size_t>::max()) {
        return internalError("the data file is larger than the address space");
    }
    if (kept.descriptions > kept.bytes) {
        return internalError("the data file has fewer bytes than its descriptions");
    }
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer buffer, allocateCopy(static_cast<size_t>(kept.bytes),
                                                                client->account().memory));
    const auto reading = std::make_shared<Reading>(client, options.deadline, options.cache,
                                                   options.cache->dataFiles[0], std::move(buffer));
    HALYARD_RETURN_IF_ERROR(
            FileWork::perform(reading, *options.cache).withContext("the data file"));
    const std::span<const uint8_t> bytes = reading->bytes();
    HALYARD_ASSIGN_OR_RETURN(
            const Sha256::Digest data,
            digestOf(bytes, static_cast<size_t>(kept.descriptions), *state->threads, checkpoint));
    if (data != kept.data) {
        return internalError("the data file is not as it was written");
    }
    return loadPrivateModel(state, client, {.owner = reading, .bytes = bytes}, kept.priority,
                            checkpoint);
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
    const Status kept = FileWork::perform(
            std::make_shared<Writing>(cache, model, originOf(state), deadline), *cache);
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
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                             AlignedBuffer::allocate(kModelFile, alignof(std::max_align_t)));
    const auto reading = std::make_shared<Reading>(client, deadline, cache, cache->modelFiles[0],
                                                   std::move(buffer));
    HALYARD_RETURN_IF_ERROR(FileWork::perform(reading, *cache).withContext("the model file"));
    return keptModelFrom(reading->bytes(), originOf(state), *cache);
}

Result<std::shared_ptr<PreparedModel>> loadKeptModel(std::shared_ptr<DeviceState> state,
                                                     const KeptModel& kept,
                                                     const PrepareOptions& options) {
    const std::shared_ptr<Client> client =
            options.client == nullptr ? state->clients.own() : options.client;
    const TimeLimit limit = state->timeLimit(options.deadline);
    const ChargedWork work(*state, *client);
    const Checkpoint checkpoint =
            Checkpoint(limit.deadline(), &client->ended()).unless(work.condition());
    Result<std::shared_ptr<PreparedModel>> model = load(state, client, kept, options, checkpoint);
    if (!model.ok()) {
        return limit.explain(model.status());
    }
    return model;
}

}  // namespace halyard::driver
