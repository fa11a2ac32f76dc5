// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/epilogue.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <variant>

#include "engine/backends/gpu/kernels/elementwise.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {

namespace {

// Whether elements stay where they are, as a tensor of another shape.
bool isOnlyNamed(const Node& node) {
    switch (node.kind()) {
        case NodeKind::Reshape:
        case NodeKind::Squeeze:
        case NodeKind::ExpandDims:
            return true;
        default:
            return false;
    }
}

// Functions of each element and one of another tensor that an epilogue can compute.
bool isArithmetic(Binary::Function function) {
    switch (function) {
        case Binary::Function::ADD:
        case Binary::Function::SUB:
        case Binary::Function::MUL:
        case Binary::Function::DIV:
        case Binary::Function::MAXIMUM:
        case Binary::Function::MINIMUM:
        case Binary::Function::PRELU:
            return true;
        default:
            return false;
    }
}

// Whether a tensor is broadcast to `result` by repeating all of it, element after element.
bool repeats(const Shape& operand, const Shape& result) {
    if (!operand.isFullyKnown() || !result.hasKnownRank() || operand.rank() > result.rank()) {
        return false;
    }
    size_t alike = 0;
    const auto behind = [&](const Shape& shape) { return shape[shape.rank() - 1 - alike]; };
    while (alike < operand.rank() && behind(operand) == behind(result)) {
        ++alike;
    }
    return std::ranges::all_of(operand.extents().first(operand.rank() - alike),
                               [](int32_t extent) { return extent == 1; });
}

}  // namespace

bool isEpilogueNode(const Graph& graph, const Node& node, TensorId result) {
    const TensorType& from = graph.tensor(result).type;
    const TensorType& to = graph.tensor(node.outputs[0]).type;
    if (from.type != to.type) {
        return false;
    }
    if (isOnlyNamed(node)) {
        return node.inputs[0] == result && from.quantization == to.quantization;
    }
    if (std::holds_alternative<Activate>(node.descriptor)) {
        return true;
    }
    const auto* binary = std::get_if<Binary>(&node.descriptor);
    if (binary == nullptr || !isArithmetic(binary->function) || from.type == DataType::INT32) {
        return false;
    }
    const TensorId other = node.inputs[node.inputs[0] == result ? 1 : 0];
    return other != result && repeats(graph.tensor(other).type.shape, from.shape);
}

Epilogue epilogueOf(StepPlan& step, const EpilogueNodes& nodes) {
    Epilogue epilogue;
    std::string parameters;
    std::string statements;
    for (size_t which = nodes.first; which < nodes.end; ++which) {
        const std::string number = std::to_string(which);
        const Node& node = step.node(which);
        if (isOnlyNamed(node)) {
            continue;
        }
        const auto* const activate = std::get_if<Activate>(&node.descriptor);
        const Map map = activate != nullptr
                                ? mapOf(*activate, step, which)
                                : mapOf(*std::get_if<Binary>(&node.descriptor), step, which);
        // The node's names are those of a map's body.
        statements += "{ const MapNumbers n = n" + number + "; VALUE(R) r; ";
        constexpr std::array<std::string_view, 2> kNames = {"a", "b"};
        const LocalId result = step.out(0, which - 1).local;
        for (size_t i = 0; i < map.inputs.size(); ++i) {
            const MapOperand& input = map.inputs[i];
            std::string value = "NARROW(" + std::string(input.storage) + ", v)";
            if (input.operand.local != result) {
                const std::string name = "e" + number;
                parameters += ", IN(" + name + ")";
                epilogue.arguments.emplace_back(input.operand);
                statements += "BIND_IN(R, " + name + "); ";
                const TensorType& type = step.input(i, which);
                std::string at = "(at)";
                if (countOf(type.shape) != countOf(step.output(0, which).shape)) {
                    const std::string count = "c" + number;
                    parameters += ", const int " + count;
                    epilogue.arguments.emplace_back(
                            byValue(static_cast<int32_t>(countOf(type.shape))));
                    at += " % " + count;
                }
                value = "LOAD(R, " + name + ", " + at + ")";
            }
            statements.append("const VALUE(R) ").append(kNames[i]).append(" = ");
            statements += value + "; ";
        }
        if (map.table.has_value()) {
            const std::string name = "t" + number;
            parameters += ", IN(" + name + ")";
            epilogue.arguments.emplace_back(*map.table);
            statements +=
                    "BIND_IN(U8, " + name + "); const __global uchar* const table = " + name + "; ";
        }
        parameters += ", const MapNumbers n" + number;
        epilogue.arguments.emplace_back(byValue(map.numbers));
        statements += map.body + " v = NARROW(R, r); } ";
    }
    if (!statements.empty()) {
        const std::string name(nodes.name);
        epilogue.defines = "#define " + name + "_PARAMETERS " + parameters + "\n#define " + name +
                           "(v, at) " + statements + "\n";
    }
    return epilogue;
}

}  // namespace halyard::engine::gpu
