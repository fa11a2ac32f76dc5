// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <span>

#include "engine/base/log.h"
#include "nnapi/entry/entry.h"
#include "nnapi/event.h"
#include "nnapi/execution.h"

using namespace halyard::nnapi;  // NOLINT: the C functions are outside of it

namespace {

// Hands an event over where there is one, else null.
Answer handOver(Answer answer, std::unique_ptr<ANeuralNetworksEvent> from,
                ANeuralNetworksEvent** to) {
    *to = answer.ok() ? from.release() : nullptr;
    return answer;
}

}  // namespace

int ANeuralNetworksExecution_create(ANeuralNetworksCompilation* compilation,
                                    ANeuralNetworksExecution** execution) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        *execution = nullptr;
        HALYARD_RETURN_UNLESS_OK(compilation->checkFinished());
        *execution = std::make_unique<ANeuralNetworksExecution>(compilation->compiled()).release();
        return {};
    });
}

void ANeuralNetworksExecution_free(ANeuralNetworksExecution* execution) {
    if (execution != nullptr && execution->isRunning()) {
        log(halyard::LogLevel::ERROR,
            "ANeuralNetworksExecution_free: the execution runs, and is not freed");
        return;
    }
    delete execution;
}

int ANeuralNetworksExecution_setInput(ANeuralNetworksExecution* execution, int32_t index,
                                      const ANeuralNetworksOperandType* type, const void* buffer,
                                      size_t length) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        return execution->setInput(index, type, buffer, length);
    });
}

int ANeuralNetworksExecution_setOutput(ANeuralNetworksExecution* execution, int32_t index,
                                       const ANeuralNetworksOperandType* type, void* buffer,
                                       size_t length) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        return execution->setOutput(index, type, buffer, length);
    });
}

int ANeuralNetworksExecution_setInputFromMemory(ANeuralNetworksExecution* execution, int32_t index,
                                                const ANeuralNetworksOperandType* type,
                                                const ANeuralNetworksMemory* memory, size_t offset,
                                                size_t length) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        HALYARD_RETURN_UNLESS_OK(present(memory, "memory"));
        return execution->setFromMemory(true, index, type, *memory, offset, length);
    });
}

int ANeuralNetworksExecution_setOutputFromMemory(ANeuralNetworksExecution* execution, int32_t index,
                                                 const ANeuralNetworksOperandType* type,
                                                 const ANeuralNetworksMemory* memory, size_t offset,
                                                 size_t length) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        HALYARD_RETURN_UNLESS_OK(present(memory, "memory"));
        return execution->setFromMemory(false, index, type, *memory, offset, length);
    });
}

int ANeuralNetworksExecution_setMeasureTiming(ANeuralNetworksExecution* execution, bool measure) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        return execution->setMeasureTiming(measure);
    });
}

int ANeuralNetworksExecution_setTimeout(ANeuralNetworksExecution* execution, uint64_t duration) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        return execution->setTimeout(duration);
    });
}

int ANeuralNetworksExecution_setLoopTimeout(ANeuralNetworksExecution* execution,
                                            uint64_t duration) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        return execution->setLoopTimeout(duration);
    });
}

int ANeuralNetworksExecution_setReusable(ANeuralNetworksExecution* execution, bool reusable) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        return execution->setReusable(reusable);
    });
}

int ANeuralNetworksExecution_enableInputAndOutputPadding(ANeuralNetworksExecution* execution,
                                                         bool enable) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        return execution->setPadding(enable);
    });
}

int ANeuralNetworksExecution_addExtensionAttribute(ANeuralNetworksExecution* execution,
                                                   const char* extensionName,
                                                   uint16_t attributeCodeWithinExtension,
                                                   const void* data, size_t length) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        HALYARD_RETURN_UNLESS_OK(present(extensionName, "extensionName"));
        if (data == nullptr && length > 0) {
            return unexpectedNull("data");
        }
        return execution->addExtensionAttribute(extensionName, attributeCodeWithinExtension,
                                                {static_cast<const uint8_t*>(data), length});
    });
}

int ANeuralNetworksExecution_compute(ANeuralNetworksExecution* execution) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        return execution->compute(nullptr);
    });
}

int ANeuralNetworksExecution_burstCompute(ANeuralNetworksExecution* execution,
                                          ANeuralNetworksBurst* burst) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        HALYARD_RETURN_UNLESS_OK(present(burst, "burst"));
        return execution->compute(burst);
    });
}

int ANeuralNetworksExecution_startCompute(ANeuralNetworksExecution* execution,
                                          ANeuralNetworksEvent** event) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(event, "event"));
        *event = nullptr;
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        std::unique_ptr<ANeuralNetworksEvent> started;
        const Answer answer = execution->start(started);
        return handOver(answer, std::move(started), event);
    });
}

int ANeuralNetworksExecution_startComputeWithDependencies(
        ANeuralNetworksExecution* execution, const ANeuralNetworksEvent* const* dependencies,
        uint32_t num_dependencies, uint64_t duration, ANeuralNetworksEvent** event) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(event, "event"));
        *event = nullptr;
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        if (num_dependencies > 0) {
            HALYARD_RETURN_UNLESS_OK(present(dependencies, "dependencies"));
        }
        const std::span<const ANeuralNetworksEvent* const> waitFor(dependencies, num_dependencies);
        for (const ANeuralNetworksEvent* each : waitFor) {
            HALYARD_RETURN_UNLESS_OK(present(each, "a dependency"));
        }
        std::unique_ptr<ANeuralNetworksEvent> started;
        const Answer answer = execution->startFenced(waitFor, duration, started);
        return handOver(answer, std::move(started), event);
    });
}

int ANeuralNetworksExecution_getDuration(const ANeuralNetworksExecution* execution,
                                         int32_t durationCode, uint64_t* duration) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        HALYARD_RETURN_UNLESS_OK(present(duration, "duration"));
        return execution->duration(durationCode, *duration);
    });
}

int ANeuralNetworksExecution_getOutputOperandRank(ANeuralNetworksExecution* execution,
                                                  int32_t index, uint32_t* rank) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        HALYARD_RETURN_UNLESS_OK(present(rank, "rank"));
        return execution->outputRank(index, *rank);
    });
}

int ANeuralNetworksExecution_getOutputOperandDimensions(ANeuralNetworksExecution* execution,
                                                        int32_t index, uint32_t* dimensions) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(execution, "execution"));
        HALYARD_RETURN_UNLESS_OK(present(dimensions, "dimensions"));
        return execution->outputDimensions(index, dimensions);
    });
}

int ANeuralNetworksEvent_wait(ANeuralNetworksEvent* event) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(event, "event"));
        return event->completion()->wait();
    });
}

void ANeuralNetworksEvent_free(ANeuralNetworksEvent* event) {
    delete event;
}

int ANeuralNetworksEvent_createFromSyncFenceFd(int sync_fence_fd, ANeuralNetworksEvent** event) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(event, "event"));
        *event = nullptr;
        if (sync_fence_fd <= 0) {
            return badData("descriptor " + std::to_string(sync_fence_fd) + " is no fence");
        }
        halyard::FileDescriptor fence(fcntl(sync_fence_fd, F_DUPFD_CLOEXEC, 0));
        if (!fence.valid()) {
            return badData("descriptor " + std::to_string(sync_fence_fd) + " is not open");
        }
        *event = std::make_unique<ANeuralNetworksEvent>(std::move(fence)).release();
        return {};
    });
}

int ANeuralNetworksEvent_getSyncFenceFd(const ANeuralNetworksEvent* event, int* sync_fence_fd) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(sync_fence_fd, "sync_fence_fd"));
        *sync_fence_fd = -1;
        HALYARD_RETURN_UNLESS_OK(present(event, "event"));
        return event->completion()->duplicateFence(*sync_fence_fd);
    });
}
