// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/model.h"

#include <array>

#include "importers/tflite/operators.h"

namespace halyard::tflite {
namespace {

struct TypeEntry {
    std::string_view name;
    size_t bits = 0;
};
constexpr std::array<TypeEntry, 24> kTypes = {
        {{"NONE", 0},     {"FLOAT32", 32}, {"INT32", 32},       {"UINT8", 8},      {"INT64", 64},
         {"STRING", 0},   {"BOOL", 8},     {"INT16", 16},       {"COMPLEX64", 64}, {"INT8", 8},
         {"FLOAT16", 16}, {"FLOAT64", 64}, {"COMPLEX128", 128}, {"UINT64", 64},    {"RESOURCE", 0},
         {"VARIANT", 0},  {"UINT32", 32},  {"UINT16", 16},      {"INT4", 4},       {"BFLOAT16", 16},
         {"INT2", 2},     {"UINT4", 4},    {"FLOAT8E4M3FN", 8}, {"FLOAT8E5M2", 8}}};

Status checkTensors(const Subgraph& graph, const std::vector<int32_t>& tensors, bool mayBeOmitted,
                    std::string_view what) {
    for (const int32_t tensor : tensors) {
        if (tensor == kOmitted && mayBeOmitted) {
            continue;
        }
        if (tensor < 0 || static_cast<size_t>(tensor) >= graph.tensors.size()) {
            return invalidArgument(std::string(what) + " name tensor " + std::to_string(tensor) +
                                   ", and there are " + std::to_string(graph.tensors.size()));
        }
    }
    return {};
}

Status checkSubgraph(const Subgraph& graph) {
    HALYARD_RETURN_IF_ERROR(checkTensors(graph, graph.inputs, false, "the inputs"));
    HALYARD_RETURN_IF_ERROR(checkTensors(graph, graph.outputs, false, "the outputs"));
    for (size_t i = 0; i < graph.operators.size(); ++i) {
        const Operator& each = graph.operators[i];
        const std::string label = graph.label(i);
        HALYARD_RETURN_IF_ERROR(checkTensors(graph, each.inputs, true, "the inputs of " + label));
        HALYARD_RETURN_IF_ERROR(checkTensors(graph, each.outputs, true, "the outputs of " + label));
        HALYARD_RETURN_IF_ERROR(
                checkTensors(graph, each.intermediates, true, "the intermediates of " + label));
        const OperatorEntry* const entry = findOperator(each.code);
        if (each.unreadable.empty() && entry != nullptr &&
            entry->fields.size() != each.options.size()) {
            return invalidArgument(label + " has " + std::to_string(each.options.size()) +
                                   " options, and " + std::to_string(entry->fields.size()) +
                                   " are known");
        }
    }
    return {};
}

// By the schema's number.
constexpr std::array<ElementType, 23> kTypesOfFiles = {
        ElementType::FLOAT32,      ElementType::FLOAT16,   ElementType::INT32,
        ElementType::UINT8,        ElementType::INT64,     ElementType::STRING,
        ElementType::BOOL,         ElementType::INT16,     ElementType::COMPLEX64,
        ElementType::INT8,         ElementType::FLOAT64,   ElementType::COMPLEX128,
        ElementType::UINT64,       ElementType::RESOURCE,  ElementType::VARIANT,
        ElementType::UINT32,       ElementType::UINT16,    ElementType::INT4,
        ElementType::BFLOAT16,     ElementType::INT2,      ElementType::UINT4,
        ElementType::FLOAT8E4M3FN, ElementType::FLOAT8E5M2};

}  // namespace

std::string toString(ElementType type) {
    const auto index = static_cast<size_t>(type);
    return index < kTypes.size() ? std::string(kTypes[index].name)
                                 : "type " + std::to_string(index);
}

Result<ElementType> elementTypeOfFile(int64_t number) {
    if (number < 0 || static_cast<size_t>(number) >= kTypesOfFiles.size()) {
        return unsupported("its element type is number " + std::to_string(number));
    }
    return kTypesOfFiles[static_cast<size_t>(number)];
}

Result<int64_t> enumOfFile(OptionKind kind, int64_t number) {
    switch (kind) {
        case OptionKind::PADDING:
        case OptionKind::MIRROR_MODE:
            return number + 1;
        case OptionKind::TENSOR_TYPE: {
            HALYARD_ASSIGN_OR_RETURN(const ElementType type, elementTypeOfFile(number));
            return static_cast<int64_t>(type);
        }
        default:
            return number;
    }
}

size_t bitsOf(ElementType type) {
    const auto index = static_cast<size_t>(type);
    return index < kTypes.size() ? kTypes[index].bits : 0;
}

std::string Subgraph::label(size_t index) const {
    const Operator& each = operators[index];
    const bool isCustom = each.code == static_cast<int32_t>(OperatorCode::CUSTOM);
    return "operator " + std::to_string(index) + " (" +
           (isCustom ? each.customName : nameOfOperator(each.code)) + ")";
}

Status Model::check() const {
    if (subgraphs.empty()) {
        return invalidArgument("the model has no subgraph");
    }
    for (size_t i = 0; i < subgraphs.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(
                checkSubgraph(subgraphs[i]).withContext("subgraph " + std::to_string(i)));
    }
    return {};
}

void Model::densify() {
    for (Subgraph& subgraph : subgraphs) {
        for (const Operator& each : subgraph.operators) {
            if (each.code != static_cast<int32_t>(OperatorCode::DENSIFY) ||
                each.inputs.size() != 1 || each.outputs.size() != 1 || each.inputs[0] == kOmitted) {
                continue;
            }
            const Tensor& from = subgraph.tensors[static_cast<size_t>(each.inputs[0])];
            Tensor& to = subgraph.tensors[static_cast<size_t>(each.outputs[0])];
            if (from.isConstant() && !to.isConstant() && !to.isVariable && from.type == to.type &&
                from.shape == to.shape) {
                to.constant = from.constant;
                to.sparsity = from.sparsity;
                to.quantization = from.quantization;
                to.unreadable = from.unreadable;
            }
        }
    }
}

}  // namespace halyard::tflite
