// SPDX-License-Identifier: Apache-2.0
//
// TFLite models as nobody would write them. Bytes that begin as a .tflite file are read as one;
// others are decisions by which a model is made: a few operators of any kind, with tensors of any
// type and shape, constants and options at random. Every model is refused as what it is, operator
// by operator, or becomes a graph that compiles and runs, or is refused for what its values are, in
// time and within its memory.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/compile/compile.h"
#include "importers/tflite/flatbuffer.h"
#include "importers/tflite/importer.h"
#include "importers/tflite/operators.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/processor_time.h"
#include "tests/fuzz/target.h"

namespace halyard::fuzz {
namespace {

constexpr std::chrono::seconds kPatience{5};  // of processor time
constexpr std::chrono::milliseconds kDeadline{50};
constexpr size_t kMemory = size_t{64} << 20;
constexpr size_t kMostOperators = 4;
constexpr size_t kMostTensors = 24;
constexpr size_t kMostElements = 4096;
constexpr std::string_view kIdentifier = "TFL3";

using tflite::ElementType;

// ---- Models from decisions ----------------------------------------------------------------------

constexpr ElementType kTypes[] = {ElementType::FLOAT32,  ElementType::INT32,   ElementType::INT8,
                                  ElementType::UINT8,    ElementType::FLOAT16, ElementType::INT16,
                                  ElementType::INT64,    ElementType::BOOL,    ElementType::INT4,
                                  ElementType::BFLOAT16, ElementType::STRING};
constexpr int32_t kExtents[] = {2, 1, 3, 4, 8, 0, 5, 16, -1, 1000, 0x7fffffff, -7};
constexpr int32_t kIntegers[] = {1, 0, 2, 3, 4, -1, -2, 5, 8, 100, 0x7fffffff, -0x7fffffff - 1};
constexpr float kReals[] = {1.0F, 0.0F, 0.5F, 0.0078125F, -1.0F, 1e30F, 1e-30F};

size_t elementCount(const tflite::Tensor& tensor) {
    size_t count = 1;
    for (const int32_t extent : tensor.shape) {
        if (extent < 0 || (extent > 0 && count > kMostElements / static_cast<size_t>(extent))) {
            return kMostElements;
        }
        count *= static_cast<size_t>(extent);
    }
    return count;
}

std::vector<int32_t> shape(Choices& choices) {
    std::vector<int32_t> extents(choices.oneIn(20) ? 17 : choices.below(6));
    for (int32_t& extent : extents) {
        extent = choices.oneIn(8) ? choices.of(kExtents) : kExtents[choices.below(5)];
    }
    return extents;
}

// Small integers more often than anything else: axes, extents and indices have these.
void fill(std::vector<uint8_t>& bytes, ElementType type, Choices& choices) {
    const size_t width = std::max<size_t>(tflite::bitsOf(type) / 8, 1);
    for (size_t i = 0; i + width <= bytes.size(); i += width) {
        if (type == ElementType::INT32 || type == ElementType::INT64) {
            const int64_t value =
                    choices.oneIn(6) ? choices.of(kIntegers) : kIntegers[choices.below(5)];
            std::memcpy(bytes.data() + i, &value, width);
        } else {
            const auto value = choices.number<uint8_t>();
            bytes[i] = type == ElementType::BOOL && value != 255 ? value & 1U : value;
        }
    }
}

int32_t small(Choices& choices) {
    return static_cast<int32_t>(choices.below(5)) - (choices.oneIn(8) ? 1 : 0);
}

std::shared_ptr<const tflite::Sparsity> sparsity(const tflite::Tensor& tensor, Choices& choices) {
    tflite::Sparsity found;
    found.blocks.assign(choices.oneIn(3) ? choices.below(3) : 0, small(choices));
    const size_t levels = tensor.shape.size() + found.blocks.size() + (choices.oneIn(8) ? 1 : 0);
    for (size_t i = 0; i < levels; ++i) {
        found.order.push_back(choices.oneIn(8) ? small(choices) : static_cast<int32_t>(i));
        tflite::Sparsity::Level& level = found.levels.emplace_back();
        level.isDense = !choices.oneIn(3);
        level.extent = choices.oneIn(4) || i >= tensor.shape.size() ? choices.of(kExtents)
                                                                    : tensor.shape[i];
        for (size_t entries = level.isDense ? 0 : choices.below(8); entries > 0; --entries) {
            level.segments.push_back(small(choices));
            level.indices.push_back(small(choices));
        }
    }
    return std::make_shared<const tflite::Sparsity>(std::move(found));
}

tflite::Tensor tensor(Choices& choices) {
    tflite::Tensor tensor;
    tensor.type = choices.oneIn(3) ? choices.of(kTypes) : kTypes[choices.below(4)];
    tensor.shape = shape(choices);
    tensor.name = choices.oneIn(4) ? "" : "tensor";
    if (!choices.oneIn(3)) {
        const size_t scales = choices.oneIn(3) ? choices.below(9) : 1;
        for (size_t i = 0; i < scales; ++i) {
            tensor.quantization.scales.push_back(choices.oneIn(8) ? choices.of(kReals)
                                                                  : kReals[2 + choices.below(2)]);
        }
        tensor.quantization.zeroPoints.assign(choices.oneIn(4) ? choices.below(4) : scales,
                                              choices.oneIn(4) ? choices.of(kIntegers) : 0);
        tensor.quantization.axis = choices.oneIn(3) ? choices.of(kIntegers) : 0;
    }
    tensor.isVariable = choices.oneIn(8);
    if (choices.oneIn(2)) {
        size_t size = (elementCount(tensor) * tflite::bitsOf(tensor.type) + 7) / 8;
        size += choices.oneIn(30) ? 1 : 0;
        std::vector<uint8_t> bytes(size);
        fill(bytes, tensor.type, choices);
        const auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
        tensor.constant = {.owner = owner, .bytes = *owner};
        if (choices.oneIn(12)) {
            tensor.sparsity = sparsity(tensor, choices);
        }
    }
    return tensor;
}

tflite::OptionValue option(const tflite::OptionField& field, Choices& choices) {
    tflite::OptionValue value = tflite::defaultOf(field);
    if (choices.oneIn(4)) {
        value.integer = choices.of(kIntegers);
        value.real = choices.of(kReals);
        value.list.assign(choices.below(9), choices.of(kIntegers));
        return value;
    }
    switch (field.kind) {
        case tflite::OptionKind::PADDING:
        case tflite::OptionKind::MIRROR_MODE:
            value.integer = 1 + choices.oneIn(2);
            break;
        case tflite::OptionKind::ACTIVATION:
            value.integer = choices.below(7);
            break;
        case tflite::OptionKind::BOOL:
            value.integer = choices.oneIn(2);
            break;
        case tflite::OptionKind::INT32:
            value.integer = kIntegers[choices.below(4)];
            break;
        case tflite::OptionKind::FLOAT:
            value.real = kReals[choices.below(4)];
            break;
        default:
            break;
    }
    return value;
}

int32_t anyTensor(const tflite::Subgraph& graph, Choices& choices) {
    return choices.oneIn(16) ? tflite::kOmitted
                             : static_cast<int32_t>(choices.below(graph.tensors.size()));
}

void addOperator(tflite::Subgraph& graph, Choices& choices) {
    const tflite::OperatorEntry& entry = choices.of(tflite::kOperators);
    tflite::Operator op;
    op.code = entry.code;
    op.customName = choices.oneIn(2) ? "TFLite_Detection_PostProcess" : "other";
    const size_t inputs = 1 + choices.below(choices.oneIn(4) ? 24 : 3);
    for (size_t i = 0; i < inputs; ++i) {
        op.inputs.push_back(anyTensor(graph, choices));
    }
    const size_t outputs = 1 + (choices.oneIn(4) ? choices.below(4) : 0);
    for (size_t i = 0; i < outputs; ++i) {
        graph.tensors.push_back(tensor(choices));
        graph.tensors.back().constant = {};
        op.outputs.push_back(static_cast<int32_t>(graph.tensors.size() - 1));
    }
    op.intermediates.assign(choices.oneIn(8) ? choices.below(6) : 0, 0);
    for (const tflite::OptionField& field : entry.fields) {
        op.options.push_back(option(field, choices));
    }
    op.customOptions = choices.take(choices.oneIn(4) ? 64 : 0);
    graph.outputs = op.outputs;
    graph.operators.push_back(std::move(op));
}

tflite::Model modelOf(Choices& choices) {
    tflite::Model model;
    model.subgraphs.resize(1 + choices.below(3));
    for (tflite::Subgraph& graph : model.subgraphs) {
        const size_t tensors = 1 + choices.below(kMostTensors);
        for (size_t i = 0; i < tensors; ++i) {
            graph.tensors.push_back(tensor(choices));
        }
        const size_t inputs = choices.below(4);
        for (size_t i = 0; i < inputs; ++i) {
            graph.inputs.push_back(static_cast<int32_t>(choices.below(tensors)));
        }
        const size_t operators = 1 + choices.below(kMostOperators);
        for (size_t i = 0; i < operators; ++i) {
            addOperator(graph, choices);
        }
    }
    if (model.check().ok()) {
        model.densify();
    }
    return model;
}

// ---- What becomes of them -----------------------------------------------------------------------

void requireNoDefect(const Status& status, std::string_view claim) {
    require(status.code() != StatusCode::INTERNAL, claim, status.toString());
}

void runOnce(const std::shared_ptr<const engine::Program>& program) {
    Result<engine::Execution> execution = engine::Execution::create(program);
    if (!execution.ok()) {
        requireNoDefect(execution.status(), "what compiles can be run");
        return;
    }
    std::vector<std::vector<uint8_t>> memory;
    std::vector<engine::InputBinding> inputs;
    const engine::Graph& graph = program->graph();
    for (const engine::TensorId id : graph.inputs()) {
        engine::TensorType type = graph.tensor(id).type;
        for (size_t axis = 0; axis < type.shape.rank(); ++axis) {
            type.shape[axis] = type.shape[axis] < 0 ? 2 : type.shape[axis];
        }
        const Result<size_t> size = type.byteSize();
        if (!size.ok() || *size > kMemory) {
            return;
        }
        memory.emplace_back(*size);
        inputs.push_back({.bytes = memory.back(), .shape = type.shape});
    }
    std::vector<std::vector<uint8_t>> results(graph.outputs().size());
    std::vector<engine::OutputBinding> outputs;
    for (std::vector<uint8_t>& result : results) {
        result.resize(kMostElements);
        outputs.push_back({.bytes = result});
    }
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    requireNoDefect(execution->run(inputs, outputs, {.deadline = deadline}, nullptr),
                    "an imported graph fails on what it is given");
}

void importAll(const tflite::Model& model, size_t subgraph, const std::shared_ptr<Budget>& memory) {
    const Checkpoint checkpoint(std::chrono::steady_clock::now() + 4 * kDeadline);
    const Result<tflite::Importer> importer =
            tflite::Importer::create(model, subgraph, {.memory = memory, .checkpoint = checkpoint});
    requireNoDefect(importer.status(), "a model is refused for what it is");
    if (!importer.ok()) {
        return;
    }
    std::vector<uint32_t> taken;
    std::vector<int32_t> outputs;
    for (size_t op = 0; op < importer->operatorCount(); ++op) {
        if (importer->reason(op).empty()) {
            const std::vector<int32_t>& made = model.subgraphs[subgraph].operators[op].outputs;
            taken.push_back(static_cast<uint32_t>(op));
            std::ranges::copy_if(made, std::back_inserter(outputs),
                                 [](int32_t tensor) { return tensor >= 0; });
        }
    }
    Result<tflite::ImportedGraph> imported = importer->build(taken, {}, outputs);
    requireNoDefect(imported.status(), "operators that are taken make a graph");
    if (!imported.ok()) {
        return;
    }
    static const auto& ref = *engine::makeCpuRef().release();
    const Result<std::shared_ptr<const engine::Program>> program =
            engine::compile(std::move(imported->graph), {&ref},
                            {.build = {.memory = memory, .checkpoint = checkpoint}});
    requireNoDefect(program.status(), "an imported graph compiles");
    // What is taken one by one and not as a whole was not examined.
    require(program.ok() || program.status().code() != StatusCode::INVALID_ARGUMENT,
            "an imported graph breaks no rule", program.status().toString());
    if (program.ok()) {
        runOnce(*program);
    }
}

}  // namespace

void run(std::span<const uint8_t> bytes) {
    const std::chrono::nanoseconds before = processorTime();
    const auto memory = std::make_shared<Budget>(kMemory);
    {
        tflite::Model model;
        const bool isFile = bytes.size() > 8 &&
                            std::ranges::equal(bytes.subspan(4, kIdentifier.size()), kIdentifier);
        if (isFile) {
            const auto owner = std::make_shared<const uint8_t>();
            Result<tflite::Model> read = tflite::readFlatbuffer(bytes, owner);
            requireNoDefect(read.status(), "a file is refused for what it is");
            if (!read.ok()) {
                return;
            }
            model = *std::move(read);
        } else {
            Choices choices(bytes);
            model = modelOf(choices);
        }
        for (size_t i = 0; i < model.subgraphs.size(); ++i) {
            importAll(model, i, memory);
        }
    }
    require(processorTime() - before < kPatience, "a model is done with in time");
    require(memory->reserved() == 0, "no memory stays taken", std::to_string(memory->reserved()));
}

}  // namespace halyard::fuzz
