// SPDX-License-Identifier: Apache-2.0
//
// Compilation caching as clients of each HAL version see it: the cases of the vendor test suite,
// and what else clients may send.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/device/device_interface.h"
#include "engine/base/log.h"
#include "hal/descriptors/client_workers.h"
#include "hal/descriptors/descriptor_kind.h"
#include "hal/hidl/client/connection.h"
#include "hal/hidl/client/device.h"
#include "hal/hidl/types.h"
#include "hal/hidl/v1_3.h"
#include "hal/hidl/version_delta.h"
#include "hal/memory/cache_files.h"
#include "hal/memory/shared_memory.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/prepare/cache_files.h"
#include "tests/hal/add_model.h"
#include "tests/hal/held_page.h"
#include "tests/hal/hidl_objects_fixture.h"
#include "tests/hal/loopback.h"
#include "tests/hal/open_descriptors.h"
#include "tests/hal/served_device.h"

namespace halyard::hal::testing {
namespace {

using driver::CompilationCache;
using driver::ErrorStatus;
using driver::HalVersion;
using driver::IPreparedModel;
using driver::PrepareOptions;
using driver::TestCacheFiles;
using driver::TestFile;
using hidl::nn::v1_3::IDevice;
using Values = std::array<float, 2>;

// out = in + values
driver::Model modelAdding(const Values& values) {
    driver::Model model = addModel();
    auto bytes = std::make_shared<std::vector<uint8_t>>(*model.operandValues);
    constexpr Values kUsual = {10.0F, 20.0F};
    const std::span usual(reinterpret_cast<const uint8_t*>(kUsual.data()), sizeof kUsual);
    const auto found = std::ranges::search(*bytes, usual);
    EXPECT_EQ(found.size(), sizeof kUsual);
    std::memcpy(&*found.begin(), values.data(), sizeof values);
    model.operandValues = std::move(bytes);
    return model;
}

bool isRefusal(const Status& status) {
    return status.code() == StatusCode::INVALID_ARGUMENT || status.code() == StatusCode::INTERNAL;
}

class CompilationCaching : public ::testing::TestWithParam<hidl::ClientVersion> {
  protected:
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }

    void SetUp() override {
        serve();
        const Result<ExportedMemory> memory = createSharedMemory(16);
        ASSERT_TRUE(memory.ok()) << memory.status().toString();
        mMemory = memory->memory;
    }
    void TearDown() override { mProcess->stop(); }

    // A service that has just started.
    void serve() {
        mProcess->stop();
        mProcess = std::make_shared<LoopbackProcess>();
        Result<ServedDevice> served = serveDevice(mProcess);
        ASSERT_TRUE(served.ok()) << served.status().toString();
        mServed = std::move(*served);
        Result<hidl::ServiceConnection> connection =
                hidl::connectTo(mProcess, mProcess->remote(mServed.object), GetParam());
        ASSERT_TRUE(connection.ok()) << connection.status().toString();
        mDevice = hidl::makeClientDevice(std::move(*connection));
    }

    // Its outputs for {1, 2}.
    Values run(IPreparedModel& model, const driver::SharedMemory& memory) const {
        driver::Request request = addRequest();
        request.pools = {memory};
        uint8_t* const bytes = memory->map()->data();
        constexpr Values kInput = {1.0F, 2.0F};
        std::memcpy(bytes, kInput.data(), sizeof kInput);
        const driver::ExecutionResult result = model.execute(request, {});
        EXPECT_TRUE(result.status.ok()) << result.status.toString();
        Values output = {};
        std::memcpy(output.data(), bytes + sizeof kInput, sizeof output);
        return output;
    }
    Values run(IPreparedModel& model) const { return run(model, mMemory); }

    static PrepareOptions with(std::shared_ptr<const CompilationCache> cache) {
        PrepareOptions options;
        options.cache = std::move(cache);
        return options;
    }
    void save(const driver::Model& model, const TestCacheFiles& files) {
        const auto prepared = mDevice->prepare(model, files.options());
        ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    }
    void save() { save(addModel(), mFiles); }
    Result<std::shared_ptr<IPreparedModel>> retrieve() {
        return mDevice->prepareFromCache(mFiles.options());
    }

    bool hasCaches() const { return GetParam().version >= HalVersion::V1_2; }

    std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    ServedDevice mServed;
    std::shared_ptr<driver::IDevice> mDevice;
    driver::SharedMemory mMemory;
    TestCacheFiles mFiles;
};

TEST_P(CompilationCaching, TellsTheTypeAndTheNumberOfFiles) {
    const Result<driver::DeviceType> type = mDevice->type();
    const Result<driver::NumberOfCacheFiles> files = mDevice->numberOfCacheFiles();
    if (!hasCaches()) {
        EXPECT_EQ(type.status().code(), StatusCode::UNSUPPORTED);
        EXPECT_EQ(files.status().code(), StatusCode::UNSUPPORTED);
        EXPECT_EQ(retrieve().status().code(), StatusCode::UNSUPPORTED);
        return;
    }
    ASSERT_TRUE(type.ok()) << type.status().toString();
    EXPECT_EQ(*type, mServed.driver->type());
    ASSERT_TRUE(files.ok()) << files.status().toString();
    EXPECT_EQ(*files, (driver::NumberOfCacheFiles{.model = 1, .data = 1}));
}

class CompilationCachingByCaches : public CompilationCaching {};

TEST_P(CompilationCachingByCaches, CacheSavingAndRetrieval) {
    save();
    serve();
    const auto model = retrieve();
    ASSERT_TRUE(model.ok()) << model.status().toString();
    EXPECT_EQ(run(**model), (Values{11.0F, 22.0F}));
}

TEST_P(CompilationCachingByCaches, CacheSavingAndRetrievalNonZeroOffset) {
    const std::vector<uint8_t> junk(100000, 7);
    mFiles.set({junk, junk});
    const auto cache = mFiles.cache();
    const auto seek = [&] {
        for (const auto* files : {&cache->modelFiles, &cache->dataFiles}) {
            ASSERT_EQ(lseek(files->front().get(), 77, SEEK_SET), 77);
        }
    };
    seek();
    ASSERT_TRUE(mDevice->prepare(addModel(), with(cache)).ok());
    seek();
    const auto model = mDevice->prepareFromCache(with(cache));
    ASSERT_TRUE(model.ok()) << model.status().toString();
    EXPECT_EQ(run(**model), (Values{11.0F, 22.0F}));
}

TEST_P(CompilationCachingByCaches, InvalidNumCache) {
    for (const int which : {0, 1, 2, 3}) {
        const auto cache = mFiles.cache();
        auto& files = which % 2 == 0 ? cache->modelFiles : cache->dataFiles;
        if (which < 2) {
            files.push_back(mFiles.model.open(O_RDWR));
        } else {
            files.clear();
        }
        const auto model = mDevice->prepare(addModel(), with(cache));
        ASSERT_TRUE(model.ok()) << model.status().toString();
        EXPECT_EQ(run(**model), (Values{11.0F, 22.0F}));
        EXPECT_TRUE(isRefusal(retrieve().status()));
        EXPECT_EQ(mDevice->prepareFromCache(with(cache)).status().code(),
                  StatusCode::INVALID_ARGUMENT);
    }
    EXPECT_EQ(mFiles.content(), TestCacheFiles::Content());
}

TEST_P(CompilationCachingByCaches, InvalidAccessMode) {
    for (const auto& cache : {mFiles.cache(O_RDONLY, O_RDWR), mFiles.cache(O_RDWR, O_RDONLY)}) {
        ASSERT_TRUE(mDevice->prepare(addModel(), with(cache)).ok());
        EXPECT_TRUE(isRefusal(retrieve().status()));
    }
    save();
    for (const auto& cache : {mFiles.cache(O_WRONLY, O_RDWR), mFiles.cache(O_RDWR, O_WRONLY)}) {
        EXPECT_TRUE(isRefusal(mDevice->prepareFromCache(with(cache)).status()));
    }
    EXPECT_TRUE(retrieve().ok());
}

// A file that may never answer is neither written nor read.
TEST_P(CompilationCachingByCaches, TakesNothingButMemoryAndFilesOnDisks) {
    const auto withModel = [&](FileDescriptor file) {
        const auto cache = mFiles.cache();
        cache->modelFiles[0] = std::move(file);
        return with(cache);
    };
    const size_t before = openDescriptors();
    {
        std::array<int, 2> ends = {};
        ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
        const FileDescriptor reading(ends[0]);
        const PrepareOptions pipe = withModel(FileDescriptor(ends[1]));
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        const FileDescriptor other(ends[0]);
        const PrepareOptions socket = withModel(FileDescriptor(ends[1]));
        const PrepareOptions device =
                withModel(FileDescriptor(open("/dev/zero", O_RDWR | O_CLOEXEC)));
        for (const PrepareOptions& options : {pipe, socket, device}) {
            ASSERT_TRUE(mDevice->prepare(addModel(), options).ok());
            EXPECT_EQ(mDevice->prepareFromCache(options).status().code(), StatusCode::INTERNAL);
        }
    }
    EXPECT_EQ(mFiles.content(), TestCacheFiles::Content());
    // The service's own go as its work ends, a moment after the client is told.
    for (int i = 0; i < 10000 && openDescriptors() > before; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_LE(openDescriptors(), before) << "others may still be closed that were there before";
}

TEST_P(CompilationCachingByCaches, ReplaceSecuritySensitiveCache) {
    save();
    TestCacheFiles other;
    save(modelAdding({1.0F, 1.0F}), other);
    mFiles.model.set(other.model.bytes());
    EXPECT_TRUE(isRefusal(retrieve().status()));
    mFiles.data.set(other.data.bytes());
    const auto model = retrieve();
    ASSERT_TRUE(model.ok()) << model.status().toString();
    EXPECT_EQ(run(**model), (Values{2.0F, 3.0F}));
}

// Two processes of one client's save and retrieve at once.
TEST_P(CompilationCachingByCaches, TOCTOU) {
    const driver::Model models[] = {addModel(), modelAdding({1.0F, 1.0F})};
    std::atomic<bool> done = false;
    std::thread swapper([&] {
        TestCacheFiles other;
        save(models[1], other);
        const TestCacheFiles::Content content = other.content();
        const TestCacheFiles::Content nothing;
        for (int i = 0; !done; ++i) {
            if (i % 3 == 0) {
                mFiles.set(content);
            } else if (i % 3 == 1) {
                save(models[0], mFiles);
            } else {
                mFiles.data.set(content.second);
            }
        }
    });
    for (int i = 0; i < 100; ++i) {
        const auto saved = mDevice->prepare(models[0], mFiles.options());
        ASSERT_TRUE(saved.ok());
        EXPECT_EQ(run(**saved), (Values{11.0F, 22.0F}));
        const auto model = retrieve();
        if (model.ok()) {
            const Values values = run(**model);
            EXPECT_TRUE((values == Values{11.0F, 22.0F}) || (values == Values{2.0F, 3.0F}));
        } else {
            EXPECT_TRUE(isRefusal(model.status())) << model.status().toString();
        }
    }
    done = true;
    swapper.join();
}

class CompilationCachingSecurity : public CompilationCaching {
  protected:
    // A chain of additions, each of another constant.
    static driver::Model longModel(uint32_t seed) {
        driver::ModelBuilder builder;
        std::minstd_rand random(seed);
        uint32_t last = builder.input(driver::floats({2}));
        const uint32_t none = builder.int32(0);
        constexpr int kOperations = 100;
        for (int i = 0; i < kOperations; ++i) {
            const auto value = static_cast<float>(random() % 100);
            const uint32_t term = builder.constant<float>(driver::floats({2}), {value, value});
            const uint32_t sum = i + 1 < kOperations ? builder.temporary(driver::floats({2}))
                                                     : builder.output(driver::floats({2}));
            builder.operation(driver::OperationType::ADD, {last, term, none}, {sum});
            last = sum;
        }
        return builder.build();
    }

    // Changes that `spoil` makes to either file once the model is saved have to be noticed.
    void expectNoticed(const std::function<void(TestFile&, std::minstd_rand&)>& spoil) {
        for (uint32_t seed = 0; seed < 10; ++seed) {
            std::minstd_rand random(seed);
            save(longModel(seed), mFiles);
            const TestCacheFiles::Content saved = mFiles.content();
            ASSERT_TRUE(retrieve().ok());
            for (TestFile* file : {&mFiles.model, &mFiles.data}) {
                spoil(*file, random);
                EXPECT_TRUE(isRefusal(retrieve().status())) << seed;
                mFiles.set(saved);
            }
        }
    }
};

TEST_P(CompilationCachingSecurity, CorruptedCache) {
    expectNoticed([](TestFile& file, std::minstd_rand& random) {
        file.flip(random() % file.bytes().size(), static_cast<uint8_t>(1U << (random() % 8)));
    });
}

TEST_P(CompilationCachingSecurity, WrongLengthCache) {
    expectNoticed([](TestFile& file, std::minstd_rand& random) {
        std::vector<uint8_t> bytes = file.bytes();
        bytes.resize(random() % 2 == 0 ? bytes.size() + 1 + random() % 100
                                       : random() % bytes.size());
        file.set(bytes);
    });
}

TEST_P(CompilationCachingSecurity, WrongToken) {
    for (uint32_t seed = 0; seed < 10; ++seed) {
        std::minstd_rand random(seed);
        save(longModel(seed), mFiles);
        uint8_t& byte = mFiles.token[random() % mFiles.token.size()];
        byte ^= static_cast<uint8_t>(1U << (random() % 8));
        EXPECT_TRUE(isRefusal(retrieve().status()));
    }
}

// Every single byte of what vouches for the smallest model; the driver's tests do it to all of it.
TEST_P(CompilationCachingSecurity, EveryByte) {
    save();
    for (size_t at = 0; at < mFiles.model.bytes().size(); ++at) {
        mFiles.model.flip(at, 0x10);
        ASSERT_TRUE(isRefusal(retrieve().status())) << at;
        mFiles.model.flip(at, 0x10);
    }
    EXPECT_TRUE(retrieve().ok());
}

// Somebody stands still in the middle of writing to the file, with its lock. That is waited for
// once, and not for long.
TEST_P(CompilationCachingSecurity, AFileThatIsHeldKeepsNoClientWaiting) {
    const auto page = attacker::HeldPage::make();
    if (!page.ok()) {
        GTEST_SKIP() << page.status().message();
    }
    const FileDescriptor held = mFiles.data.open(O_RDWR);
    (*page)->touchWith([fd = held.get()](void* bytes, size_t size) {
        static_cast<void>(pwrite(fd, bytes, size, 0));
    });
    mProcess->caller.pid = 4712;
    for (int i = 0; i < 20; ++i) {
        const auto model = mDevice->prepare(addModel(), mFiles.options());
        ASSERT_TRUE(model.ok()) << model.status().toString();
        EXPECT_EQ(run(**model), (Values{11.0F, 22.0F}));
    }
    EXPECT_TRUE(isRefusal(retrieve().status()));
    // Another client's files are no worse for it.
    mProcess->caller.pid = 4711;
    TestCacheFiles others;
    save(addModel(), others);
    EXPECT_TRUE(mDevice->prepareFromCache(others.options()).ok());
    (*page)->arrive();
    while (ClientWorkers::here().pending() > 0) {
        std::this_thread::yield();
    }
    EXPECT_TRUE(mFiles.model.bytes().empty());
}

std::string nameOf(const ::testing::TestParamInfo<hidl::ClientVersion>& version) {
    std::string name = "Hidl";
    for (const char letter : toString(version.param.version)) {
        if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
            name += letter;
        }
    }
    return name;
}

std::vector<hidl::ClientVersion> versionsWithCaches() {
    std::vector<hidl::ClientVersion> versions;
    std::ranges::copy_if(hidl::clientVersions(), std::back_inserter(versions),
                         [](const auto& client) { return client.version >= HalVersion::V1_2; });
    return versions;
}

INSTANTIATE_TEST_SUITE_P(Versions, CompilationCaching,
                         ::testing::ValuesIn(hidl::clientVersions().begin(),
                                             hidl::clientVersions().end()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Versions, CompilationCachingByCaches,
                         ::testing::ValuesIn(versionsWithCaches()), nameOf);
INSTANTIATE_TEST_SUITE_P(Versions, CompilationCachingSecurity,
                         ::testing::ValuesIn(versionsWithCaches()), nameOf);

TEST(CacheFiles, AreMemoryOrLieOnADisk) {
    std::array<int, 2> ends = {};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const FileDescriptor reading(ends[0]);
    const FileDescriptor writing(ends[1]);
    const FileDescriptor zeros(open("/dev/zero", O_RDWR | O_CLOEXEC));
    const TestFile memory;
    const FileDescriptor file = memory.open(O_RDWR);
    const auto import = [&](int model, int data) {
        return importCache({&model, 1}, {&data, 1}, {}, {.pid = 1, .uid = 1}).status().code();
    };
    EXPECT_EQ(import(file.get(), file.get()), StatusCode::OK);
    for (const int other : {reading.get(), writing.get(), zeros.get(), -1}) {
        EXPECT_EQ(import(other, file.get()), StatusCode::INTERNAL) << "no argument is wrong";
        EXPECT_EQ(import(file.get(), other), StatusCode::INTERNAL);
    }
    const std::vector<int> many(33, file.get());
    EXPECT_EQ(importCache({}, many, {}, {.pid = 1, .uid = 1}).status().code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(importCache(many, {}, {}, {.pid = 1, .uid = 1}).status().code(),
              StatusCode::INVALID_ARGUMENT);
    const int pipe = reading.get();
    const Status refused = importCache({&pipe, 1}, {}, {}, {.pid = 1, .uid = 1}).status();
    EXPECT_NE(refused.message().find("it is a pipe; taken are memory"), std::string_view::npos)
            << refused.toString();
}

// Which of them are taken depends on where they lie, and on nothing else: what is on no disk that
// this process knows is refused by its name.
TEST(CacheFiles, AreTakenFromTheFileSystemsThatAreNamed) {
    const auto import = [](int fd) {
        return importCache({&fd, 1}, {}, {}, {.pid = 1, .uid = 1}).status();
    };
    size_t taken = 0;
    // Of a container, the last three are the disk's below, whatever its root is.
    for (const std::string& path :
         {std::string("/proc/self/exe"), ::testing::TempDir(), std::string("/etc/hosts"),
          std::string("/etc/hostname"), std::string("/etc/resolv.conf")}) {
        struct stat status = {};
        if (stat(path.c_str(), &status) != 0) {
            continue;
        }
        const FileDescriptor file(S_ISDIR(status.st_mode)
                                          ? open(path.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600)
                                          : open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!file.valid()) {
            continue;
        }
        const Status imported = import(file.get());
        const std::string told = describeDescriptor(file.get());
        if (told == "a file on a disk" || told == "shared memory") {
            EXPECT_TRUE(imported.ok()) << path << ": " << imported.toString();
            ++taken;
        } else {
            EXPECT_NE(imported.message().find("it is a file of "), std::string_view::npos)
                    << path << ": " << imported.toString();
            EXPECT_NE(imported.message().find("taken are memory"), std::string_view::npos);
        }
    }
    if (taken == 0) {
        GTEST_SKIP() << "none of this machine's places is a disk that it knows";
    }
}

// ---- What no client of ours sends ---------------------------------------------------------------

class CacheArguments : public HidlObjects {
  protected:
    ErrorStatus prepare(const NativeHandle& file, const std::shared_ptr<RecordingCallback>& told) {
        const driver::Model model = addModel();
        return *statusOf(IDevice::prepareModel_1_2, [&](ParcelWriter& writer) {
            hidl::versionDelta(HalVersion::V1_2).writeModel(writer, model, {});
            hidl::writeEnum(writer, driver::ExecutionPreference::LOW_POWER);
            writeCache(writer, file);
            writer.writeObject(ObjectRef(told));
        });
    }
    ErrorStatus prepareFromCache(const NativeHandle& file, const ObjectRef& callback) {
        return *statusOf(IDevice::prepareModelFromCache, [&](ParcelWriter& writer) {
            writeCache(writer, file);
            writer.writeObject(callback);
        });
    }
    ErrorStatus prepareFromCache_1_3(const NativeHandle& file, const ObjectRef& callback,
                                     const Deadline& deadline) {
        return *statusOf(IDevice::prepareModelFromCache_1_3, [&](ParcelWriter& writer) {
            hidl::nn::v1_3::OptionalTimePoint time;
            hidl::nn::v1_3::encode(writer, deadline, time);
            hidl::writeValue(writer, time);
            writeCache(writer, file);
            writer.writeObject(callback);
        });
    }

    const TestFile mFile;
    const FileDescriptor mOpen = mFile.open(O_RDWR);

  private:
    // The same file for both.
    static void writeCache(ParcelWriter& writer, const NativeHandle& file) {
        const std::vector<hidl::HidlHandle> files = {hidl::makeHandle(writer, file)};
        hidl::writeValue(writer, hidl::makeVec(writer, files));
        hidl::writeValue(writer, hidl::makeVec(writer, files));
        hidl::writeValue(writer, std::array<uint8_t, 32>{1, 2, 3});
    }
};

TEST_F(CacheArguments, AreOneDescriptorAHandle) {
    const int fd = mOpen.get();
    for (const NativeHandle& wrong :
         {NativeHandle{}, NativeHandle{.fds = {fd, fd}, .ints = {}},
          NativeHandle{.fds = {}, .ints = {1}}, NativeHandle{.fds = {fd}, .ints = {1}}}) {
        auto told = RecordingCallback::forModels();
        EXPECT_EQ(prepare(wrong, told), ErrorStatus::NONE);
        EXPECT_EQ(told->wait().status, ErrorStatus::NONE);
        told = RecordingCallback::forModels();
        EXPECT_EQ(prepareFromCache(wrong, told), ErrorStatus::INVALID_ARGUMENT);
        const Notification notification = told->wait();
        EXPECT_EQ(notification.status, ErrorStatus::INVALID_ARGUMENT);
        EXPECT_TRUE(isNull(notification.model));
    }
    EXPECT_TRUE(mFile.bytes().empty());
}

// The file is both, so that whatever is written last stands in it.
TEST_F(CacheArguments, MayBeOneFileTwice) {
    const NativeHandle file = {.fds = {mOpen.get()}, .ints = {}};
    auto told = RecordingCallback::forModels();
    EXPECT_EQ(prepare(file, told), ErrorStatus::NONE);
    EXPECT_EQ(told->wait().status, ErrorStatus::NONE);
    told = RecordingCallback::forModels();
    EXPECT_EQ(prepareFromCache(file, told), ErrorStatus::GENERAL_FAILURE);
    EXPECT_EQ(told->wait().code, hidl::nn::v1_3::IPreparedModelCallback::notify_1_2);
}

TEST_F(CacheArguments, OfSealedMemoryKeepNothing) {
    const NativeHandle& sealed = mPools[0].handle;
    auto told = RecordingCallback::forModels();
    EXPECT_EQ(prepare(sealed, told), ErrorStatus::NONE);
    EXPECT_EQ(told->wait().status, ErrorStatus::NONE);
}

TEST_F(CacheArguments, AreAnsweredByTheirVersionsCallback) {
    const NativeHandle file = {.fds = {mOpen.get()}, .ints = {}};
    auto told = RecordingCallback::forModels();
    EXPECT_EQ(prepareFromCache_1_3(file, told, std::nullopt), ErrorStatus::GENERAL_FAILURE);
    Notification notification = told->wait();
    EXPECT_EQ(notification.code, hidl::nn::v1_3::IPreparedModelCallback::notify_1_3);
    EXPECT_EQ(notification.status, ErrorStatus::GENERAL_FAILURE);
    EXPECT_TRUE(isNull(notification.model));

    told = RecordingCallback::forModels();
    const Deadline passed = std::chrono::steady_clock::time_point();
    EXPECT_EQ(prepareFromCache_1_3(file, told, passed), ErrorStatus::NONE);
    EXPECT_EQ(told->wait().status, ErrorStatus::MISSED_DEADLINE_PERSISTENT);

    EXPECT_EQ(prepareFromCache(file, {}), ErrorStatus::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace halyard::hal::testing
