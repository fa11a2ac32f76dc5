// SPDX-License-Identifier: Apache-2.0

#include "library/program.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/compile/compile.h"
#include "library/answer.h"
#include "library/graph_handle.h"
#include "library/shapes.h"

namespace halyard::library {
namespace {

using engine::Graph;
using engine::NodePlacement;
using engine::Tensor;
using engine::TensorId;

// "input 2", of so many.
Status checkIndex(const char* what, size_t index, size_t count) {
    return index < count ? Status()
                         : invalidArgument("there is no " + std::string(what) + " " +
                                           std::to_string(index) + "; there are " +
                                           std::to_string(count));
}

halyard_tensor_info infoOf(const Tensor& tensor) {
    const engine::TensorType& type = tensor.type;
    const Result<size_t> size = type.byteSize();
    return {.struct_size = sizeof(halyard_tensor_info),
            .zero_point = type.quantization.zeroPoint,
            .name = tensor.name.c_str(),
            .type = toString(type.type).data(),  // a literal's, which ends with a zero
            .shape = shapeOf(type.shape),
            .scale = type.quantization.scale,
            .alignment = static_cast<uint32_t>(elementSize(type.type)),
            .size = size.ok() ? *size : 0};
}

Status tell(const halyard_program* program, bool ofInputs, size_t index,
            halyard_tensor_info* info) {
    HALYARD_RETURN_IF_ERROR(present(program, "program"));
    const Graph& graph = program->shared->program->graph();
    const std::span<const TensorId> tensors = ofInputs ? graph.inputs() : graph.outputs();
    HALYARD_RETURN_IF_ERROR(checkIndex(ofInputs ? "input" : "output", index, tensors.size()));
    return fillStruct(infoOf(graph.tensor(tensors[index])), info, "info");
}

// The name of the backend whose memory that is; it lives as long as the runtime.
const char* backendOf(const Runtime& runtime, const engine::DeviceMemory* memory) {
    for (size_t i = 0; memory != nullptr && i < runtime.list.size(); ++i) {
        if (runtime.list[i]->memory() == memory) {
            return runtime.names[i].c_str();
        }
    }
    return "";
}

Status tellMemory(const halyard_program* program, bool ofInputs, size_t index,
                  halyard_memory_requirements* requirements) {
    HALYARD_RETURN_IF_ERROR(present(program, "program"));
    const engine::Program& compiled = *program->shared->program;
    const Graph& graph = compiled.graph();
    HALYARD_RETURN_IF_ERROR(checkIndex(ofInputs ? "input" : "output", index,
                                       ofInputs ? graph.inputs().size() : graph.outputs().size()));
    const engine::MemoryRequirements found =
            ofInputs ? compiled.inputMemory(index) : compiled.outputMemory(index);
    uint32_t homes = 0;
    homes |= found.isFreeOnHost ? HALYARD_HOME_POINTER : 0;
    homes |= found.isFreeWhereShared ? HALYARD_HOME_SHARED : 0;
    homes |= found.device != nullptr ? HALYARD_HOME_DEVICE : 0;
    return fillStruct({.struct_size = sizeof *requirements,
                       .homes = homes,
                       .alignment = found.alignment,
                       .padding = found.padding,
                       .device = backendOf(*program->shared->runtime, found.device),
                       .device_alignment = found.deviceAlignment},
                      requirements, "requirements");
}

Status find(const halyard_program* program, bool ofInputs, const char* name, size_t* index) {
    HALYARD_RETURN_IF_ERROR(present(program, "program"));
    HALYARD_RETURN_IF_ERROR(present(name, "name"));
    HALYARD_RETURN_IF_ERROR(present(index, "index"));
    const Graph& graph = program->shared->program->graph();
    const std::optional<size_t> found = ofInputs ? graph.inputNamed(name) : graph.outputNamed(name);
    if (!found.has_value()) {
        return invalidArgument("the program has no " + std::string(ofInputs ? "input" : "output") +
                               " \"" + name + "\"");
    }
    *index = *found;
    return {};
}

// Empty unless the backend withheld something.
const char* withheldOf(const Runtime& runtime, const std::string& backend) {
    const auto found = runtime.withheld.find(backend);
    return found == runtime.withheld.end() ? "" : found->second.c_str();
}

Result<const NodePlacement*> placementOf(const halyard_program* program, size_t node) {
    HALYARD_RETURN_IF_ERROR(present(program, "program"));
    const std::span<const NodePlacement> placement = program->shared->program->placement();
    HALYARD_RETURN_IF_ERROR(checkIndex("node", node, placement.size()));
    return &placement[node];
}

}  // namespace

Result<halyard_compile_options> readCompileOptions(const halyard_compile_options* from) {
    HALYARD_ASSIGN_OR_RETURN(const halyard_compile_options options,
                             readOptions(from, "the compile options"));
    if (options.precision < HALYARD_FLOAT32 || options.precision > HALYARD_BFLOAT16) {
        return invalidArgument("precision is " + std::to_string(options.precision));
    }
    return options;
}

engine::BuildOptions buildOptions(const Runtime& runtime, const halyard_compile_options& options,
                                  const CallerStop& stop) {
    return {.threads = runtime.threads,
            .memory = runtime.memory,
            .checkpoint = Checkpoint(deadlineIn(options.timeout_ns)).unless(&stop),
            .compile = {.fastMath = options.fast_math != 0}};
}

}  // namespace halyard::library

using namespace halyard;  // NOLINT(google-build-using-namespace)

extern "C" halyard_status halyard_compile(const halyard_runtime* runtime,
                                          const halyard_graph* graph,
                                          const halyard_compile_options* options,
                                          halyard_program** program, halyard_message* message) {
    bool stopped = false;
    const auto compile = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(runtime, "runtime"));
        HALYARD_RETURN_IF_ERROR(library::present(graph, "graph"));
        HALYARD_RETURN_IF_ERROR(library::present(program, "program"));
        HALYARD_ASSIGN_OR_RETURN(const halyard_compile_options read,
                                 library::readCompileOptions(options));
        const LogScope scope(&runtime->shared->lines);
        const library::CallerStop stop(read.should_stop, read.stop_context);
        Result<std::shared_ptr<const engine::Program>> compiled =
                engine::compile(graph->graph, runtime->shared->list,
                                {.optimize = read.keep_graph == 0,
                                 .precision = static_cast<engine::FloatPrecision>(read.precision),
                                 .build = library::buildOptions(*runtime->shared, read, stop)});
        stopped = stop.held();
        HALYARD_RETURN_IF_ERROR(compiled.status());
        *program = new halyard_program{
                .shared = std::make_shared<const library::Compiled>(library::Compiled{
                        .runtime = runtime->shared, .program = *std::move(compiled)})};
        return {};
    };
    const Status status = compile();
    return library::answer(status, message, stopped);
}

extern "C" void halyard_program_release(halyard_program* program) {
    if (program != nullptr) {
        const std::shared_ptr<const library::Runtime> runtime = program->shared->runtime;
        const LogScope scope(&runtime->lines);
        delete program;
    }
}

extern "C" size_t halyard_program_input_count(const halyard_program* program) {
    return program == nullptr ? 0 : program->shared->program->graph().inputs().size();
}

extern "C" size_t halyard_program_output_count(const halyard_program* program) {
    return program == nullptr ? 0 : program->shared->program->graph().outputs().size();
}

extern "C" halyard_status halyard_program_input(const halyard_program* program, size_t index,
                                                halyard_tensor_info* info,
                                                halyard_message* message) {
    return library::answer(library::tell(program, true, index, info), message);
}

extern "C" halyard_status halyard_program_output(const halyard_program* program, size_t index,
                                                 halyard_tensor_info* info,
                                                 halyard_message* message) {
    return library::answer(library::tell(program, false, index, info), message);
}

extern "C" halyard_status halyard_program_input_memory(const halyard_program* program, size_t index,
                                                       halyard_memory_requirements* requirements,
                                                       halyard_message* message) {
    return library::answer(library::tellMemory(program, true, index, requirements), message);
}

extern "C" halyard_status halyard_program_output_memory(const halyard_program* program,
                                                        size_t index,
                                                        halyard_memory_requirements* requirements,
                                                        halyard_message* message) {
    return library::answer(library::tellMemory(program, false, index, requirements), message);
}

extern "C" halyard_status halyard_program_find_input(const halyard_program* program,
                                                     const char* name, size_t* index,
                                                     halyard_message* message) {
    return library::answer(library::find(program, true, name, index), message);
}

extern "C" halyard_status halyard_program_find_output(const halyard_program* program,
                                                      const char* name, size_t* index,
                                                      halyard_message* message) {
    return library::answer(library::find(program, false, name, index), message);
}

extern "C" size_t halyard_program_node_count(const halyard_program* program) {
    return program == nullptr ? 0 : program->shared->program->placement().size();
}

extern "C" halyard_status halyard_program_placement(const halyard_program* program, size_t node,
                                                    halyard_placement* placement,
                                                    halyard_message* message) {
    const auto tell = [&]() -> Status {
        HALYARD_ASSIGN_OR_RETURN(const engine::NodePlacement* const placed,
                                 library::placementOf(program, node));
        return library::fillStruct(
                {.struct_size = sizeof *placement,
                 .partition = static_cast<uint32_t>(placed->partition),
                 .label = placed->label.c_str(),
                 .kind = placed->kind.c_str(),
                 .backend = placed->backend.c_str(),
                 .kernel = placed->kernel.c_str(),
                 .withheld = library::withheldOf(*program->shared->runtime, placed->backend),
                 .refusal_count = placed->refusals.size(),
                 .lost_forms = placed->lostForms.c_str()},
                placement, "placement", offsetof(halyard_placement, lost_forms));
    };
    return library::answer(tell(), message);
}

extern "C" halyard_status halyard_program_refusal(const halyard_program* program, size_t node,
                                                  size_t index, const char** backend,
                                                  const char** reason, halyard_message* message) {
    const auto tell = [&]() -> Status {
        HALYARD_ASSIGN_OR_RETURN(const engine::NodePlacement* const placed,
                                 library::placementOf(program, node));
        HALYARD_RETURN_IF_ERROR(library::checkIndex("refusal", index, placed->refusals.size()));
        HALYARD_RETURN_IF_ERROR(library::present(backend, "backend"));
        HALYARD_RETURN_IF_ERROR(library::present(reason, "reason"));
        *backend = placed->refusals[index].backend.c_str();
        *reason = placed->refusals[index].reason.c_str();
        return {};
    };
    return library::answer(tell(), message);
}
