// SPDX-License-Identifier: Apache-2.0
//
// Executions that wait for fences. Where a single device, a service, computes the whole model, it
// is told the kernel's fences and this process waits for none of them; what it can't be told is
// waited for here.

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "hal/descriptors/descriptor_kind.h"
#include "nnapi/execution.h"
#include "nnapi/operand_size.h"
#include "nnapi/timeouts.h"

namespace halyard::nnapi {
namespace {

// Between two questions whether the device of a fence is still there.
constexpr int kBetweenPingsMs = 1000;

bool hasHappened(const FileDescriptor& fence) {
    pollfd polled = {.fd = fence.get(), .events = POLLIN, .revents = 0};
    return poll(&polled, 1, 0) > 0;
}

// Until the device says by its fence that all is over; how, it has to be asked.
Answer waitForDevice(const FileDescriptor& done, const RuntimeDevice& device) {
    if (!done.valid()) {
        return {ANEURALNETWORKS_OP_FAILED, "no descriptor is left for the device's fence"};
    }
    pollfd polled = {.fd = done.get(), .events = POLLIN, .revents = 0};
    while (poll(&polled, 1, kBetweenPingsMs) <= 0) {
        HALYARD_RETURN_UNLESS_OK(answerOf(device.device().ping(), &device.device()));
    }
    return {};
}

}  // namespace

bool ExecutionBuilder::areShared(std::span<const Argument> arguments) {
    return std::ranges::all_of(arguments, [](const Argument& each) {
        return each.place.isOmitted || (each.memory != nullptr && !each.memory->hasPurpose() &&
                                        each.place.memory->handle() != nullptr);
    });
}

Answer ExecutionBuilder::startFenced(std::span<const ANeuralNetworksEvent* const> dependencies,
                                     uint64_t nanoseconds,
                                     std::unique_ptr<ANeuralNetworksEvent>& event) {
    if (nanoseconds > 0) {
        HALYARD_RETURN_UNLESS_OK(checkOnlyDevice("a timeout after fences"));
    }
    for (size_t i = 0; i < mOutputs.size(); ++i) {
        const Argument& output = mOutputs[i];
        const driver::Operand& known = mCompiled->model->outputs[i];
        if (output.isSet && !output.place.isOmitted &&
            !isFullySpecified(output.place.dimensions, isTensor(known, *mCompiled->prefixes))) {
            return badData(nameOf(false, static_cast<int32_t>(i)) +
                           " of a fenced execution has unspecified dimensions");
        }
    }
    HALYARD_RETURN_UNLESS_OK(begin());
    Fenced fenced;
    fenced.deadline = deadlineIn(mTimeout);
    fenced.afterFences =
            nanoseconds > 0 ? driver::Duration(clampedNanoseconds(nanoseconds)) : std::nullopt;
    for (const ANeuralNetworksEvent* each : dependencies) {
        fenced.waitFor.push_back(each->completion());
    }
    const RunStep* const whole = mCompiled->plan.whole();
    FenceNews news = FenceNews::NONE;
    if (whole != nullptr && whole->device->hasFences()) {
        // What this process copies or notes comes after the one fence and before the other.
        fenced.handsOver = areShared(mInputs) &&
                           std::ranges::any_of(fenced.waitFor, &Completion::mayBeSyncFile);
        fenced.givesBack = areShared(mOutputs) && mCompiled->reference == nullptr;
        if (fenced.handsOver || fenced.givesBack) {
            news = whole->device->fenceHabit().offer();
        }
    }
    fenced.device = news == FenceNews::NONE ? nullptr : whole->device;
    if (!fenced.givesBack) {
        news = FenceNews::NONE;  // to the program
    }
    event = std::make_unique<ANeuralNetworksEvent>(
            [this, fenced = std::move(fenced)](Completion& completion) mutable {
                fenced.completion = &completion;
                return runFenced(fenced);
            },
            FileDescriptor(eventfd(0, EFD_CLOEXEC)), news);
    return {};
}

Answer ExecutionBuilder::runFenced(Fenced& fenced) {
    Answer happened;
    for (const std::shared_ptr<Completion>& each : fenced.waitFor) {
        const std::shared_ptr<const FileDescriptor> fence =
                fenced.device != nullptr && fenced.handsOver ? each->syncFile() : nullptr;
        if (fence == nullptr) {
            happened = each->wait();
        } else if (const auto usable = hal::duplicateFence(fence->get()); usable.ok()) {
            fenced.forDevice.push_back(fence);
        } else {
            happened = {ANEURALNETWORKS_OP_FAILED, std::string(usable.status().message())};
        }
        if (!happened.ok()) {
            break;
        }
    }
    if (happened.ok()) {
        Answer answer = runToTheEnd(ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS, nullptr, &fenced);
        if (fenced.device != nullptr && !fenced.isAnswered) {
            fenced.device->fenceHabit().noteNone(false);
        }
        return answer;
    }
    if (fenced.device != nullptr) {
        fenced.device->fenceHabit().noteNone(false);
    }
    Answer failed(ANEURALNETWORKS_OP_FAILED, "what it waits for has failed: " + happened.reason());
    tellDiagnostics(ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS, failed, {});
    return finish(std::move(failed));
}

Answer ExecutionBuilder::runOnDevice(const RunStep& step, Fenced& fenced,
                                     driver::ExecuteOptions options) {
    options.waitFor = fenced.forDevice;
    options.deadline = fenced.deadline;
    options.durationAfterFences = fenced.afterFences;
    const bool waits = !std::ranges::all_of(fenced.forDevice,
                                            [](const auto& fence) { return hasHappened(*fence); });
    const Result<driver::FencedExecution> begun =
            mPrepared != nullptr ? mPrepared->executeFenced(options.waitFor, options.deadline,
                                                            options.durationAfterFences)
                                 : step.prepared->executeFenced(mRequest.request(), options);
    fenced.isAnswered = true;
    if (begun.ok() && begun->done != nullptr) {
        step.device->fenceHabit().noteGiven();
    } else {
        step.device->fenceHabit().noteNone(begun.ok() && waits);
    }
    HALYARD_RETURN_UNLESS_OK(
            answerOf(begun.status(), &step.device->device()).withContext(step.device->name()));
    fenced.completion->setDeviceFence(fenced.givesBack ? begun->done : nullptr);
    if (begun->done != nullptr) {
        HALYARD_RETURN_UNLESS_OK(
                waitForDevice(*begun->done, *step.device).withContext(step.device->name()));
    }
    driver::FencedExecution::Info info = begun->info();
    mResult.status = std::move(info.status);
    mResult.outputShapes.clear();
    mResult.timing = info.launched;
    mResult.timingFenced = info.fenced;
    return answerOf(mResult.status, &step.device->device()).withContext(step.device->name());
}

}  // namespace halyard::nnapi
