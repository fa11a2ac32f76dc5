// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/compilation_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "driver/options/backends.h"
#include "driver/prepare/cache_key.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/backend.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/prepare/cache_files.h"
#include "tests/driver/sample_models.h"
#include "tests/second_backend/distant_backend.h"

namespace halyard::driver {
namespace {

std::unique_ptr<Device> makeTunedDevice(Options options = {}) {
    options.backends = {"CpuAcc"};
    options.threads = 1;
    return Device::create(std::move(options)).value();
}

// The status, and the output.
using Outcome = std::pair<StatusCode, std::vector<float>>;

Outcome run(const PreparedModel& model) {
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}).output(8 * sizeof(float));
    const StatusCode code = model.execute(request.request(), HalVersion::V1_3, {}).status.code();
    return {code, request.result<float>(0, 8)};
}

// As floatConvModel(), with other constants.
Model otherConvModel() {
    Model model = floatConvModel();
    auto values = std::make_shared<std::vector<uint8_t>>(*model.operandValues);
    const DataLocation& filter = model.main.operands[conv_model::kFilter].location;
    constexpr std::array<float, 8> kFilter = {2, 2, 2, 2, 1, 1, 1, 1};
    std::memcpy(values->data() + filter.offset, kFilter.data(), sizeof kFilter);
    model.operandValues = std::move(values);
    return model;
}

class CompilationCaches : public testing::Test {
  protected:
    Outcome keep(const Model& model, const TestCacheFiles& files) {
        const auto prepared = mDevice->prepare(model, HalVersion::V1_3, files.options());
        EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
        return run(**prepared);
    }
    Outcome keep() { return keep(floatConvModel(), mFiles); }
    Result<std::shared_ptr<PreparedModel>> find() const {
        return mDevice->prepareFromCache(mFiles.options());
    }
    StatusCode found() const { return find().status().code(); }

    std::unique_ptr<Device> mDevice = makeTunedDevice();
    TestCacheFiles mFiles;
};

TEST_F(CompilationCaches, KeepAModelForDevicesOfTheSameOptions) {
    EXPECT_EQ(mDevice->numberOfCacheFiles(), (NumberOfCacheFiles{.model = 1, .data = 1}));
    const Outcome expected = keep();
    ASSERT_EQ(expected.first, StatusCode::OK);
    mDevice = makeTunedDevice();
    const auto model = find();
    ASSERT_TRUE(model.ok()) << model.status().toString();
    EXPECT_EQ(run(**model), expected);
    EXPECT_EQ((*model)->program().constantsFilled(), 0U);
}

TEST_F(CompilationCaches, KeepThePriority) {
    PrepareOptions options = mFiles.options();
    options.priority = Priority::HIGH;
    ASSERT_TRUE(mDevice->prepare(floatConvModel(), HalVersion::V1_3, options).ok());
    EXPECT_EQ(find().value()->priority(), Priority::HIGH);
}

TEST_F(CompilationCaches, AreWrittenFromTheStartWhateverWasThere) {
    const Outcome expected = keep();
    const auto clean = mFiles.content();
    const std::vector<uint8_t> junk(100000, 7);
    mFiles.set({junk, junk});
    PrepareOptions options;
    const auto cache = mFiles.cache();
    for (const auto* files : {&cache->modelFiles, &cache->dataFiles}) {
        ASSERT_EQ(lseek(files->front().get(), 12345, SEEK_SET), 12345);
    }
    options.cache = cache;
    ASSERT_TRUE(mDevice->prepare(floatConvModel(), HalVersion::V1_3, options).ok());
    EXPECT_EQ(mFiles.content(), clean);
    const auto model = mDevice->prepareFromCache(options);
    ASSERT_TRUE(model.ok()) << model.status().toString();
    EXPECT_EQ(run(**model), expected);
}

TEST_F(CompilationCaches, KeepNothingWhereTheFilesCantBeUsedAndPrepareAllTheSame) {
    const std::vector<uint8_t> junk(1000, 7);
    mFiles.set({junk, junk});
    const auto several = mFiles.cache();
    several->modelFiles.push_back(mFiles.model.open(O_RDWR));
    const auto few = mFiles.cache();
    few->dataFiles.clear();
    const auto closed = mFiles.cache();
    closed->dataFiles[0].reset();
    for (const auto& cache : {several, few, closed, mFiles.cache(O_RDONLY, O_RDWR),
                              mFiles.cache(O_RDWR, O_RDONLY), mFiles.cache(O_RDWR, O_PATH)}) {
        PrepareOptions options;
        options.cache = cache;
        EXPECT_TRUE(mDevice->prepare(floatConvModel(), HalVersion::V1_3, options).ok());
        EXPECT_EQ(mFiles.content(), std::make_pair(junk, junk));
    }
}

TEST_F(CompilationCaches, AreNotFoundWhereTheFilesCantBeUsed) {
    keep();
    const auto several = mFiles.cache();
    several->modelFiles.push_back(mFiles.model.open(O_RDWR));
    const auto few = mFiles.cache();
    few->dataFiles.clear();
    const auto codeOf = [&](std::shared_ptr<CompilationCache> cache) {
        PrepareOptions options;
        options.cache = std::move(cache);
        return mDevice->prepareFromCache(options).status().code();
    };
    for (const auto& cache : {several, few, std::shared_ptr<CompilationCache>(),
                              std::make_shared<CompilationCache>()}) {
        EXPECT_EQ(codeOf(cache), StatusCode::INVALID_ARGUMENT);
    }
    EXPECT_EQ(codeOf(mFiles.cache(O_WRONLY, O_RDWR)), StatusCode::INTERNAL);
    EXPECT_EQ(codeOf(mFiles.cache(O_RDWR, O_WRONLY)), StatusCode::INTERNAL);
    PrepareOptions unread;
    unread.cache = mFiles.cache(O_PATH, O_RDWR);
    EXPECT_EQ(mDevice->prepareFromCache(unread).status().message(),
              "a model file is not open for reading");
    EXPECT_EQ(found(), StatusCode::OK);
}

TEST_F(CompilationCaches, AreRefusedWhateverByteIsFlipped) {
    keep();
    for (TestFile* file : {&mFiles.model, &mFiles.data}) {
        for (size_t at = 0; at < file->bytes().size(); ++at) {
            const auto bit = static_cast<uint8_t>(1U << (at % 8));
            file->flip(at, bit);
            const StatusCode code = found();
            ASSERT_TRUE(code == StatusCode::INTERNAL || code == StatusCode::UNSUPPORTED) << at;
            file->flip(at, bit);
        }
    }
    EXPECT_EQ(found(), StatusCode::OK);
}

TEST_F(CompilationCaches, AreRefusedWhereverTheyAreCutAndWhateverFollows) {
    keep();
    for (TestFile* file : {&mFiles.model, &mFiles.data}) {
        std::vector<uint8_t> bytes = file->bytes();
        for (size_t size = 0; size < bytes.size(); size += size < 300 ? 1 : 997) {
            file->set(std::span(bytes).first(size));
            ASSERT_EQ(found(), StatusCode::INTERNAL) << size;
        }
        std::vector<uint8_t> longer = bytes;
        longer.push_back(0);
        file->set(longer);
        EXPECT_EQ(found(), StatusCode::INTERNAL);
        file->set(bytes);
    }
    EXPECT_EQ(found(), StatusCode::OK);
}

TEST_F(CompilationCaches, AreOfOneToken) {
    keep();
    mFiles.token[31] ^= 1;
    EXPECT_EQ(found(), StatusCode::INTERNAL);
    mFiles.token[31] ^= 1;
    EXPECT_EQ(found(), StatusCode::OK);
}

TEST_F(CompilationCaches, DoNotMixModels) {
    keep();
    TestCacheFiles other;
    keep(otherConvModel(), other);
    mFiles.model.set(other.model.bytes());
    EXPECT_EQ(found(), StatusCode::INTERNAL);
}

// The contents of the file of hints count, not its name.
TEST_F(CompilationCaches, AreOfOneDevicesSettings) {
    const std::string path = testing::TempDir() + "/halyard_cache_hints";
    const auto deviceWith = [&](const std::string& hints, const std::string& file) {
        std::ofstream(file) << hints;
        Options options;
        options.backendHintFile = file;
        auto device = makeTunedDevice(options);
        std::remove(file.c_str());
        return device;
    };
    mDevice = deviceWith("RELU CpuRef\n", path);
    keep();
    mDevice = deviceWith("# the same\nRELU  CpuRef\n", path + "2");
    EXPECT_EQ(found(), StatusCode::OK);
    mDevice = deviceWith("RELU CpuAcc\n", path);
    EXPECT_EQ(found(), StatusCode::UNSUPPORTED);
    Options options;
    options.fastMath = true;
    mDevice = makeTunedDevice(options);
    EXPECT_EQ(found(), StatusCode::UNSUPPORTED);
}

TEST_F(CompilationCaches, AreOfOneBackendAndItsFeatures) {
    keep();
    Options options;
    options.backends = {"CpuRef"};
    mDevice = Device::create(options).value();
    EXPECT_EQ(found(), StatusCode::UNSUPPORTED);
}

// Where there is another backend to ask, a model may be placed otherwise.
TEST_F(CompilationCaches, AreOfAllBackendsThatWereAsked) {
    class Unwilling final : public engine::Backend {
      public:
        std::string_view name() const override { return "Unwilling"; }
        Status supports(const engine::Graph& /*graph*/, engine::NodeId /*node*/) const override {
            return unsupported("takes nothing");
        }
        Result<std::unique_ptr<engine::CompiledPartition>> compile(
                const engine::CompileArguments& /*arguments*/) const override {
            return internalError("has nothing to compile");
        }
    };
    const auto deviceOf = [](bool withAnother) {
        std::vector<std::unique_ptr<const engine::Backend>> backends;
        backends.push_back(engine::makeCpuRef());
        if (withAnother) {
            backends.push_back(std::make_unique<Unwilling>());
        }
        return Device::create({}, std::move(backends)).value();
    };
    mDevice = deviceOf(false);
    keep();
    EXPECT_EQ(found(), StatusCode::OK);
    mDevice = deviceOf(true);
    EXPECT_EQ(found(), StatusCode::UNSUPPORTED);
}

TEST_F(CompilationCaches, AreChargedToTheirClient) {
    keep();
    const auto client = mDevice->client({.pid = 1, .uid = 1}).value();
    const Account& account = client->account();
    PrepareOptions options = mFiles.options();
    options.client = client;
    const size_t before = account.memory->reserved();
    for (const bool fromCache : {true, false}) {
        std::promise<std::shared_ptr<PreparedModel>> told;
        const auto tell = [&](const Status& status, std::shared_ptr<PreparedModel> model) {
            EXPECT_TRUE(status.ok()) << status.toString();
            EXPECT_EQ(account.descriptors->reserved(), 0U);
            EXPECT_EQ(account.sharedMemory->reserved(), 0U);
            told.set_value(std::move(model));
        };
        const Status begun = fromCache ? mDevice->prepareFromCacheAsync(options, tell)
                                       : mDevice->prepareAsync(floatConvModel(), HalVersion::V1_3,
                                                               options, tell);
        EXPECT_TRUE(begun.ok()) << begun.toString();
        auto model = told.get_future().get();
        EXPECT_EQ(account.models->reserved(), 1U);
        if (fromCache) {
            EXPECT_GE(account.memory->reserved(), before + mFiles.data.bytes().size());
        }
        model = nullptr;
        while (account.tasks->reserved() > 0 || account.models->reserved() > 0) {
            std::this_thread::yield();
        }
        EXPECT_EQ(account.memory->reserved(), before);
    }
}

// Without a key anybody who has the files can make a model file that is sealed as it has to be.
TEST_F(CompilationCaches, BelieveNothingThatASealedModelFileSays) {
    keep();
    const std::vector<uint8_t> model = mFiles.model.bytes();
    const auto foundWith = [&](size_t at, const auto& value) {
        std::vector<uint8_t> changed = model;
        std::memcpy(changed.data() + at, &value, sizeof value);
        const auto seal = changed.end() - sizeof(Sha256::Digest);
        Sha256 sealing;
        sealing.add(mFiles.token);
        sealing.add(std::span(changed.begin(), seal));
        std::ranges::copy(sealing.finish(), seal);
        mFiles.model.set(changed);
        return find().status();
    };
    constexpr size_t kVersion = 8;
    constexpr size_t kBytes = 12;
    constexpr size_t kControl = 20;
    constexpr size_t kPriority = 28;
    EXPECT_TRUE(foundWith(0, 'H').ok());
    EXPECT_EQ(foundWith(0, 'h').message(), "the model file holds no model");
    EXPECT_EQ(foundWith(kVersion, uint32_t{2}).message(), "version 2 of a model file");
    EXPECT_EQ(foundWith(kPriority, int32_t{12345}).message(), "priority 12345 is unknown");
    const uint64_t size = mFiles.data.bytes().size();
    for (const uint64_t control : {size + 1, ~uint64_t{0}}) {
        EXPECT_EQ(foundWith(kControl, control).message(),
                  "the data file has fewer bytes than control data in it");
    }
    EXPECT_EQ(foundWith(kBytes, size - 1).code(), StatusCode::INTERNAL);
    EXPECT_FALSE(foundWith(kBytes, ~uint64_t{0}).ok());
}

TEST_F(CompilationCaches, AreNotWrittenWithoutRoomInTheAccount) {
    for (const auto budget : {&Account::sharedMemory, &Account::descriptors}) {
        PrepareOptions options = mFiles.options();
        options.client = mDevice->client({.pid = 1, .uid = 1}).value();
        const std::shared_ptr<Budget>& full = options.client->account().*budget;
        {
            const auto taken = Reservation::create(full, full->limit());
            ASSERT_TRUE(taken.ok());
            EXPECT_TRUE(mDevice->prepare(floatConvModel(), HalVersion::V1_3, options).ok());
            EXPECT_EQ(mFiles.content(), TestCacheFiles::Content());
        }
        EXPECT_TRUE(mDevice->prepare(floatConvModel(), HalVersion::V1_3, options).ok());
        EXPECT_EQ(found(), StatusCode::OK);
        mFiles.set({});
    }
}

TEST_F(CompilationCaches, AreNotLoadedWithoutRoomForTheirDescriptors) {
    keep();
    PrepareOptions options = mFiles.options();
    options.client = mDevice->client({.pid = 1, .uid = 1}).value();
    const std::shared_ptr<Budget>& descriptors = options.client->account().descriptors;
    const auto taken = Reservation::create(descriptors, descriptors->limit());
    ASSERT_TRUE(taken.ok());
    std::vector<StatusCode> told;
    const Status begun = mDevice->prepareFromCacheAsync(
            options, [&](const Status& status, const std::shared_ptr<PreparedModel>& /*model*/) {
                told.push_back(status.code());
            });
    EXPECT_EQ(begun.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(told, std::vector{StatusCode::RESOURCE_EXHAUSTED});
}

// A file that can't be emptied would hold old bytes behind the new ones.
TEST_F(CompilationCaches, AreNotWrittenWhereTheyCantBeEmptied) {
    const std::vector<uint8_t> junk(100'000, 7);
    for (const bool isModel : {true, false}) {
        const FileDescriptor sealed(memfd_create("cache", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        ASSERT_EQ(write(sealed.get(), junk.data(), junk.size()), static_cast<ssize_t>(junk.size()));
        ASSERT_EQ(fcntl(sealed.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
        const auto cache = mFiles.cache();
        (isModel ? cache->modelFiles : cache->dataFiles)[0] =
                FileDescriptor(fcntl(sealed.get(), F_DUPFD_CLOEXEC, 0));
        PrepareOptions options;
        options.cache = cache;
        EXPECT_TRUE(mDevice->prepare(floatConvModel(), HalVersion::V1_3, options).ok());
        std::vector<uint8_t> left(junk.size());
        ASSERT_EQ(pread(sealed.get(), left.data(), left.size(), 0),
                  static_cast<ssize_t>(left.size()));
        EXPECT_EQ(left, junk);
        EXPECT_EQ(mFiles.content(), TestCacheFiles::Content());
    }
}

TEST_F(CompilationCaches, AreRefusedByReturnAndByCallback) {
    keep();
    mFiles.model.flip(0, 1);
    int told = 0;
    const Status begun = mDevice->prepareFromCacheAsync(
            mFiles.options(), [&](const Status& status, std::shared_ptr<PreparedModel> model) {
                ++told;
                EXPECT_EQ(status.code(), StatusCode::INTERNAL);
                EXPECT_EQ(model, nullptr);
            });
    EXPECT_EQ(begun.code(), StatusCode::INTERNAL);
    EXPECT_EQ(told, 1);
}

TEST_F(CompilationCaches, AreNotLookedForOnceTheDeadlineHasPassed) {
    keep();
    PrepareOptions options = mFiles.options();
    options.deadline = std::chrono::steady_clock::now();
    EXPECT_EQ(mDevice->prepareFromCache(options).status().code(), StatusCode::DEADLINE_EXCEEDED);
    int told = 0;
    EXPECT_TRUE(mDevice->prepareFromCacheAsync(options,
                                               [&](const Status& status, const auto& /*model*/) {
                                                   ++told;
                                                   EXPECT_EQ(status.code(),
                                                             StatusCode::DEADLINE_EXCEEDED);
                                               })
                        .ok());
    EXPECT_EQ(told, 1);
}

// Neither is a failure of what has been prepared.
TEST_F(CompilationCaches, KeepNothingOnceTheClientHasDiedOrTheDeadlineHasPassed) {
    for (const bool dies : {true, false}) {
        keep();
        PrepareOptions options;
        options.client = mDevice->client({.pid = 1, .uid = 1}).value();
        options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(dies ? 60 : 2);
        const auto cache = mFiles.cache();
        cache->access = [&](const std::function<void()>& work) {
            if (dies) {
                options.client->end();
            } else {
                std::this_thread::sleep_until(*options.deadline);
            }
            work();
            return true;
        };
        options.cache = cache;
        EXPECT_TRUE(mDevice->prepare(floatConvModel(), HalVersion::V1_3, options).ok());
        EXPECT_EQ(mFiles.content(), TestCacheFiles::Content());
    }
}

// The process may write no longer files: as a disk that is full.
TEST_F(CompilationCaches, KeepNothingOnAFullDisk) {
    keep();
    const auto former = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {};
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit small = {.rlim_cur = 1000, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const Outcome outcome = keep();
    setrlimit(RLIMIT_FSIZE, &limit);
    static_cast<void>(std::signal(SIGXFSZ, former));
    EXPECT_EQ(outcome.first, StatusCode::OK);
    EXPECT_EQ(mFiles.content(), TestCacheFiles::Content());
    EXPECT_EQ(found(), StatusCode::INTERNAL);
}

// An attempt that was given up goes on at some time, and finds that it is no longer wanted.
TEST_F(CompilationCaches, DoNotWaitForFilesThatDoNotAnswer) {
    keep();
    std::vector<std::function<void()>> stuck;
    PrepareOptions options;
    const auto cache = mFiles.cache();
    cache->access = [&](std::function<void()> work) {
        stuck.push_back(std::move(work));
        return false;
    };
    options.cache = cache;
    EXPECT_EQ(mDevice->prepareFromCache(options).status().code(), StatusCode::INTERNAL);
    EXPECT_TRUE(mDevice->prepare(floatConvModel(), HalVersion::V1_3, options).ok());
    ASSERT_EQ(stuck.size(), 2U);
    EXPECT_EQ(found(), StatusCode::OK);
    for (const auto& work : stuck) {
        work();
    }
    EXPECT_EQ(mFiles.content(), TestCacheFiles::Content());
}

// The files are another model's from one moment to the next. What is found is one of the two, as it
// was kept, or nothing.
TEST_F(CompilationCaches, GiveAWholeModelOrNoneWhileOthersWrite) {
    const std::array<Outcome, 2> expected = {keep(otherConvModel(), mFiles), keep()};
    ASSERT_NE(expected[0].second, expected[1].second);
    std::atomic<bool> done = false;
    std::atomic<int> wrong = 0;
    std::thread writer([&] {
        for (int i = 0; !done; ++i) {
            const Model model = i % 2 == 0 ? floatConvModel() : otherConvModel();
            if (!mDevice->prepare(model, HalVersion::V1_3, mFiles.options()).ok()) {
                ++wrong;
            }
        }
    });
    int whole = 0;
    for (int i = 0; i < 100 || (whole == 0 && i < 10000); ++i) {
        const auto model = find();
        if (model.ok()) {
            ++whole;
            const Outcome outcome = run(**model);
            wrong += outcome == expected[0] || outcome == expected[1] ? 0 : 1;
        }
    }
    done = true;
    writer.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(whole, 0);
}

// ---- Who has made them --------------------------------------------------------------------------

std::shared_ptr<const CacheKey> keyOf(uint8_t number) {
    CacheKey::Bytes bytes = {};
    bytes.fill(number);
    return std::make_shared<const CacheKey>(bytes);
}

TEST_F(CompilationCaches, AreOfOneKey) {
    const auto deviceWith = [](std::shared_ptr<const CacheKey> key) {
        Options options;
        options.backends = {"CpuAcc"};
        auto backends = makeBackends(options).value();
        return Device::create(options, std::move(backends), std::move(key)).value();
    };
    for (const auto& [key, other] :
         {std::pair(keyOf(1), keyOf(2)), std::pair(keyOf(1), std::shared_ptr<const CacheKey>()),
          std::pair(std::shared_ptr<const CacheKey>(), keyOf(1))}) {
        mDevice = deviceWith(key);
        const Outcome expected = keep();
        mDevice = deviceWith(other);
        EXPECT_EQ(found(), StatusCode::INTERNAL);
        // The model is prepared as ever, and is found from then on.
        EXPECT_EQ(keep(), expected);
        EXPECT_EQ(found(), StatusCode::OK);
        mDevice = deviceWith(key);
        EXPECT_EQ(found(), StatusCode::INTERNAL);
    }
}

TEST_F(CompilationCaches, OfTheProcessItselfAreOfTheirFoldersKey) {
    PrepareOptions options = mFiles.options();
    const auto cache = mFiles.cache();
    cache->key = keyOf(3);
    options.cache = cache;
    ASSERT_TRUE(mDevice->prepare(floatConvModel(), HalVersion::V1_3, options).ok());
    EXPECT_TRUE(mDevice->prepareFromCache(options).ok());
    EXPECT_EQ(found(), StatusCode::INTERNAL);
}

// A backend that keeps its kernels, which are code, with the model.
class KeptKernels : public CompilationCaches {
  protected:
    KeptKernels() { serve(keyOf(1)); }

    void serve(std::shared_ptr<const CacheKey> key) {
        auto distant = std::make_unique<engine::DistantBackend>(engine::Takes::ALL);
        mDistant = distant.get();
        std::vector<std::unique_ptr<const engine::Backend>> backends;
        backends.push_back(std::move(distant));
        backends.push_back(engine::makeCpuRef());
        mDevice = Device::create({}, std::move(backends), std::move(key)).value();
    }
    // Where a text stands in the data file.
    std::vector<size_t> placesOf(std::string_view text) const {
        const std::vector<uint8_t> data = mFiles.data.bytes();
        std::vector<size_t> places;
        for (auto from = data.begin();;) {
            const auto at = std::search(from, data.end(), text.begin(), text.end());
            if (at == data.end()) {
                return places;
            }
            places.push_back(static_cast<size_t>(at - data.begin()));
            from = at + 1;
        }
    }
    // The first byte of the kernel, which is its kind's name.
    size_t kernelAt() const { return placesOf(kKernel).back(); }

    static constexpr std::string_view kKernel = "Conv2d";
    static constexpr std::string_view kSection = "blob/Distant/";
    engine::DistantBackend* mDistant = nullptr;
};

TEST_F(KeptKernels, AreFoundAgainAfterARestart) {
    const Outcome expected = keep();
    EXPECT_FALSE(placesOf(kSection).empty());
    serve(keyOf(1));
    const auto model = find();
    ASSERT_TRUE(model.ok()) << model.status().toString();
    EXPECT_EQ(run(**model), expected);
    EXPECT_EQ(mDistant->kernelsBuilt, 0U);
    EXPECT_GT(mDistant->kernelsFound, 0U);
}

TEST_F(KeptKernels, AreNotKeptWithoutAKey) {
    serve(nullptr);
    const Outcome expected = keep();
    EXPECT_TRUE(placesOf(kSection).empty());
    const size_t built = mDistant->kernelsBuilt;
    const auto model = find();
    ASSERT_TRUE(model.ok()) << model.status().toString();
    EXPECT_EQ(run(**model), expected);
    EXPECT_EQ(mDistant->kernelsBuilt, 2 * built) << "made again, and nothing else is";
    EXPECT_EQ((*model)->program().constantsFilled(), 0U);
}

// Its owner swaps it, and makes what vouches for it as anybody can who has no key.
TEST_F(KeptKernels, AreRefusedOnceTheyAreSwapped) {
    keep();
    std::vector<uint8_t> data = mFiles.data.bytes();
    ASSERT_LT(kernelAt(), controlBytes(mFiles.model.bytes())) << "what is executed is covered";
    data[kernelAt()] ^= 1;
    const std::vector<uint8_t> forged = forgedModelFile(mFiles.model.bytes(), mFiles.token, data,
                                                        controlBytes(mFiles.model.bytes()));
    mFiles.data.set(data);
    EXPECT_EQ(found(), StatusCode::INTERNAL) << "the data alone";
    mFiles.model.set(forged);
    EXPECT_EQ(found(), StatusCode::INTERNAL);
    // Nor does a file say by itself where what is covered ends.
    mFiles.model.set(forgedModelFile(forged, mFiles.token, data, 0));
    EXPECT_EQ(found(), StatusCode::INTERNAL);
}

// Without a key there is nothing to tell a file by that its owner has made of whatever it likes.
TEST_F(KeptKernels, AreNotTakenFromAnybodyWhereThereIsNoKey) {
    const Outcome expected = keep();
    std::vector<uint8_t> data = mFiles.data.bytes();
    mFiles.model.set(forgedModelFile(mFiles.model.bytes(), mFiles.token, data,
                                     controlBytes(mFiles.model.bytes())));
    serve(nullptr);
    const auto model = find();
    ASSERT_TRUE(model.ok()) << model.status().toString() << ": it is a model as any other";
    EXPECT_EQ(run(**model), expected);
    EXPECT_GT(mDistant->kernelsBuilt, 0U) << "but its kernels are not trusted";
    EXPECT_EQ(mDistant->kernelsFound, 0U);
}

// A reader that checks bytes in the file, and then uses them there, is deceived.
TEST_F(CompilationCaches, UseWhatTheyChecked) {
    const Outcome expected = keep();
    const auto model = find().value();
    mFiles.data.set(std::vector<uint8_t>(mFiles.data.bytes().size()));
    EXPECT_EQ(run(*model), expected);
}

}  // namespace
}  // namespace halyard::driver
