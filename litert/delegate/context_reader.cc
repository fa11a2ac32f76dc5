// SPDX-License-Identifier: Apache-2.0

#include "litert/delegate/context_reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "importers/tflite/operators.h"

namespace halyard::litert {
namespace {

using tflite::ElementType;
using tflite::OptionKind;
using tflite::OptionValue;

constexpr size_t kMostTensors = size_t{1} << 24;
constexpr int32_t kMostRank = 64;
constexpr int32_t kMostOperatorCode = 1023;
constexpr int32_t kMostTypes = 64;
constexpr int32_t kMostAllocationTypes = 32;
constexpr size_t kMostOptionBytes = size_t{1} << 30;

Status noContext(const std::string& what) {
    return unsupported("the host's context is not as this interface has it: " + what);
}

// Null is an array of none.
Result<std::span<const int32_t>> entriesOf(const TfLiteIntArray* array, int32_t most,
                                           const char* what) {
    if (array == nullptr) {
        return std::span<const int32_t>();
    }
    if (array->size < 0 || array->size > most) {
        return noContext(std::string(what) + " has " + std::to_string(array->size) + " entries");
    }
    return std::span(array->data, static_cast<size_t>(array->size));
}

Status checkTensor(const TfLiteTensor& tensor, size_t index) {
    const std::string shown = "tensor " + std::to_string(index);
    if (tensor.type < 0 || tensor.type >= kMostTypes) {
        return noContext(shown + " is of type " + std::to_string(tensor.type));
    }
    if (tensor.allocation_type < 0 || tensor.allocation_type >= kMostAllocationTypes) {
        return noContext(shown + " has the allocation type " +
                         std::to_string(tensor.allocation_type));
    }
    HALYARD_ASSIGN_OR_RETURN(const std::span<const int32_t> dims,
                             entriesOf(tensor.dims, kMostRank, (shown + "'s shape").c_str()));
    const bool areExtents = std::ranges::all_of(dims, [](int32_t extent) { return extent >= -1; });
    return areExtents ? Status() : noContext(shown + " has a negative extent");
}

Status checkContext(const TfLiteContext& context) {
    if (context.tensors_size == 0 || context.tensors_size > kMostTensors ||
        context.tensors == nullptr) {
        return noContext("it has " + std::to_string(context.tensors_size) + " tensors");
    }
    if (context.GetExecutionPlan == nullptr || context.GetNodeAndRegistration == nullptr ||
        context.ReplaceNodeSubsetsWithDelegateKernels == nullptr ||
        context.ResizeTensor == nullptr || context.ReportError == nullptr) {
        return noContext("it lacks functions");
    }
    for (size_t i = 0; i < context.tensors_size; ++i) {
        HALYARD_RETURN_IF_ERROR(checkTensor(context.tensors[i], i));
    }
    return {};
}

std::string unreadableBecause(const TfLiteTensor& tensor) {
    const auto type = static_cast<ElementType>(tensor.type);
    if (type == ElementType::STRING || type == ElementType::RESOURCE ||
        type == ElementType::VARIANT) {
        return "it is " + toString(type);
    }
    if (tensor.allocation_type == kTfLiteVariantObject || tensor.allocation_type == kTfLiteNonCpu) {
        return "its elements are not in the host's memory";
    }
    switch (tensor.quantization.type) {
        case kTfLiteNoQuantization:
        case kTfLiteAffineQuantization:
            return {};
        case kTfLiteBlockwiseQuantization:
            return "its quantisation is by blocks";
        case kTfLiteMultiAxisQuantization:
            return "its quantisation is along several axes";
        default:
            return "its quantisation is of kind " + std::to_string(tensor.quantization.type);
    }
}

// Of one scale, or one for each index of the axis, with as many zero points or one for all.
std::string readQuantization(const TfLiteTensor& from, tflite::TensorQuantization& to) {
    const auto* const affine =
            static_cast<const TfLiteAffineQuantization*>(from.quantization.params);
    if (from.quantization.type != kTfLiteAffineQuantization || affine == nullptr ||
        affine->scale == nullptr) {
        if (from.params.scale != 0.0F) {
            to.scales = {from.params.scale};
            to.zeroPoints = {from.params.zero_point};
        }
        return {};
    }
    const int32_t scales = affine->scale->size;
    const int32_t zeroPoints = affine->zero_point == nullptr ? 0 : affine->zero_point->size;
    if (scales < 0 || scales > kMostEntries ||
        (zeroPoints != 0 && zeroPoints != 1 && zeroPoints != scales)) {
        return "its quantisation has " + std::to_string(scales) + " scales and " +
               std::to_string(zeroPoints) + " zero points";
    }
    to.scales.assign(affine->scale->data, affine->scale->data + scales);
    if (zeroPoints > 0) {
        to.zeroPoints.assign(affine->zero_point->data, affine->zero_point->data + zeroPoints);
    }
    to.axis = affine->quantized_dimension;
    return {};
}

// Null where the levels are not as the interface has them.
std::shared_ptr<const tflite::Sparsity> readSparsity(const TfLiteSparsity& from) {
    auto sparsity = std::make_shared<tflite::Sparsity>();
    const auto copy = [](const TfLiteIntArray* array, std::vector<int32_t>& to) {
        const Result<std::span<const int32_t>> entries =
                entriesOf(array, std::numeric_limits<int32_t>::max(), "sparsity");
        if (entries.ok()) {
            to.assign(entries->begin(), entries->end());
        }
        return entries.ok();
    };
    if (from.dim_metadata_size < 0 || from.dim_metadata_size > 2 * kMostRank ||
        (from.dim_metadata == nullptr && from.dim_metadata_size > 0) ||
        !copy(from.traversal_order, sparsity->order) || !copy(from.block_map, sparsity->blocks)) {
        return nullptr;
    }
    for (int32_t i = 0; i < from.dim_metadata_size; ++i) {
        const TfLiteDimensionMetadata& level = from.dim_metadata[i];
        tflite::Sparsity::Level& to = sparsity->levels.emplace_back();
        to.isDense = level.format == kTfLiteDimDense;
        to.extent = level.dense_size;
        if (!to.isDense &&
            (level.format != kTfLiteDimSparseCSR || !copy(level.array_segments, to.segments) ||
             !copy(level.array_indices, to.indices))) {
            return nullptr;
        }
    }
    return sparsity;
}

// ---- Options ------------------------------------------------------------------------------------

// Options that structs have got since, at the end or in what was padding: in an older host other
// bytes lie there, and a model that needs them says so by the operator's version.
struct AppendedOption {
    tflite::OperatorCode code;
    std::string_view name;
    int32_t version;  // from this on it may say something
};
constexpr std::array kAppended = {
        AppendedOption{tflite::OperatorCode::CONV_2D, "quantized_bias_type", 8},
        AppendedOption{tflite::OperatorCode::FULLY_CONNECTED, "quantized_bias_type", 11},
        AppendedOption{tflite::OperatorCode::TRANSPOSE_CONV, "quantized_bias_type", 5},
        AppendedOption{tflite::OperatorCode::STRIDED_SLICE, "offset", 8},
        AppendedOption{tflite::OperatorCode::UNIDIRECTIONAL_SEQUENCE_LSTM,
                       "diagonal_recurrent_tensors", 4},
};

bool isAppended(int32_t code, int32_t version, std::string_view field) {
    return std::ranges::any_of(kAppended, [&](const AppendedOption& each) {
        return static_cast<int32_t>(each.code) == code && each.name == field &&
               version < each.version;
    });
}

template <typename T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// False where a list says that it is longer than it may be.
bool readOption(const tflite::OptionField& field, const std::byte* params, OptionValue& value) {
    const std::byte* const from = params + field.offset;
    switch (field.kind) {
        case OptionKind::FLOAT:
            value.real = load<float>(from);
            return true;
        case OptionKind::INT32S: {
            const auto count = load<int32_t>(params + field.countOffset);
            if (count < 0 || field.countOffset < field.offset ||
                count > (field.countOffset - field.offset) / static_cast<int32_t>(sizeof count)) {
                return false;
            }
            value.list.resize(static_cast<size_t>(count));
            std::memcpy(value.list.data(), from, value.list.size() * sizeof(int32_t));
            return true;
        }
        default:
            value.integer = field.width == 1 ? load<uint8_t>(from) : load<int32_t>(from);
            return true;
    }
}

void readOptions(const TfLiteNode& node, tflite::Operator& op) {
    const tflite::OperatorEntry* const entry = tflite::findOperator(op.code);
    if (entry == nullptr) {
        return;
    }
    const auto* const params = static_cast<const std::byte*>(node.builtin_data);
    for (const tflite::OptionField& field : entry->fields) {
        OptionValue value = defaultOf(field);
        const bool isThere = field.offset >= 0 && !isAppended(op.code, op.version, field.name);
        if (isThere && params == nullptr) {
            op.unreadable = "its options are missing";
        } else if (isThere && !readOption(field, params, value)) {
            op.unreadable = "its option " + std::string(field.name) + " is of no known length";
        }
        op.options.push_back(std::move(value));
    }
}

Result<tflite::Operator> readOperator(const TfLiteNode& node, const TfLiteRegistration& kind) {
    if (kind.builtin_code < 0 || kind.builtin_code > kMostOperatorCode || kind.version < 0) {
        return noContext("there is an operator " + std::to_string(kind.builtin_code) +
                         " of version " + std::to_string(kind.version));
    }
    tflite::Operator op;
    op.code = kind.builtin_code;
    op.version = kind.version;
    const auto copy = [](const TfLiteIntArray* from, std::vector<int32_t>& to) -> Status {
        HALYARD_ASSIGN_OR_RETURN(const std::span<const int32_t> entries,
                                 entriesOf(from, kMostEntries, "a list of an operator"));
        to.assign(entries.begin(), entries.end());
        return {};
    };
    HALYARD_RETURN_IF_ERROR(copy(node.inputs, op.inputs));
    HALYARD_RETURN_IF_ERROR(copy(node.outputs, op.outputs));
    HALYARD_RETURN_IF_ERROR(copy(node.intermediates, op.intermediates));
    if (op.code == static_cast<int32_t>(tflite::OperatorCode::CUSTOM)) {
        op.customName = kind.custom_name == nullptr ? "" : kind.custom_name;
        const auto size = static_cast<size_t>(std::max(node.custom_initial_data_size, 0));
        if (node.custom_initial_data != nullptr && size <= kMostOptionBytes) {
            op.customOptions = {static_cast<const uint8_t*>(node.custom_initial_data), size};
        }
    }
    readOptions(node, op);
    return op;
}

}  // namespace

std::vector<int32_t> shapeOf(const TfLiteTensor& tensor) {
    const Result<std::span<const int32_t>> dims = entriesOf(tensor.dims, kMostRank, "a shape");
    return dims.ok() ? std::vector<int32_t>(dims->begin(), dims->end()) : std::vector<int32_t>();
}

tflite::Tensor readTensor(const TfLiteTensor& tensor) {
    tflite::Tensor found;
    found.type = static_cast<ElementType>(tensor.type);
    found.shape = shapeOf(tensor);
    found.name = tensor.name == nullptr ? "" : tensor.name;
    found.isVariable = tensor.is_variable;
    found.unreadable = unreadableBecause(tensor);
    if (!found.unreadable.empty()) {
        return found;
    }
    found.unreadable = readQuantization(tensor, found.quantization);
    if (tensor.allocation_type == kTfLiteMmapRo && !tensor.is_variable &&
        (tensor.data != nullptr || tensor.bytes == 0)) {
        // The interpreter keeps them; an owner of nothing says that there are some.
        static constexpr uint8_t kNone = 0;
        const auto* const data =
                tensor.data == nullptr ? &kNone : static_cast<const uint8_t*>(tensor.data);
        found.constant = {.owner = std::shared_ptr<const void>(std::shared_ptr<const void>(), data),
                          .bytes = {data, tensor.bytes}};
    }
    if (tensor.sparsity != nullptr) {
        found.sparsity = readSparsity(*tensor.sparsity);
        if (found.sparsity == nullptr || !found.isConstant()) {
            found.unreadable = "it is sparse, in a way that is not known";
        }
    }
    return found;
}

Result<ContextModel> readContext(TfLiteContext* context) {
    HALYARD_RETURN_IF_ERROR(checkContext(*context));
    TfLiteIntArray* plan = nullptr;
    if (context->GetExecutionPlan(context, &plan) != kTfLiteOk || plan == nullptr) {
        return noContext("it has no execution plan");
    }
    ContextModel found;
    HALYARD_ASSIGN_OR_RETURN(const std::span<const int32_t> nodes,
                             entriesOf(plan, kMostEntries, "the execution plan"));
    // The host writes into its array again.
    found.nodes.assign(nodes.begin(), nodes.end());
    tflite::Subgraph& graph = found.model.subgraphs.emplace_back();
    graph.tensors.reserve(context->tensors_size);
    for (size_t i = 0; i < context->tensors_size; ++i) {
        graph.tensors.push_back(readTensor(context->tensors[i]));
    }
    for (const int32_t index : found.nodes) {
        TfLiteNode* node = nullptr;
        TfLiteRegistration* kind = nullptr;
        if (index < 0 ||
            context->GetNodeAndRegistration(context, index, &node, &kind) != kTfLiteOk ||
            node == nullptr || kind == nullptr) {
            return noContext("it has no node " + std::to_string(index) + " of its own plan");
        }
        HALYARD_ASSIGN_OR_RETURN(tflite::Operator op, readOperator(*node, *kind));
        graph.operators.push_back(std::move(op));
    }
    const Status checked = found.model.check();
    if (checked.ok()) {
        found.model.densify();
    }
    return checked.ok() ? Result<ContextModel>(std::move(found))
                        : noContext(std::string(checked.message()));
}

}  // namespace halyard::litert
