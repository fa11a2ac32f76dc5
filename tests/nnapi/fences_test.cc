// SPDX-License-Identifier: Apache-2.0
//
// Executions that wait for fences on a service that has such: when it is told, what it is told and
// whose fence the program gets. tests/device/nnapi_fences has the kernel's own.

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "driver/device/local_device.h"
#include "nnapi/compilation.h"
#include "nnapi/runtime.h"
#include "tests/nnapi/c_objects.h"

namespace halyard::nnapi_test {
namespace {

using driver::FencedExecution;
using nnapi::FenceHabit;
using nnapi::FenceNews;
using nnapi::RuntimeDevice;
using std::chrono::nanoseconds;

using Numbers = std::array<float, 4>;
constexpr Numbers kLeft = {1, 2, 3, 4};
constexpr Numbers kRight = {10, 20, 30, 40};
constexpr Numbers kTotal = {11, 22, 33, 44};
const std::vector<uint32_t> kQuartet = {4};

// How the service behaves, and what it was asked for.
struct Behaviour {
    // Of executeFenced(), which is given what computes the request; null: the driver's own.
    std::function<Result<FencedExecution>(const driver::ExecuteOptions&,
                                          std::function<driver::ExecutionResult()>)>
            begin;
    std::atomic<size_t> begun = 0;
    Status ping;
    driver::HalVersion version = driver::kNewestVersion;
};

// AIDL's executions that are kept come to the same as those of a model.
class FencingModel final : public driver::IPreparedModel {
  public:
    FencingModel(std::shared_ptr<driver::IPreparedModel> model, Behaviour& behaviour)
        : mModel(std::move(model)), mBehaviour(behaviour) {}

    driver::ExecutionResult execute(const driver::Request& request,
                                    const driver::ExecuteOptions& options) override {
        return mModel->execute(request, options);
    }
    Status executeAsync(driver::Request request, const driver::ExecuteOptions& options,
                        driver::ExecuteCallback callback) override {
        return mModel->executeAsync(std::move(request), options, std::move(callback));
    }
    Result<FencedExecution> executeFenced(const driver::Request& request,
                                          const driver::ExecuteOptions& options) override {
        ++mBehaviour.begun;
        return mBehaviour.begin == nullptr ? mModel->executeFenced(request, options)
                                           : mBehaviour.begin(options, [model = mModel, request] {
                                                 return model->execute(request, {});
                                             });
    }
    Result<std::shared_ptr<driver::IBurst>> makeBurst() override { return mModel->makeBurst(); }
    Result<std::shared_ptr<driver::IExecution>> makeExecution(
            const driver::Request& /*request*/,
            const driver::ExecuteOptions& /*options*/) override {
        return unsupported("it keeps none");
    }
    std::string report() override { return mModel->report(); }

  private:
    const std::shared_ptr<driver::IPreparedModel> mModel;
    Behaviour& mBehaviour;
};

class FencingDevice final : public driver::IDevice {
  public:
    FencingDevice(std::shared_ptr<driver::IDevice> device, Behaviour& behaviour)
        : mDevice(std::move(device)), mBehaviour(behaviour) {}

    driver::HalVersion version() const override { return mBehaviour.version; }
    Result<std::string> versionString() override { return mDevice->versionString(); }
    Result<driver::DeviceType> type() override { return mDevice->type(); }
    Result<driver::Capabilities> capabilities() override { return mDevice->capabilities(); }
    Result<driver::DeviceStatus> status() override { return mDevice->status(); }
    Result<std::vector<driver::Extension>> extensions() override { return mDevice->extensions(); }
    Result<std::vector<bool>> supportedOperations(const driver::Model& model) override {
        return mDevice->supportedOperations(model);
    }
    Result<std::shared_ptr<driver::IPreparedModel>> prepare(
            const driver::Model& model, const driver::PrepareOptions& options) override {
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<driver::IPreparedModel> prepared,
                                 mDevice->prepare(model, options));
        return std::shared_ptr<driver::IPreparedModel>(
                std::make_shared<FencingModel>(std::move(prepared), mBehaviour));
    }
    Status prepareAsync(driver::Model model, const driver::PrepareOptions& options,
                        driver::PreparedCallback callback) override {
        return mDevice->prepareAsync(std::move(model), options, std::move(callback));
    }
    Result<driver::NumberOfCacheFiles> numberOfCacheFiles() override {
        return driver::NumberOfCacheFiles();
    }
    Result<std::shared_ptr<driver::IPreparedModel>> prepareFromCache(
            const driver::PrepareOptions& options) override {
        return mDevice->prepareFromCache(options);
    }
    Status prepareFromCacheAsync(const driver::PrepareOptions& options,
                                 driver::PreparedCallback callback) override {
        return mDevice->prepareFromCacheAsync(options, std::move(callback));
    }
    Result<std::shared_ptr<driver::IBuffer>> allocate(
            const driver::BufferDescription& description) override {
        return mDevice->allocate(description);
    }
    Status ping() override { return mBehaviour.ping; }
    Result<std::string> report() override { return mDevice->report(); }

  private:
    const std::shared_ptr<driver::IDevice> mDevice;
    Behaviour& mBehaviour;
};

std::shared_ptr<driver::IDevice> referenceDriver() {
    driver::Options options;
    options.backends = {"CpuRef"};
    options.threads = 1;
    Result<std::unique_ptr<driver::Device>> device = driver::Device::create(std::move(options));
    EXPECT_TRUE(device.ok()) << device.status().toString();
    return makeLocalDevice(std::shared_ptr<const driver::Device>(*std::move(device)),
                           driver::kNewestVersion);
}

std::unique_ptr<ANeuralNetworksDevice> deviceAt(RuntimeDevice::Place place,
                                                std::shared_ptr<driver::IDevice> device) {
    Result<std::unique_ptr<ANeuralNetworksDevice>> made =
            RuntimeDevice::of(place == RuntimeDevice::Place::REMOTE ? "service" : "reference",
                              place, std::move(device), driver::kNewestVersion);
    EXPECT_TRUE(made.ok()) << made.status().toString();
    return *std::move(made);
}

Model modelOfASum() {
    ModelText text;
    const uint32_t a = text.floats(kQuartet);
    const uint32_t b = text.floats(kQuartet);
    text.identify({a, b}, {text.binary(ANEURALNETWORKS_ADD, a, b, kQuartet)});
    return text.finish();
}

class NnapiFences : public testing::Test {
  protected:
    NnapiFences() {
        const int fd = memfd_create("numbers", MFD_CLOEXEC);
        EXPECT_EQ(ftruncate(fd, 3 * sizeof(Numbers)), 0);
        void* const mapped =
                mmap(nullptr, 3 * sizeof(Numbers), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        EXPECT_NE(mapped, MAP_FAILED);
        mNumbers = static_cast<Numbers*>(mapped);
        mNumbers[0] = kLeft;
        mNumbers[1] = kRight;
        ANeuralNetworksMemory* memory = nullptr;
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksMemory_createFromFd(
                3 * sizeof(Numbers), PROT_READ | PROT_WRITE, fd, 0, &memory));
        mMemory.reset(memory);
        close(fd);
    }
    ~NnapiFences() override { munmap(mNumbers, 3 * sizeof(Numbers)); }

    void compileFor(bool isExplicit = true) {
        mService = deviceAt(RuntimeDevice::Place::REMOTE,
                            std::make_shared<FencingDevice>(referenceDriver(), mBehaviour));
        mReference = deviceAt(RuntimeDevice::Place::REFERENCE, referenceDriver());
        std::vector<const RuntimeDevice*> devices = {mService.get()};
        if (!isExplicit) {
            devices.push_back(mReference.get());
        }
        mCompilation.reset(new ANeuralNetworksCompilation(mModel->finished(),
                                                          nnapi::Runtime::instance().prefixes(),
                                                          std::move(devices), isExplicit));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_finish(mCompilation.get()));
    }
    // Of numbers in shared memory; the results there, too, or by a pointer.
    Execution bound(float* results = nullptr) {
        Execution execution = newExecution(mCompilation);
        for (int32_t i = 0; i < 2; ++i) {
            HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setInputFromMemory(
                    execution.get(), i, nullptr, mMemory.get(),
                    static_cast<size_t>(i) * sizeof(Numbers), sizeof(Numbers)));
        }
        HALYARD_EXPECT_NO_ERROR(
                results != nullptr ? ANeuralNetworksExecution_setOutput(execution.get(), 0, nullptr,
                                                                        results, sizeof(Numbers))
                                   : ANeuralNetworksExecution_setOutputFromMemory(
                                             execution.get(), 0, nullptr, mMemory.get(),
                                             2 * sizeof(Numbers), sizeof(Numbers)));
        return execution;
    }
    static Event start(const Execution& execution, const ANeuralNetworksEvent* dependency = nullptr,
                       uint64_t afterFences = 0) {
        ANeuralNetworksEvent* event = nullptr;
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_startComputeWithDependencies(
                execution.get(), dependency == nullptr ? nullptr : &dependency,
                dependency == nullptr ? 0 : 1, afterFences, &event));
        return Event(event);
    }
    // What the program has of the event.
    static FileDescriptor fenceOf(const Event& event) {
        int fence = -1;
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_getSyncFenceFd(event.get(), &fence));
        return FileDescriptor(fence);
    }
    static bool isReadable(const FileDescriptor& fence) {
        pollfd polled = {.fd = fence.get(), .events = POLLIN, .revents = 0};
        return poll(&polled, 1, 0) == 1;
    }
    // Which may be a moment after the event is over.
    static bool becomesReadable(const FileDescriptor& fence) {
        pollfd polled = {.fd = fence.get(), .events = POLLIN, .revents = 0};
        return poll(&polled, 1, -1) == 1;
    }
    static uint64_t durationOf(const Execution& execution, int32_t code) {
        uint64_t duration = 0;
        HALYARD_EXPECT_NO_ERROR(
                ANeuralNetworksExecution_getDuration(execution.get(), code, &duration));
        return duration;
    }
    // A service that answers at once, with a fence; its work is done when it is asked how it went.
    void answersAtOnce() {
        mBehaviour.begin = [this](const driver::ExecuteOptions&,
                                  std::function<driver::ExecutionResult()> compute)
                -> Result<FencedExecution> {
            return FencedExecution{.done = mDone, .info = [compute = std::move(compute)] {
                                       return FencedExecution::Info{
                                               .status = compute().status,
                                               .launched = {nanoseconds(30), nanoseconds(40)},
                                               .fenced = {nanoseconds(10), nanoseconds(20)}};
                                   }};
        };
    }
    void answers(Status status, Status info) {
        mBehaviour.begin = [status = std::move(status), info = std::move(info)](
                                   const driver::ExecuteOptions&,
                                   const std::function<driver::ExecutionResult()>&)
                -> Result<FencedExecution> {
            HALYARD_RETURN_IF_ERROR(status);
            return FencedExecution{.done = nullptr, .info = [info] {
                                       return FencedExecution::Info{
                                               .status = info, .launched = {}, .fenced = {}};
                                   }};
        };
    }

    const Model mModel = modelOfASum();
    const std::shared_ptr<const FileDescriptor> mDone =
            std::make_shared<const FileDescriptor>(eventfd(0, EFD_CLOEXEC));
    Behaviour mBehaviour;
    std::unique_ptr<ANeuralNetworksDevice> mService;
    std::unique_ptr<ANeuralNetworksDevice> mReference;
    Compilation mCompilation;
    Memory mMemory;
    Numbers* mNumbers = nullptr;
};

TEST_F(NnapiFences, OfTheDeviceAreGivenToTheProgram) {
    answersAtOnce();
    compileFor();
    for (int round = 0; round < 2; ++round) {
        const Execution execution = bound();
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setMeasureTiming(execution.get(), true));
        const Event event = start(execution);
        const FileDescriptor fence = fenceOf(event);
        EXPECT_FALSE(isReadable(fence));
        EXPECT_NE(mNumbers[2], kTotal);
        // It is the device's own: a number that is written into that one is read from it.
        const uint64_t seven = 7;
        ASSERT_EQ(write(mDone->get(), &seven, sizeof seven), static_cast<ssize_t>(sizeof seven));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_wait(event.get()));
        uint64_t read = 0;
        ASSERT_EQ(::read(fence.get(), &read, sizeof read), static_cast<ssize_t>(sizeof read));
        EXPECT_EQ(read, seven);
        EXPECT_EQ(mNumbers[2], kTotal);
        EXPECT_EQ(durationOf(execution, ANEURALNETWORKS_DURATION_ON_HARDWARE), 30U);
        EXPECT_EQ(durationOf(execution, ANEURALNETWORKS_DURATION_IN_DRIVER), 40U);
        EXPECT_EQ(durationOf(execution, ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE), 10U);
        EXPECT_EQ(durationOf(execution, ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER), 20U);
        mNumbers[2] = {};
    }
    EXPECT_EQ(mBehaviour.begun, 2U);
}

TEST_F(NnapiFences, OfADeviceThatAnswersLateAreTheLibrarys) {
    compileFor();
    const Execution execution = bound();
    const Event event = start(execution);
    const FileDescriptor fence = fenceOf(event);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_wait(event.get()));
    EXPECT_TRUE(becomesReadable(fence));
    EXPECT_EQ(mNumbers[2], kTotal);
    EXPECT_EQ(mBehaviour.begun, 1U);
}

// The program reads what is copied after the device's fence: only the library's can tell it.
TEST_F(NnapiFences, OfTheDeviceAreNoUseForWhatIsCopied) {
    answersAtOnce();
    compileFor();
    Numbers results = {};
    const Execution execution = bound(results.data());
    const Event event = start(execution);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_wait(event.get()));
    EXPECT_EQ(results, kTotal);
    EXPECT_EQ(mBehaviour.begun, 0U);
    EXPECT_TRUE(becomesReadable(fenceOf(event)));
}

TEST_F(NnapiFences, OfTheDeviceAreNoUseWhereTheReferenceMayComputeInItsPlace) {
    answersAtOnce();
    compileFor(false);
    const Execution execution = bound();
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_wait(start(execution).get()));
    EXPECT_EQ(mNumbers[2], kTotal);
    EXPECT_EQ(mBehaviour.begun, 0U);
}

TEST_F(NnapiFences, AreWaitedForHereWhereADeviceHasNone) {
    mBehaviour.version = driver::HalVersion::V1_2;
    compileFor();
    const Execution execution = bound();
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_wait(start(execution).get()));
    EXPECT_EQ(mNumbers[2], kTotal);
    EXPECT_EQ(mBehaviour.begun, 0U);
}

TEST_F(NnapiFences, ThatNoDeviceTakesAreWaitedForHere) {
    std::atomic<size_t> waitedFor = 99;
    std::atomic<int64_t> after = 0;
    mBehaviour.begin = [&](const driver::ExecuteOptions& options,
                           const std::function<driver::ExecutionResult()>& compute)
            -> Result<FencedExecution> {
        waitedFor = options.waitFor.size();
        after = options.durationAfterFences.value_or(nanoseconds()).count();
        return FencedExecution{.done = nullptr, .info = [status = compute().status] {
                                   return FencedExecution::Info{
                                           .status = status, .launched = {}, .fenced = {}};
                               }};
    };
    compileFor();
    const FileDescriptor trigger(eventfd(0, EFD_CLOEXEC));
    ANeuralNetworksEvent* made = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_createFromSyncFenceFd(trigger.get(), &made));
    const Event dependency(made);
    const Execution execution = bound();
    const Event event = start(execution, dependency.get(), 60'000'000'000);
    EXPECT_EQ(mBehaviour.begun, 0U);
    mNumbers[0] = kRight;  // what the fence stands for
    const uint64_t one = 1;
    ASSERT_EQ(write(trigger.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_wait(event.get()));
    EXPECT_EQ(mNumbers[2], (Numbers{20, 40, 60, 80}));
    EXPECT_EQ(waitedFor, 0U);
    EXPECT_EQ(after, 60'000'000'000);
}

TEST_F(NnapiFences, EndWithWhatTheDeviceSays) {
    const Status late(StatusCode::DEADLINE_EXCEEDED, "late");
    const std::array<std::tuple<Status, Status, int>, 4> cases = {{
            {internalError("refused"), {}, ANEURALNETWORKS_OP_FAILED},
            {late, {}, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT},
            {{}, internalError("failed"), ANEURALNETWORKS_OP_FAILED},
            {{}, late, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT},
    }};
    for (const auto& [begin, end, code] : cases) {
        answers(begin, end);
        compileFor();
        const Execution execution = bound();
        const Event event = start(execution);
        const FileDescriptor fence = fenceOf(event);
        EXPECT_EQ(ANeuralNetworksEvent_wait(event.get()), code);
        EXPECT_TRUE(becomesReadable(fence));
    }
    EXPECT_EQ(mBehaviour.begun, cases.size());
}

TEST_F(NnapiFences, OfADeviceThatIsGoneAreNotWaitedForForGood) {
    answersAtOnce();
    mBehaviour.ping = Status(StatusCode::UNAVAILABLE, "gone");
    compileFor();
    const Execution execution = bound();
    EXPECT_EQ(ANeuralNetworksEvent_wait(start(execution).get()), ANEURALNETWORKS_DEAD_OBJECT);
}

TEST(NnapiFenceHabit, IsLearnedOfOneExecutionAtATime) {
    FenceHabit habit;
    EXPECT_EQ(habit.offer(), FenceNews::MAYBE);
    EXPECT_EQ(habit.offer(), FenceNews::NONE);
    habit.noteNone(false);
    EXPECT_EQ(habit.offer(), FenceNews::MAYBE);
    habit.noteNone(true);
    EXPECT_EQ(habit.offer(), FenceNews::NONE);

    FenceHabit other;
    EXPECT_EQ(other.offer(), FenceNews::MAYBE);
    other.noteGiven();
    other.noteNone(true);  // as it was over already
    EXPECT_EQ(other.offer(), FenceNews::SURE);
    EXPECT_EQ(other.offer(), FenceNews::SURE);
}

}  // namespace
}  // namespace halyard::nnapi_test
