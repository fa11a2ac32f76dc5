// SPDX-License-Identifier: Apache-2.0
//
// What a case is run on: the driver in this process, or a service. All of it happens on one thread,
// but for the executions of models that an in-process target has prepared.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver/model/codes.h"
#include "driver/model/model.h"
#include "driver/model/request.h"
#include "driver/model/versions.h"
#include "hal/memory/shared_memory.h"

namespace halyard::runner {

// How a call to the target ended.
struct Outcome {
    driver::ErrorStatus status = driver::ErrorStatus::NONE;
    std::string message;      // for people; empty if the call went well
    bool targetDied = false;  // the service's process is gone

    bool ok() const { return status == driver::ErrorStatus::NONE && !targetDied; }
};

// `value` means something if the outcome is ok, or where a function says so.
template <typename T>
struct Answer {
    Outcome outcome;
    T value = {};
};

// A model or a request whose pools are shared memory that can be sent to another process. `pools`
// are the same as those of `model` or `request`, with their handles.
struct TargetModel {
    driver::Model model;
    std::vector<hal::ExportedMemory> pools;
};
struct TargetRequest {
    driver::Request request;
    std::vector<hal::ExportedMemory> pools;
};

struct PrepareSettings {
    driver::ExecutionPreference preference = driver::ExecutionPreference::FAST_SINGLE_ANSWER;
    driver::Priority priority = driver::Priority::MEDIUM;
    // Whose model it is to an in-process target: 0, this process's; else that of a process of this
    // number, which has an account of its own.
    int32_t process = 0;
};

struct ExecuteSettings {
    bool synchronous = false;  // where the version has a synchronous call
    bool measureTiming = false;
};

struct Execution {
    std::vector<driver::OutputShape> outputShapes;  // empty before HAL 1.2
    driver::Timing timing;
};

// What a node took; as the message of that name.
struct ProfiledNode {
    std::vector<uint32_t> operations;
    std::string label;
    std::string kind;
    std::string type;
    std::string backend;
    std::string kernel;
    size_t piece = 0;
    size_t nodes = 1;
    uint64_t medianNanoseconds = 0;
    uint64_t medianDeviceNanoseconds = 0;
    uint64_t bytes = 0;
    uint64_t multiplyAdds = 0;
};

class PreparedTarget {
  public:
    virtual ~PreparedTarget() = default;
    // The shapes are also there if an output buffer was too small.
    virtual Answer<Execution> execute(const TargetRequest& request,
                                      const ExecuteSettings& settings) = 0;
    // Starts an execution of which nobody will hear; for a client that is about to die.
    virtual void startAndForget(const TargetRequest& request) = 0;
    // Executes so many times, with the time of each node. A service gives none: INVALID_ARGUMENT.
    virtual Answer<std::vector<ProfiledNode>> profile(const TargetRequest& request,
                                                      const ExecuteSettings& settings,
                                                      uint32_t runs) {
        static_cast<void>(request), static_cast<void>(settings), static_cast<void>(runs);
        return {.outcome = {.status = driver::ErrorStatus::INVALID_ARGUMENT,
                            .message = "only an in-process target tells what each node takes"}};
    }
    // What driver::PreparedModel::report() says; empty if the target does not tell.
    virtual std::string report() = 0;
};

class Target {
  public:
    virtual ~Target() = default;
    // The version that models are sent through.
    virtual driver::HalVersion version() const = 0;
    // Of the driver; empty where the version has no such call.
    virtual std::string versionString() = 0;
    virtual Answer<std::vector<bool>> supportedOperations(const TargetModel& model) = 0;
    virtual Answer<std::unique_ptr<PreparedTarget>> prepare(const TargetModel& model,
                                                            const PrepareSettings& settings) = 0;
    // Asks it: false if the service's process is gone.
    virtual bool isAlive() = 0;
    // The most memory that the process with the driver has held; 0: unknown.
    virtual uint64_t peakRssBytes() = 0;
};

}  // namespace halyard::runner
