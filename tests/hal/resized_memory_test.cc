// SPDX-License-Identifier: Apache-2.0
//
// One memory serves many requests at once, at different offsets, while the process that it belongs
// to makes it shorter and longer.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "driver/device/device.h"
#include "engine/base/file_descriptor.h"
#include "hal/memory/guarded_mapping.h"
#include "hal/memory/shared_memory.h"
#include "tests/driver/awaited.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/hal/open_descriptors.h"

namespace halyard::hal {
namespace {

using driver::Awaited;
using driver::ExecutionResult;
using driver::HalVersion;
using driver::Request;

constexpr uint32_t kElements = 3000;  // of an argument, which begins inside a page
constexpr size_t kBytes = kElements * sizeof(float);
constexpr size_t kPlace = 16384;  // of an argument in the memory
constexpr size_t kPlaces = 16;
constexpr size_t kSize = kPlaces * kPlace;

float valueAt(size_t place, size_t element) {
    return static_cast<float>(place * kElements + element + 1);
}

// Another process that makes the file shorter and longer, until its end.
class ResizingProcess {
  public:
    explicit ResizingProcess(int file) : mPid(fork()) {
        if (mPid == 0) {
            // Nothing but system calls: this was a thread among others.
            constexpr std::array<size_t, 6> kSizes = {0, 4096, kSize / 2, kSize - 1, 2 * kSize, 1};
            for (size_t turn = 0;; ++turn) {
                if (ftruncate(file, static_cast<off_t>(kSizes[turn % kSizes.size()])) != 0 ||
                    ftruncate(file, static_cast<off_t>(kSize)) != 0) {
                    _exit(1);
                }
                usleep(turn % 7 * 50);
            }
        }
    }
    ~ResizingProcess() {
        kill(mPid, SIGKILL);
        waitpid(mPid, nullptr, 0);
    }
    ResizingProcess(const ResizingProcess&) = delete;
    ResizingProcess& operator=(const ResizingProcess&) = delete;

  private:
    const pid_t mPid;
};

class ResizedMemory : public ::testing::Test {
  protected:
    static constexpr driver::ProcessId kClient = {.pid = 4321, .uid = 10123};

    void SetUp() override {
        ASSERT_TRUE(guardMappings().ok());
        driver::ModelBuilder builder;
        const uint32_t input = builder.input(driver::floats({kElements}));
        builder.operation(driver::OperationType::RELU, {input},
                          {builder.output(driver::floats({kElements}))});
        mClient = mDevice->client(kClient).value();
        driver::PrepareOptions options;
        options.client = mClient;
        mModel = mDevice->prepare(builder.build(), HalVersion::V1_3, options).value();
        mFile = FileDescriptor(memfd_create("resized", MFD_CLOEXEC));
        fill();
    }

    // The file as its owner wants it read.
    void fill() {
        ASSERT_EQ(ftruncate(mFile.get(), static_cast<off_t>(kSize)), 0);
        for (size_t place = 0; place < kPlaces; ++place) {
            std::vector<float> values(kElements);
            for (size_t i = 0; i < kElements; ++i) {
                values[i] = valueAt(place, i);
            }
            ASSERT_EQ(pwrite(mFile.get(), values.data(), kBytes,
                             static_cast<off_t>(place * kPlace + 40)),
                      static_cast<ssize_t>(kBytes));
        }
    }

    driver::SharedMemory import(bool asMappedFile) {
        const ImportOptions options = {.uses = Uses::MANY, .account = &mClient->account()};
        return asMappedFile
                       ? importMappedFile(mFile.get(), kSize, PROT_READ | PROT_WRITE, 0, options)
                       : importAshmem(mFile.get(), kSize, options);
    }

    // Reads its input at one place of the memory, and writes to another, or to memory that stays.
    static Request request(const driver::SharedMemory& memory, size_t from,
                           std::optional<size_t> to, const driver::SharedMemory& output) {
        Request request;
        request.pools = {memory, output};
        const auto at = [](uint32_t pool, size_t offset) {
            return driver::RequestArgument{
                    .hasNoValue = false,
                    .location = {.poolIndex = pool, .offset = offset, .length = kBytes},
                    .dimensions = {}};
        };
        request.inputs.push_back(at(0, from * kPlace + 40));
        request.outputs.push_back(to.has_value() ? at(0, *to * kPlace + 40) : at(1, 0));
        return request;
    }

    // Bytes that have been cut off read as zeros.
    static void expectInputOf(size_t place, const driver::SharedMemory& output) {
        const auto* values = reinterpret_cast<const float*>(output->map()->data());
        for (size_t i = 0; i < kElements; ++i) {
            ASSERT_TRUE(values[i] == valueAt(place, i) || values[i] == 0.0F)
                    << values[i] << " at " << i << " of place " << place;
        }
    }

    void expectNothingHeld() {
        const driver::Account& account = mClient->account();
        for (const auto& budget : {account.mappings, account.addressSpace, account.sharedMemory,
                                   account.descriptors, account.tasks}) {
            // An execution's task ends after its callback, on a thread of the scheduler's.
            const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
            while (budget->reserved() > 0 && std::chrono::steady_clock::now() < patience) {
                std::this_thread::yield();
            }
            EXPECT_EQ(budget->reserved(), 0U);
        }
    }

    // Executes at all places at once, each a number of times.
    void serve(const driver::SharedMemory& memory) {
        std::vector<std::thread> callers;
        for (size_t caller = 0; caller < 4; ++caller) {
            callers.emplace_back([&, caller] {
                const driver::SharedMemory output = driver::allocateHeapMemory(kBytes);
                for (size_t turn = 0; turn < 150; ++turn) {
                    const size_t place = caller * 4 + turn % 3;
                    const std::optional<size_t> to =
                            turn % 4 == 3 ? std::optional<size_t>(caller * 4 + 3) : std::nullopt;
                    const Request asked = request(memory, place, to, output);
                    Status status;
                    if (turn % 2 == 0) {
                        status = mModel->execute(asked, HalVersion::V1_3, {}).status;
                    } else {
                        const Awaited<Status> done;
                        static_cast<void>(mModel->executeAsync(
                                asked, HalVersion::V1_3, {}, [done](const ExecutionResult& result) {
                                    done.set(result.status);
                                }));
                        status = done.get();
                    }
                    if (status.ok() && !to.has_value()) {
                        expectInputOf(place, output);
                    } else if (!status.ok()) {
                        ++mErrors;
                        EXPECT_EQ(status.code(), StatusCode::INTERNAL) << status.toString();
                        EXPECT_NE(status.message().find("pool 0"), std::string_view::npos)
                                << status.toString();
                    }
                }
            });
        }
        for (std::thread& caller : callers) {
            caller.join();
        }
    }

    const std::unique_ptr<driver::Device> mDevice = driver::makeDevice();
    std::shared_ptr<driver::Client> mClient;
    std::shared_ptr<driver::PreparedModel> mModel;
    FileDescriptor mFile;
    std::atomic<size_t> mErrors = 0;
};

TEST_F(ResizedMemory, ServesManyRequestsWhoseUsesAreMappedEach) {
    for (const bool asMappedFile : {false, true}) {
        const driver::SharedMemory memory = import(asMappedFile);
        {
            const ResizingProcess owner(mFile.get());
            serve(memory);
        }
        // Memory that is there again is served again.
        fill();
        const driver::SharedMemory output = driver::allocateHeapMemory(kBytes);
        const Status status =
                mModel->execute(request(memory, 5, std::nullopt, output), HalVersion::V1_3, {})
                        .status;
        EXPECT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(reinterpret_cast<const float*>(output->map()->data())[kElements - 1],
                  valueAt(5, kElements - 1));
    }
    expectNothingHeld();
}

TEST_F(ResizedMemory, IsNotHeldByARequestThatWaits) {
    const auto fence = std::make_shared<const FileDescriptor>(eventfd(0, EFD_CLOEXEC));
    const size_t before = testing::openDescriptors();
    driver::SharedMemory memory = import(false);
    const std::weak_ptr<const driver::Memory> weak = memory;
    const driver::SharedMemory output = driver::allocateHeapMemory(kBytes);
    driver::ExecuteOptions options;
    options.waitFor = {fence};
    const Awaited<Status> done;
    ASSERT_TRUE(mModel->executeAsync(
                              request(memory, 2, std::nullopt, output), HalVersion::V1_3, options,
                              [done](const ExecutionResult& result) { done.set(result.status); })
                        .ok());
    memory = nullptr;
    EXPECT_TRUE(weak.expired());
    EXPECT_LE(testing::openDescriptors(), before);
    EXPECT_EQ(mClient->account().descriptors->reserved(), 1U) << "the fence";
    EXPECT_EQ(mClient->account().mappings->reserved(), 1U) << "what is used of the memory";
    const uint64_t one = 1;
    ASSERT_EQ(write(fence->get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    EXPECT_TRUE(done.get().ok()) << done.get().toString();
    EXPECT_EQ(reinterpret_cast<const float*>(output->map()->data())[7], valueAt(2, 7));
}

TEST_F(ResizedMemory, ServesManyRequestsWhileItIsMappedAsAWhole) {
    driver::SharedMemory memory = import(false);
    std::optional<driver::MemoryUse> whole = memory->useWhole(&mClient->account()).value();
    EXPECT_EQ(mClient->account().mappings->reserved(), 1U);
    {
        const ResizingProcess owner(mFile.get());
        serve(memory);
    }
    EXPECT_EQ(mClient->account().mappings->reserved(), 1U) << "the requests' uses lay in it";
    if (!whole->intact()) {
        const driver::SharedMemory output = driver::allocateHeapMemory(kBytes);
        EXPECT_NE(mModel->execute(request(memory, 5, std::nullopt, output), HalVersion::V1_3, {})
                          .status.message()
                          .find("cut short"),
                  std::string_view::npos)
                << "what has been lost once is not trusted again";
    }
    whole.reset();
    memory = nullptr;
    expectNothingHeld();
}

}  // namespace
}  // namespace halyard::hal
