// SPDX-License-Identifier: Apache-2.0
//
// A service's use of fences and buffers of the kernel's own, which no memfd and no pipe can stand
// for: sync_files that have not happened yet, and dma-bufs.
//
// Usage: fence_selftest hidl|aidl INSTANCE. Prints "ok <claim>" or "FAILED <claim>" per claim; exit
// 0 if all hold, 1 if one does not, 2 if none could be tried.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/log.h"
#include "hal/memory/shared_memory.h"
#include "harness/device/runner/target.h"
#include "tests/device/binder_selftest/claims.h"
#include "tests/device/fence_selftest/graphics_buffer.h"
#include "tests/hal/add_model.h"

namespace halyard::selftest {
namespace {

using hal::selftest::allHold;
using hal::selftest::claim;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Long enough for an execution that does not wait, of which the service is able of hundreds.
constexpr milliseconds kAWhile{300};
constexpr std::chrono::seconds kAtMost{8};

using Ended = std::future<Result<driver::FencedExecution>>;

// The sum of two numbers and {10, 20}, in memory of the caller's kind.
class Sum {
  public:
    Sum(std::shared_ptr<driver::IPreparedModel> model, driver::SharedMemory memory)
        : mModel(std::move(model)), mMemory(std::move(memory)) {
        mRequest = hal::testing::addRequest();
        mRequest.pools = {mMemory};
        set(1, 2);
    }

    void set(float a, float b) {
        const float values[] = {a, b, 0, 0};
        std::memcpy(mMemory->map().value().data(), values, sizeof(values));
    }
    bool is(float a, float b) const {
        float values[2];
        std::memcpy(values, mMemory->map().value().data() + sizeof(values), sizeof(values));
        return values[0] == a && values[1] == b;
    }

    Ended start(driver::Fences waitFor, Deadline deadline = std::nullopt,
                driver::Duration afterFences = std::nullopt) {
        driver::ExecuteOptions options;
        options.measureTiming = true;
        options.waitFor = std::move(waitFor);
        options.deadline = deadline;
        options.durationAfterFences = afterFences;
        return std::async(std::launch::async, [this, options]() -> Result<driver::FencedExecution> {
            Result<driver::FencedExecution> execution = mModel->executeFenced(mRequest, options);
            if (execution.ok() && execution->info) {
                HALYARD_RETURN_IF_ERROR(execution->info().status);
            }
            return execution;
        });
    }
    bool runs() { return mModel->execute(mRequest, {}).status.ok(); }

  private:
    const std::shared_ptr<driver::IPreparedModel> mModel;
    const driver::SharedMemory mMemory;
    driver::Request mRequest;
};

bool isOver(const Ended& ended, std::chrono::milliseconds within) {
    return ended.wait_for(within) == std::future_status::ready;
}

Result<driver::FencedExecution> endOf(Ended& ended) {
    if (!isOver(ended, kAtMost)) {
        return Status(StatusCode::DEADLINE_EXCEEDED, "it has no end");
    }
    return ended.get();
}

bool endsWell(Ended& ended) {
    const Status status = endOf(ended).status();
    if (!status.ok()) {
        std::fprintf(stderr, "%s\n", status.toString().c_str());
    }
    return status.ok();
}

// Whether the time that an execution waits is in the one and not in the other. On a busy machine a
// call may come to the service long after it was made: then more time tells.
Result<bool> tellsWaiting(Sum& sum, const GraphicsBuffer& buffer) {
    for (milliseconds wait = kAWhile; wait <= 8 * kAWhile; wait *= 2) {
        HALYARD_ASSIGN_OR_RETURN(const GraphicsBuffer::Fence fence, buffer.attachFence());
        Ended ended = sum.start({fence.file});
        std::this_thread::sleep_for(wait);
        HALYARD_RETURN_IF_ERROR(buffer.signal(fence));
        HALYARD_ASSIGN_OR_RETURN(const driver::FencedExecution execution, endOf(ended));
        const driver::FencedExecution::Info info = execution.info();
        if (info.launched.timeInDriver.has_value() && info.fenced.timeInDriver.has_value() &&
            *info.launched.timeInDriver - *info.fenced.timeInDriver >= wait / 2) {
            return true;
        }
    }
    return false;
}

Result<bool> checkFences(const std::shared_ptr<driver::IPreparedModel>& model) {
    HALYARD_ASSIGN_OR_RETURN(const GraphicsBuffer first, GraphicsBuffer::make(4096));
    HALYARD_ASSIGN_OR_RETURN(const GraphicsBuffer second, GraphicsBuffer::make(4096));
    HALYARD_ASSIGN_OR_RETURN(const hal::ExportedMemory memory, hal::createSharedMemory(16));
    HALYARD_ASSIGN_OR_RETURN(const hal::ExportedMemory other, hal::createSharedMemory(16));
    Sum sum(model, memory.memory);
    Sum another(model, other.memory);

    HALYARD_ASSIGN_OR_RETURN(const GraphicsBuffer::Fence fence, first.attachFence());
    Ended ended = sum.start({fence.file});
    claim(!isOver(ended, kAWhile) && sum.is(0, 0), "nothing is computed before a fence happens");
    claim(another.runs() && another.is(11, 22), "others are served while an execution waits");
    sum.set(3, 4);
    HALYARD_RETURN_IF_ERROR(first.signal(fence));
    claim(endsWell(ended) && sum.is(13, 24), "what the fence stood for is what is computed with");
    HALYARD_ASSIGN_OR_RETURN(const bool tells, tellsWaiting(sum, first));
    claim(tells, "its times tell how long it waited");

    ended = sum.start({fence.file});
    claim(endsWell(ended), "a fence that has happened holds nothing up");

    HALYARD_ASSIGN_OR_RETURN(const GraphicsBuffer::Fence early, first.attachFence());
    HALYARD_ASSIGN_OR_RETURN(const GraphicsBuffer::Fence late, second.attachFence());
    sum.set(1, 2);
    ended = sum.start({late.file, early.file});
    HALYARD_RETURN_IF_ERROR(first.signal(early));
    claim(!isOver(ended, kAWhile) && sum.is(0, 0), "one of two fences is not enough");
    HALYARD_RETURN_IF_ERROR(second.signal(late));
    claim(endsWell(ended) && sum.is(11, 22), "both are");

    HALYARD_ASSIGN_OR_RETURN(const GraphicsBuffer::Fence never, first.attachFence());
    sum.set(1, 2);
    ended = sum.start({never.file}, steady_clock::now() + kAWhile);
    const bool inTime = isOver(ended, kAtMost);
    claim(inTime && ended.get().status().code() == StatusCode::DEADLINE_EXCEEDED && sum.is(0, 0),
          "a deadline ends the waiting");
    ended = sum.start({never.file}, std::nullopt, kAtMost);
    claim(!isOver(ended, kAWhile), "the time after the fences does not begin before them");
    HALYARD_RETURN_IF_ERROR(first.signal(never));
    claim(endsWell(ended) && sum.is(11, 22), "it begins with them");
    return true;
}

Result<bool> checkBuffers(const std::shared_ptr<driver::IPreparedModel>& model) {
    HALYARD_ASSIGN_OR_RETURN(const GraphicsBuffer buffer, GraphicsBuffer::make(4096));
    HALYARD_ASSIGN_OR_RETURN(const driver::SharedMemory memory, buffer.memory());
    Sum sum(model, memory);
    claim(sum.runs() && sum.is(11, 22), "a dma-buf is read and written as memory");
    HALYARD_ASSIGN_OR_RETURN(const GraphicsBuffer::Fence fence, buffer.attachFence());
    sum.set(5, 6);
    Ended ended = sum.start({fence.file});
    claim(!isOver(ended, kAWhile) && sum.is(0, 0), "a dma-buf is not read before its own fence");
    HALYARD_RETURN_IF_ERROR(buffer.signal(fence));
    claim(endsWell(ended) && sum.is(15, 26), "it is read and written after it");
    return true;
}

Result<bool> check(const runner::ServiceAddress& address) {
    HALYARD_ASSIGN_OR_RETURN(const runner::Target target,
                             runner::openService(address, std::nullopt, kAtMost));
    HALYARD_ASSIGN_OR_RETURN(const runner::PreparedModel prepared,
                             runner::prepare(target, hal::testing::addModel(), {}));
    HALYARD_RETURN_IF_ERROR(checkFences(prepared.model).status());
    return checkBuffers(prepared.model);
}

}  // namespace
}  // namespace halyard::selftest

int main(int argc, char** argv) {
    const std::string_view wire = argc == 3 ? argv[1] : "";
    if (wire != "hidl" && wire != "aidl") {
        std::fprintf(stderr, "Usage: fence_selftest hidl|aidl INSTANCE\n");
        return 2;
    }
    alarm(120);
    halyard::setLogThreshold(halyard::LogLevel::ERROR);
    const halyard::Result<bool> checked = halyard::selftest::check(
            {.wire = wire == "hidl" ? halyard::runner::Wire::HIDL : halyard::runner::Wire::AIDL,
             .instance = argv[2]});
    if (!checked.ok()) {
        std::fprintf(stderr, "fence_selftest: %s\n", checked.status().toString().c_str());
        return 2;
    }
    return halyard::hal::selftest::allHold() ? 0 : 1;
}
