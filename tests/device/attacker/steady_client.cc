// SPDX-License-Identifier: Apache-2.0

#include "tests/device/attacker/steady_client.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hal/hidl/client/connection.h"
#include "hal/hidl/client/device.h"
#include "hal/hidl/types.h"
#include "hal/memory/shared_memory.h"

namespace halyard::attacker {

namespace {

constexpr uint32_t kWidth = 1024;
constexpr uint32_t kBytes = kWidth * sizeof(float);
constexpr std::chrono::milliseconds kPause{20};
constexpr std::chrono::seconds kRefusalPatience{5};
// hal/binder's message for a call that the kernel refused.
constexpr std::string_view kRefused = "the kernel refused the call";

// Ends the process where a call takes too long: what waits in the kernel can't be called off.
class Watchdog {
  public:
    explicit Watchdog(std::chrono::milliseconds patience)
        : mPatience(patience), mThread([this] { watch(); }) {}
    ~Watchdog() {
        {
            const std::lock_guard lock(mMutex);
            mOver = true;
        }
        mChanged.notify_all();
        mThread.join();
    }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    void begin(const std::string& call) {
        const std::lock_guard lock(mMutex);
        mCall = call;
        mUntil = Clock::now() + mPatience;
        mChanged.notify_all();
    }
    void end() {
        const std::lock_guard lock(mMutex);
        mUntil.reset();
        mChanged.notify_all();
    }

  private:
    void watch() {
        std::unique_lock lock(mMutex);
        while (!mOver) {
            if (!mUntil.has_value()) {
                mChanged.wait(lock);
            } else if (Clock::now() >= *mUntil) {
                fprintf(stderr, "halyard-attacker: steady: %s: no answer for %lld ms\n",
                        mCall.c_str(), static_cast<long long>(mPatience.count()));
                fflush(stdout);
                _exit(1);
            } else {
                const Clock::time_point until = *mUntil;
                mChanged.wait_until(lock, until);
            }
        }
    }

    const std::chrono::milliseconds mPatience;
    std::mutex mMutex;
    std::condition_variable mChanged;
    bool mOver = false;
    std::string mCall;
    std::optional<Clock::time_point> mUntil;
    std::thread mThread;
};

class Stopwatches {
  public:
    explicit Stopwatches(std::chrono::milliseconds patience) : mWatchdog(patience) {}

    // Times a call. One that the kernel refuses, because there is no room in the service's receive
    // buffer just now, is made again for a while.
    Status time(const std::string& kind, const std::function<Status()>& call) {
        const Clock::time_point start = Clock::now();
        mWatchdog.begin(kind);
        Status done = call();
        while (done.code() == StatusCode::INTERNAL &&
               done.message().find(kRefused) != std::string_view::npos &&
               Clock::now() - start < kRefusalPatience) {
            ++mRefused;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            done = call();
        }
        mWatchdog.end();
        const auto took =
                std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
        mTimes[kind].push_back(took.count());
        return done.withContext(kind + ", after " + std::to_string(took.count()) + " us");
    }
    void print() {
        for (auto& [kind, times] : mTimes) {
            std::ranges::sort(times);
            const auto share = [&times](size_t percent) {
                return static_cast<long long>(times[(times.size() - 1) * percent / 100]);
            };
            printf("%s\t%zu\t%lld\t%lld\t%lld\n", kind.c_str(), times.size(), share(50), share(99),
                   share(100));
        }
        printf("refused by the kernel, and made again: %zu\n", mRefused);
    }

  private:
    Watchdog mWatchdog;
    std::map<std::string, std::vector<int64_t>> mTimes;
    size_t mRefused = 0;
};

// output = input + zeros, which are copied with the model.
driver::Model addModel() {
    driver::Operand input;
    input.type = driver::OperandType::TENSOR_FLOAT32;
    input.dimensions = {kWidth};
    input.numberOfConsumers = 1;
    input.lifetime = driver::OperandLifeTime::SUBGRAPH_INPUT;
    driver::Operand constant = input;
    constant.lifetime = driver::OperandLifeTime::CONSTANT_COPY;
    constant.location.length = kBytes;
    driver::Operand activation = constant;
    activation.type = driver::OperandType::INT32;
    activation.dimensions = {};
    activation.location.offset = kBytes;
    activation.location.length = sizeof(int32_t);
    driver::Operand output = input;
    output.numberOfConsumers = 0;
    output.lifetime = driver::OperandLifeTime::SUBGRAPH_OUTPUT;
    driver::Model model;
    model.main.operands = {input, constant, activation, output};
    model.main.operations = {
            {.type = driver::OperationType::ADD, .inputs = {0, 1, 2}, .outputs = {3}}};
    model.main.inputIndexes = {0};
    model.main.outputIndexes = {3};
    model.operandValues =
            std::make_shared<const std::vector<uint8_t>>(kBytes + sizeof(int32_t), uint8_t{0});
    return model;
}

Result<driver::Request> addRequest() {
    HALYARD_ASSIGN_OR_RETURN(const hal::ExportedMemory memory, hal::createSharedMemory(2 * kBytes));
    driver::Request request;
    request.inputs.resize(1);
    request.inputs[0].location.length = kBytes;
    request.outputs.resize(1);
    request.outputs[0].location.offset = kBytes;
    request.outputs[0].location.length = kBytes;
    request.pools = {memory.memory};
    return request;
}

// A service as an honest client has it.
struct Service {
    hal::hidl::RemoteInterface object;
    std::shared_ptr<driver::IDevice> device;
};

// The calls that a service answers however busy it is.
Status callEssentials(const Service& service, Stopwatches& times) {
    HALYARD_RETURN_IF_ERROR(times.time("getStatus", [&] {
        return service.object.call(hal::hidl::nn::v1_3::IDevice::getStatus).status();
    }));
    HALYARD_RETURN_IF_ERROR(times.time("ping", [&] { return service.object.ping(); }));
    return times.time("debug", [&] { return service.device->report().status(); });
}

Status executeAsynchronously(driver::IPreparedModel& model, const driver::Request& request) {
    std::promise<Status> told;
    static_cast<void>(model.executeAsync(
            request, {},
            [&told](const driver::ExecutionResult& result) { told.set_value(result.status); }));
    return told.get_future().get();
}

Status callAll(const Service& service, const driver::Model& model, const driver::Request& request,
               driver::IPreparedModel& kept, Stopwatches& times) {
    HALYARD_RETURN_IF_ERROR(callEssentials(service, times));
    HALYARD_RETURN_IF_ERROR(times.time("getSupportedOperations", [&] {
        return service.device->supportedOperations(model).status();
    }));
    HALYARD_RETURN_IF_ERROR(times.time(
            "prepareModel", [&] { return service.device->prepare(model, {}).status(); }));
    HALYARD_RETURN_IF_ERROR(
            times.time("execute", [&] { return executeAsynchronously(kept, request); }));
    return times.time("executeSynchronously", [&] { return kept.execute(request, {}).status; });
}

}  // namespace

Status runSteadyClient(const Settings& settings) {
    Stopwatches times(settings.patience);
    const Clock::time_point end = endOf(settings);
    std::optional<Service> service;
    HALYARD_RETURN_IF_ERROR(times.time("connect", [&] {
        HALYARD_ASSIGN_OR_RETURN(
                hal::hidl::ServiceConnection connection,
                hal::hidl::connectToService(settings.instance, driver::HalVersion::V1_3,
                                            settings.patience));
        service = Service{.object = connection.device, .device = nullptr};
        service->device = hal::hidl::makeClientDevice(std::move(connection));
        return Status();
    }));
    Status done;
    if (settings.against == "essentials") {
        while (done.ok() && Clock::now() < end) {
            done = callEssentials(*service, times);
            std::this_thread::sleep_for(kPause);
        }
        times.print();
        return done;
    }
    const driver::Model model = addModel();
    HALYARD_ASSIGN_OR_RETURN(const driver::Request request, addRequest());
    std::shared_ptr<driver::IPreparedModel> kept;
    done = times.time("prepareModel", [&] {
        HALYARD_ASSIGN_OR_RETURN(kept, service->device->prepare(model, {}));
        return Status();
    });
    // Each kind of call at least once, however long the first one took.
    for (bool first = true; done.ok() && (first || Clock::now() < end); first = false) {
        done = callAll(*service, model, request, *kept, times);
        std::this_thread::sleep_for(kPause);
    }
    times.print();
    return done;
}

}  // namespace halyard::attacker
