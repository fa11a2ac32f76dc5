// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/profile.h"
#include "engine/plan/program.h"
#include "library/answer.h"
#include "library/memory.h"
#include "library/program.h"
#include "library/shapes.h"

struct halyard_execution {
    halyard_execution(std::shared_ptr<const halyard::library::Compiled> theShared,
                      halyard::engine::Execution theExecution)
        : shared(std::move(theShared)), execution(std::move(theExecution)) {}

    // One kernel's times, with texts that end with a zero.
    struct Line {
        halyard::engine::NodeProfile profile;
        std::string kernel;
    };

    const std::shared_ptr<const halyard::library::Compiled> shared;
    halyard::engine::Execution execution;
    std::atomic<bool> running = false;
    std::atomic<bool> cancelled = false;
    std::vector<halyard::engine::InputBinding> inputs;
    std::vector<halyard::engine::OutputBinding> outputs;
    std::vector<std::shared_ptr<const halyard::library::Memory>> kept;  // of the run at hand
    halyard::engine::ExecutionReport report;
    std::unique_ptr<halyard::engine::Profile> profile;  // null: no run was profiled
    std::vector<Line> lines;                            // of `profile`, after each run
};

namespace halyard::library {
namespace {

using engine::Graph;

// A failure with "input 2: " before it. Allocates nothing where there is none.
Status inContext(const Status& status, const char* what, size_t index) {
    return status.ok() ? status
                       : status.withContext(std::string(what) + " " + std::to_string(index));
}

// The memory that a run's options bind an input or output to, kept until the run is over; null:
// none.
Result<const Memory*> bound(halyard_execution& execution, const halyard_binding* bindings, size_t i,
                            size_t size) {
    if (bindings == nullptr || bindings[i].memory == nullptr) {
        return nullptr;
    }
    const std::shared_ptr<const Memory>& memory = bindings[i].memory->shared;
    HALYARD_RETURN_IF_ERROR(memory->checkRange(bindings[i].offset, size));
    execution.kept.push_back(memory);
    return memory.get();
}

// Where the bytes of an input or output are: `Binding` is the engine's of the two.
template <typename Binding>
Status placeBinding(halyard_execution& execution, const halyard_binding* bindings, size_t i,
                    const void* data, size_t size, Binding& binding) {
    HALYARD_ASSIGN_OR_RETURN(const Memory* const memory, bound(execution, bindings, i, size));
    if (memory == nullptr) {
        HALYARD_RETURN_IF_ERROR(
                readArray(static_cast<const uint8_t*>(data), size, "data").status());
        binding.bytes = {static_cast<uint8_t*>(const_cast<void*>(data)), size};
    } else if (memory->device == nullptr) {
        binding.bytes = memory->bytes.subspan(bindings[i].offset, size);
    } else {
        binding.device = {
                .memory = memory->device, .place = memory->at(bindings[i].offset), .bytes = size};
    }
    return {};
}

Status bindInputs(halyard_execution& execution, std::span<const halyard_input> inputs,
                  const halyard_binding* bindings) {
    execution.inputs.clear();
    for (size_t i = 0; i < inputs.size(); ++i) {
        const halyard_input& input = inputs[i];
        if (input.shape.rank == -1) {
            execution.inputs.push_back({.bytes = {}, .shape = {}, .present = false});
            continue;
        }
        engine::InputBinding& binding = execution.inputs.emplace_back();
        binding.isPrivate = true;
        const Result<engine::Shape> shape = shapeOf(input.shape);
        HALYARD_RETURN_IF_ERROR(inContext(shape.status(), "input", i));
        binding.shape = *shape;
        HALYARD_RETURN_IF_ERROR(inContext(
                placeBinding(execution, bindings, i, input.data, input.size, binding), "input", i));
    }
    return {};
}

Status bindOutputs(halyard_execution& execution, std::span<halyard_output> outputs,
                   const halyard_binding* bindings) {
    execution.outputs.clear();
    for (size_t i = 0; i < outputs.size(); ++i) {
        const halyard_output& output = outputs[i];
        engine::OutputBinding& binding = execution.outputs.emplace_back();
        binding.present = output.unwanted == 0;
        if (!binding.present) {
            continue;
        }
        HALYARD_RETURN_IF_ERROR(inContext(
                placeBinding(execution, bindings, i, output.data, output.capacity, binding),
                "output", i));
    }
    return {};
}

// The caller's function, which is asked for outputs whose room is too small.
class CallersMemory final : public engine::OutputMemory {
  public:
    CallersMemory(const halyard_run_options& options, std::span<halyard_output> outputs)
        : mFunction(options.allocate_output),
          mContext(options.allocate_context),
          mOutputs(outputs) {}

    Result<std::span<uint8_t>> allocate(size_t output, const engine::Shape& shape, size_t bytes,
                                        size_t alignment) override {
        const halyard_shape plain = shapeOf(shape);
        void* const given = mFunction(mContext, output, &plain, bytes, alignment);
        if (given == nullptr) {
            return Status(StatusCode::RESOURCE_EXHAUSTED, "allocate_output gives no memory for " +
                                                                  shape.toString() + ", " +
                                                                  std::to_string(bytes) + " bytes");
        }
        mOutputs[output].data = given;
        mOutputs[output].capacity = bytes;
        return std::span(static_cast<uint8_t*>(given), bytes);
    }

  private:
    const halyard_allocate_function mFunction;
    void* const mContext;
    const std::span<halyard_output> mOutputs;
};

// Fills in the outputs as the run found them.
void tellOutputs(const halyard_execution& execution, std::span<halyard_output> outputs) {
    const Graph& graph = execution.shared->program->graph();
    for (size_t i = 0; i < outputs.size() && i < execution.report.outputs.size(); ++i) {
        const engine::Shape& shape = execution.report.outputs[i].shape;
        const Result<size_t> size = engine::TensorType{
                .type = graph.tensor(graph.outputs()[i]).type.type,
                .shape = shape,
                .quantization = {}}.byteSize();
        outputs[i].shape = shapeOf(shape);
        outputs[i].size = size.ok() ? *size : 0;
    }
}

// "output 0 takes 40 bytes, [2, 5], and has room for 12": of the first that is too small.
Status tooSmall(const halyard_execution& execution, std::span<const halyard_output> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
        const engine::OutputReport& report = execution.report.outputs[i];
        if (!report.sufficient) {
            return {StatusCode::OUTPUT_TOO_SMALL,
                    "output " + std::to_string(i) + " takes " + std::to_string(outputs[i].size) +
                            " bytes, " + report.shape.toString() + ", and has room for " +
                            std::to_string(outputs[i].capacity)};
        }
    }
    return {StatusCode::OUTPUT_TOO_SMALL, "an output is too small"};
}

// A failed run's entries in the profile are dropped: they are no whole run.
void keepProfile(halyard_execution& execution, bool ok) {
    execution.lines.clear();
    if (!ok) {
        execution.profile = nullptr;
        return;
    }
    execution.profile->endRun();
    for (engine::NodeProfile& node : execution.profile->nodes()) {
        std::string kernel(node.kernel);
        execution.lines.push_back({.profile = std::move(node), .kernel = std::move(kernel)});
    }
}

Status checkCount(const char* what, size_t given, size_t count) {
    return given == count
                   ? Status()
                   : invalidArgument(std::to_string(given) + " " + what +
                                     " are given to a program with " + std::to_string(count));
}

Status run(halyard_execution& execution, std::span<const halyard_input> inputs,
           std::span<halyard_output> outputs, const halyard_run_options& options, bool& stopped) {
    const Graph& graph = execution.shared->program->graph();
    for (halyard_output& output : outputs) {
        output.shape = {.rank = -1, .extents = {}};
        output.size = 0;
    }
    HALYARD_RETURN_IF_ERROR(checkCount("inputs", inputs.size(), graph.inputs().size()));
    HALYARD_RETURN_IF_ERROR(checkCount("outputs", outputs.size(), graph.outputs().size()));
    HALYARD_RETURN_IF_ERROR(bindInputs(execution, inputs, options.input_bindings));
    HALYARD_RETURN_IF_ERROR(bindOutputs(execution, outputs, options.output_bindings));
    const CallerStop stop(options.should_stop, options.stop_context);
    engine::RunOptions wanted = {.deadline = deadlineIn(options.timeout_ns),
                                 .cancelled = &execution.cancelled,
                                 .stop = &stop};
    if (options.loop_timeout_ns != 0) {
        wanted.loopTimeout =
                std::chrono::nanoseconds(std::min(options.loop_timeout_ns, kLongestWait));
    }
    if (options.profile != 0) {
        if (execution.profile == nullptr) {
            execution.profile = std::make_unique<engine::Profile>(execution.shared->program);
        }
        wanted.trace = execution.profile.get();
    }
    CallersMemory memory(options, outputs);
    if (options.allocate_output != nullptr) {
        wanted.outputMemory = &memory;
    }
    const LogScope scope(&execution.shared->runtime->lines);
    const Status status =
            execution.execution.run(execution.inputs, execution.outputs, wanted, &execution.report);
    stopped = stop.held() || execution.cancelled.load(std::memory_order_relaxed);
    if (options.profile != 0) {
        keepProfile(execution, status.ok());
    }
    if (status.ok() || status.code() == StatusCode::OUTPUT_TOO_SMALL) {
        tellOutputs(execution, outputs);
    }
    return status.code() == StatusCode::OUTPUT_TOO_SMALL ? tooSmall(execution, outputs) : status;
}

}  // namespace
}  // namespace halyard::library

using namespace halyard;  // NOLINT(google-build-using-namespace)

extern "C" halyard_status halyard_execution_create(const halyard_program* program,
                                                   halyard_execution** execution,
                                                   halyard_message* message) {
    const auto create = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(program, "program"));
        HALYARD_RETURN_IF_ERROR(library::present(execution, "execution"));
        const LogScope scope(&program->shared->runtime->lines);
        HALYARD_ASSIGN_OR_RETURN(engine::Execution made,
                                 engine::Execution::create(program->shared->program));
        *execution = new halyard_execution(program->shared, std::move(made));
        return {};
    };
    return library::answer(create(), message);
}

extern "C" void halyard_execution_release(halyard_execution* execution) {
    if (execution != nullptr) {
        const std::shared_ptr<const library::Runtime> runtime = execution->shared->runtime;
        const LogScope scope(&runtime->lines);
        delete execution;
    }
}

extern "C" halyard_status halyard_execution_run(halyard_execution* execution,
                                                const halyard_input* inputs, size_t input_count,
                                                halyard_output* outputs, size_t output_count,
                                                const halyard_run_options* options,
                                                halyard_message* message) {
    bool stopped = false;
    const auto run = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(execution, "execution"));
        HALYARD_ASSIGN_OR_RETURN(const std::span<const halyard_input> given,
                                 library::readArray(inputs, input_count, "inputs"));
        HALYARD_RETURN_IF_ERROR(
                library::readArray<halyard_output>(outputs, output_count, "outputs").status());
        HALYARD_ASSIGN_OR_RETURN(
                const halyard_run_options read,
                library::readOptions(options, "the run's options",
                                     offsetof(halyard_run_options, allocate_output)));
        if (execution->running.exchange(true, std::memory_order_acquire)) {
            return invalidArgument("the execution is running already");
        }
        const Status status =
                library::run(*execution, given, {outputs, output_count}, read, stopped);
        execution->kept.clear();
        execution->cancelled.store(false, std::memory_order_relaxed);
        execution->running.store(false, std::memory_order_release);
        return status;
    };
    const Status status = run();
    return library::answer(status, message, stopped);
}

extern "C" void halyard_execution_cancel(halyard_execution* execution) {
    if (execution != nullptr) {
        execution->cancelled.store(true, std::memory_order_relaxed);
    }
}

extern "C" halyard_status halyard_execution_report(const halyard_execution* execution,
                                                   halyard_run_report* report,
                                                   halyard_message* message) {
    const auto tell = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(execution, "execution"));
        const engine::ExecutionReport& last = execution->report;
        return library::fillStruct({.struct_size = sizeof *report,
                                    .reserved = 0,
                                    .compute_ns = static_cast<uint64_t>(last.deviceTime.count()),
                                    .copied_bytes = last.copiedBytes + last.bindingBytes,
                                    .arena_bytes = last.arenaBytes},
                                   report, "report");
    };
    return library::answer(tell(), message);
}

extern "C" size_t halyard_execution_profile_count(const halyard_execution* execution) {
    return execution == nullptr ? 0 : execution->lines.size();
}

extern "C" halyard_status halyard_execution_profile(const halyard_execution* execution,
                                                    size_t index, halyard_node_profile* profile,
                                                    halyard_message* message) {
    const auto tell = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(execution, "execution"));
        if (index >= execution->lines.size()) {
            return invalidArgument("there is no line " + std::to_string(index) +
                                   "; the profile has " + std::to_string(execution->lines.size()));
        }
        const halyard_execution::Line& line = execution->lines[index];
        const engine::NodePlacement& placed =
                execution->shared->program->placement()[line.profile.placement.front()];
        return library::fillStruct(
                {.struct_size = sizeof *profile,
                 .node_count = static_cast<uint32_t>(line.profile.placement.size()),
                 .label = placed.label.c_str(),
                 .kind = placed.kind.c_str(),
                 .backend = placed.backend.c_str(),
                 .kernel = line.kernel.c_str(),
                 .time_ns = static_cast<uint64_t>(line.profile.medianTime.count()),
                 .device_time_ns = static_cast<uint64_t>(line.profile.medianDeviceTime.count()),
                 .bytes = line.profile.bytes,
                 .multiply_adds = line.profile.multiplyAdds},
                profile, "profile");
    };
    return library::answer(tell(), message);
}
