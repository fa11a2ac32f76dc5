// SPDX-License-Identifier: Apache-2.0
//
// NNAPI's C functions over a service, with fences of the kernel's own, which no eventfd can stand
// for.
//
// Usage: HALYARD_NNAPI_DEVICES=hidl:INSTANCE nnapi_fences. Prints "ok <claim>" or "FAILED <claim>"
// per claim; exit 0 if all hold, 1 if one does not, 2 if none could be tried.

#include <android/NeuralNetworks.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "tests/device/binder_selftest/claims.h"
#include "tests/device/fence_selftest/graphics_buffer.h"

namespace halyard::selftest {
namespace {

using hal::selftest::allHold;
using hal::selftest::claim;
using std::chrono::milliseconds;

using Pair = std::array<float, 2>;

// Long enough for an execution that does not wait, of which the service is able of hundreds.
constexpr milliseconds kAWhile{300};
constexpr milliseconds kAtMost{8000};

bool succeeds(int code, const char* call) {
    if (code != ANEURALNETWORKS_NO_ERROR) {
        std::fprintf(stderr, "%s: %d\n", call, code);
    }
    return code == ANEURALNETWORKS_NO_ERROR;
}

#define HALYARD_TRY(call)             \
    do {                              \
        if (!succeeds(call, #call)) { \
            return false;             \
        }                             \
    } while (false)

template <typename T, void (*Free)(T*)>
struct Freeing {
    void operator()(T* object) const { Free(object); }
};
using Execution = std::unique_ptr<ANeuralNetworksExecution,
                                  Freeing<ANeuralNetworksExecution, ANeuralNetworksExecution_free>>;
using Event = std::unique_ptr<ANeuralNetworksEvent,
                              Freeing<ANeuralNetworksEvent, ANeuralNetworksEvent_free>>;

// The sum of a pair and of a constant one, in memory that the service maps. What is made here goes
// with the process.
class Sum {
  public:
    bool compile() {
        const uint32_t two = 2;
        const ANeuralNetworksOperandType pair = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &two, 0, 0};
        const ANeuralNetworksOperandType number = {ANEURALNETWORKS_INT32, 0, nullptr, 0, 0};
        const int32_t none = ANEURALNETWORKS_FUSED_NONE;
        const std::array<uint32_t, 3> inputs = {0, 1, 2};
        const uint32_t output = 3;
        const int fd = memfd_create("pairs", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, 3 * sizeof(Pair)) != 0) {
            return false;
        }
        void* const mapped =
                mmap(nullptr, 3 * sizeof(Pair), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED) {
            return false;
        }
        mPairs = static_cast<Pair*>(mapped);
        mPairs[1] = {10, 20};
        HALYARD_TRY(ANeuralNetworksMemory_createFromFd(3 * sizeof(Pair), PROT_READ | PROT_WRITE, fd,
                                                       0, &mMemory));
        close(fd);
        ANeuralNetworksModel* model = nullptr;
        HALYARD_TRY(ANeuralNetworksModel_create(&model));
        for (const ANeuralNetworksOperandType& type : {pair, pair, number, pair}) {
            HALYARD_TRY(ANeuralNetworksModel_addOperand(model, &type));
        }
        HALYARD_TRY(ANeuralNetworksModel_setOperandValueFromMemory(model, 1, mMemory, sizeof(Pair),
                                                                   sizeof(Pair)));
        HALYARD_TRY(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none));
        HALYARD_TRY(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, inputs.data(),
                                                      1, &output));
        HALYARD_TRY(
                ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs.data(), 1, &output));
        HALYARD_TRY(ANeuralNetworksModel_finish(model));
        ANeuralNetworksDevice* device = nullptr;
        HALYARD_TRY(ANeuralNetworks_getDevice(0, &device));
        HALYARD_TRY(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &mCompilation));
        HALYARD_TRY(ANeuralNetworksCompilation_finish(mCompilation));
        return true;
    }
    void set(Pair pair) {
        mPairs[0] = pair;
        mPairs[2] = {};
    }
    const Pair& result() const { return mPairs[2]; }

    // `results`: null: in the memory.
    bool bind(Execution& execution, Pair* results) const {
        ANeuralNetworksExecution* made = nullptr;
        HALYARD_TRY(ANeuralNetworksExecution_create(mCompilation, &made));
        execution.reset(made);
        HALYARD_TRY(ANeuralNetworksExecution_setMeasureTiming(made, true));
        HALYARD_TRY(ANeuralNetworksExecution_setInputFromMemory(made, 0, nullptr, mMemory, 0,
                                                                sizeof(Pair)));
        if (results != nullptr) {
            HALYARD_TRY(
                    ANeuralNetworksExecution_setOutput(made, 0, nullptr, results, sizeof *results));
        } else {
            HALYARD_TRY(ANeuralNetworksExecution_setOutputFromMemory(
                    made, 0, nullptr, mMemory, 2 * sizeof(Pair), sizeof(Pair)));
        }
        return true;
    }

  private:
    ANeuralNetworksCompilation* mCompilation = nullptr;
    ANeuralNetworksMemory* mMemory = nullptr;
    Pair* mPairs = nullptr;
};

bool start(const Execution& execution, const GraphicsBuffer::Fence& fence, Event& event) {
    ANeuralNetworksEvent* dependency = nullptr;
    HALYARD_TRY(ANeuralNetworksEvent_createFromSyncFenceFd(fence.file->get(), &dependency));
    const Event first(dependency);
    const ANeuralNetworksEvent* const waitFor = dependency;
    ANeuralNetworksEvent* made = nullptr;
    HALYARD_TRY(ANeuralNetworksExecution_startComputeWithDependencies(execution.get(), &waitFor, 1,
                                                                      0, &made));
    event.reset(made);
    return true;
}

// Whether its fence tells the end within that time.
bool isOver(const Event& event, milliseconds within) {
    int fence = -1;
    if (!succeeds(ANeuralNetworksEvent_getSyncFenceFd(event.get(), &fence), "getSyncFenceFd")) {
        return false;
    }
    pollfd polled = {.fd = fence, .events = POLLIN, .revents = 0};
    const int ready = poll(&polled, 1, static_cast<int>(within.count()));
    close(fence);
    return ready == 1;
}

milliseconds durationOf(const Execution& execution, int32_t code) {
    uint64_t nanoseconds = 0;
    return succeeds(ANeuralNetworksExecution_getDuration(execution.get(), code, &nanoseconds),
                    "getDuration")
                   ? std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(nanoseconds))
                   : milliseconds();
}

// One execution behind a fence that happens after a while, with results here or there.
bool checkWaiting(Sum& sum, const GraphicsBuffer& buffer, Pair* results, milliseconds& waited) {
    const Result<GraphicsBuffer::Fence> fence = buffer.attachFence();
    Execution execution;
    Event event;
    sum.set({1, 2});
    if (!fence.ok() || !sum.bind(execution, results) || !start(execution, *fence, event)) {
        return false;
    }
    const Pair nothing = {};
    const Pair& result = results == nullptr ? sum.result() : *results;
    claim(!isOver(event, kAWhile) && result == nothing,
          "nothing is computed before a fence happens");
    sum.set({3, 4});
    if (!buffer.signal(*fence).ok()) {
        return false;
    }
    HALYARD_TRY(ANeuralNetworksEvent_wait(event.get()));
    claim(result == Pair{13, 24}, "what the fence stood for is what is computed with");
    claim(isOver(event, kAtMost), "a fence tells that it is over");
    waited = durationOf(execution, ANEURALNETWORKS_DURATION_IN_DRIVER) -
             durationOf(execution, ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER);
    return true;
}

bool check() {
    Sum sum;
    const Result<GraphicsBuffer> buffer = GraphicsBuffer::make(4096);
    if (!buffer.ok() || !sum.compile()) {
        std::fprintf(stderr, "%s\n", buffer.status().toString().c_str());
        return false;
    }
    {
        const Result<GraphicsBuffer::Fence> never = buffer->attachFence();
        Execution execution;
        Event event;
        sum.set({1, 2});
        if (!never.ok() || !sum.bind(execution, nullptr)) {
            return false;
        }
        const std::chrono::nanoseconds limit = kAWhile;
        HALYARD_TRY(ANeuralNetworksExecution_setTimeout(execution.get(),
                                                        static_cast<uint64_t>(limit.count())));
        if (!start(execution, *never, event)) {
            return false;
        }
        const int code = ANeuralNetworksEvent_wait(event.get());
        claim(code == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT ||
                      code == ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT,
              "a timeout ends the service's waiting");
        if (!buffer->signal(*never).ok()) {
            return false;
        }
    }
    milliseconds waited{};
    Pair results = {};
    if (!checkWaiting(sum, *buffer, &results, waited)) {
        return false;
    }
    claim(waited >= kAWhile / 2, "the service is told the fence, and tells how long it waited");
    if (!checkWaiting(sum, *buffer, nullptr, waited)) {
        return false;
    }
    claim(waited < kAWhile / 2, "a service that waits in the call is not told the next one");
    return true;
}

}  // namespace
}  // namespace halyard::selftest

int main() {
    alarm(120);
    if (!halyard::selftest::check()) {
        return 2;
    }
    return halyard::hal::selftest::allHold() ? 0 : 1;
}
