// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/plugin/subgraph_reader.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "importers/tflite/operators.h"
#include "litert/vendor/plugin/operator_getters.h"
#include "litert/vendor/tables.h"

namespace halyard::vendor {
namespace {

using tflite::ElementType;
using tflite::OptionField;
using tflite::OptionKind;
using tflite::OptionValue;

// LiteRT owns the bytes, for longer than what is read.
std::shared_ptr<const void> owner() {
    static const char kMark = 0;
    return {&kMark, [](const void*) {}};
}

class Reader {
  public:
    Reader(const abi::CompilerTable& litert, abi::Subgraph subgraph)
        : mLiteRt(litert), mSubgraph(subgraph) {}

    Result<ReadSubgraph> read() {
        HALYARD_RETURN_IF_ERROR(readList(mLiteRt.getNumSubgraphInputs, mLiteRt.getSubgraphInput,
                                         mSubgraph, "subgraph's input", mRead.inputs));
        mFilled = mRead.inputs;
        size_t count = 0;
        HALYARD_RETURN_IF_ERROR(
                calledStatus(mLiteRt.getNumSubgraphOps(mSubgraph, &count), "GetNumSubgraphOps"));
        for (size_t i = 0; i < count; ++i) {
            abi::Op op = nullptr;
            HALYARD_RETURN_IF_ERROR(
                    calledStatus(mLiteRt.getSubgraphOp(mSubgraph, i, &op), "GetSubgraphOp"));
            HALYARD_RETURN_IF_ERROR(readOperator(op).withContext("operator " + std::to_string(i)));
            mHandles.push_back(op);
        }
        HALYARD_RETURN_IF_ERROR(readList(mLiteRt.getNumSubgraphOutputs, mLiteRt.getSubgraphOutput,
                                         mSubgraph, "subgraph's output", mRead.outputs));
        markUnfilled();
        ReadSubgraph read;
        read.handles = std::move(mHandles);
        read.model.subgraphs.push_back(std::move(mRead));
        HALYARD_RETURN_IF_ERROR(read.model.check());
        return read;
    }

  private:
    template <typename Of>
    Status readList(abi::Status (*count)(Of, size_t*), abi::Status (*get)(Of, size_t, abi::Tensor*),
                    Of of, const char* what, std::vector<int32_t>& list) {
        size_t size = 0;
        HALYARD_RETURN_IF_ERROR(
                calledStatus(count(of, &size), "number of each " + std::string(what)));
        for (size_t i = 0; i < size; ++i) {
            abi::Tensor tensor = nullptr;
            HALYARD_RETURN_IF_ERROR(calledStatus(get(of, i, &tensor), what));
            HALYARD_ASSIGN_OR_RETURN(const int32_t index, indexOf(tensor));
            list.push_back(index);
        }
        return {};
    }

    Result<int32_t> indexOf(abi::Tensor tensor) {
        if (tensor == nullptr) {
            return tflite::kOmitted;
        }
        const auto [found, isNew] =
                mIndexes.emplace(tensor, static_cast<int32_t>(mRead.tensors.size()));
        if (isNew) {
            tflite::Tensor& read = mRead.tensors.emplace_back();
            HALYARD_RETURN_IF_ERROR(
                    readTensor(tensor, read)
                            .withContext("tensor " + std::to_string(found->second)));
        }
        return found->second;
    }

    Status readTensor(abi::Tensor tensor, tflite::Tensor& read) const {
        const char* name = nullptr;
        if (mLiteRt.getTensorName(tensor, &name) == 0 && name != nullptr) {
            read.name = name;
        }
        int32_t typeId = 0;
        HALYARD_RETURN_IF_ERROR(
                calledStatus(mLiteRt.getTensorTypeId(tensor, &typeId), "GetTensorTypeId"));
        if (typeId != static_cast<int32_t>(abi::TensorTypeId::RANKED)) {
            read.unreadable = "its rank is not known";
            return {};
        }
        abi::RankedTensorType type = {};
        HALYARD_RETURN_IF_ERROR(
                calledStatus(mLiteRt.getRankedTensorType(tensor, &type), "GetRankedTensorType"));
        const size_t rank = type.layout.rankAndStrides & 0x7FU;
        const bool hasStrides = (type.layout.rankAndStrides >> 7U & 1U) != 0;
        if (rank > std::size(type.layout.dimensions)) {
            return invalidArgument("has " + std::to_string(rank) + " dimensions");
        }
        read.type = static_cast<ElementType>(type.elementType);
        read.shape.assign(type.layout.dimensions, type.layout.dimensions + rank);
        if (type.elementType < 0 || type.elementType > UINT8_MAX) {
            read.type = ElementType::NONE;
        }
        if (hasStrides) {
            read.unreadable = "its elements lie apart";
            return {};
        }
        HALYARD_RETURN_IF_ERROR(readQuantization(tensor, read));
        return readConstant(tensor, read);
    }

    Status readQuantization(abi::Tensor tensor, tflite::Tensor& read) const {
        int32_t id = 0;
        HALYARD_RETURN_IF_ERROR(
                calledStatus(mLiteRt.getQuantizationTypeId(tensor, &id), "GetQuantizationTypeId"));
        switch (static_cast<abi::QuantizationType>(id)) {
            case abi::QuantizationType::NONE:
                return {};
            case abi::QuantizationType::PER_TENSOR: {
                abi::QuantizationPerTensor found = {};
                HALYARD_RETURN_IF_ERROR(
                        calledStatus(mLiteRt.getPerTensorQuantization(tensor, &found),
                                     "GetPerTensorQuantization"));
                read.quantization = {
                        .scales = {found.scale}, .zeroPoints = {found.zeroPoint}, .axis = 0};
                return {};
            }
            case abi::QuantizationType::PER_CHANNEL: {
                abi::QuantizationPerChannel found = {};
                HALYARD_RETURN_IF_ERROR(
                        calledStatus(mLiteRt.getPerChannelQuantization(tensor, &found),
                                     "GetPerChannelQuantization"));
                const bool isOfAxis =
                        found.axis >= 0 && static_cast<size_t>(found.axis) < read.shape.size() &&
                        found.channels == static_cast<uint64_t>(read.shape[found.axis]);
                if (!isOfAxis || found.scales == nullptr) {
                    read.unreadable = "its scales are not those of its channels";
                    return {};
                }
                read.quantization.axis = found.axis;
                read.quantization.scales.assign(found.scales, found.scales + found.channels);
                if (found.zeroPoints != nullptr) {
                    read.quantization.zeroPoints.assign(found.zeroPoints,
                                                        found.zeroPoints + found.channels);
                }
                return {};
            }
            case abi::QuantizationType::BLOCK_WISE:
                read.unreadable = "its quantisation is by blocks";
                return {};
        }
        read.unreadable = "its quantisation is of kind " + std::to_string(id);
        return {};
    }

    Status readConstant(abi::Tensor tensor, tflite::Tensor& read) const {
        abi::Weights weights = nullptr;
        const void* bytes = nullptr;
        size_t size = 0;
        HALYARD_RETURN_IF_ERROR(
                calledStatus(mLiteRt.getTensorWeights(tensor, &weights), "GetTensorWeights"));
        if (weights == nullptr || mLiteRt.getWeightsBytes(weights, &bytes, &size) != 0 ||
            size == 0) {
            return {};
        }
        if (bytes == nullptr) {
            return invalidArgument("has " + std::to_string(size) + " bytes at no address");
        }
        read.constant = {.owner = owner(), .bytes = {static_cast<const uint8_t*>(bytes), size}};
        return {};
    }

    Status readOperator(abi::Op op) {
        tflite::Operator& read = mRead.operators.emplace_back();
        HALYARD_RETURN_IF_ERROR(calledStatus(mLiteRt.getOpCode(op, &read.code), "GetOpCode"));
        if (read.code == static_cast<int32_t>(tflite::OperatorCode::CUSTOM)) {
            const char* name = nullptr;
            if (mLiteRt.getCustomCode(op, &name) == 0 && name != nullptr) {
                read.customName = name;
            }
            read.unreadable = "LiteRT does not tell a custom operator's options";
        }
        HALYARD_RETURN_IF_ERROR(
                readList(mLiteRt.getNumOpInputs, mLiteRt.getOpInput, op, "input", read.inputs));
        HALYARD_RETURN_IF_ERROR(
                readList(mLiteRt.getNumOpOutputs, mLiteRt.getOpOutput, op, "output", read.outputs));
        mFilled.insert(mFilled.end(), read.outputs.begin(), read.outputs.end());
        readOptions(op, read);
        return {};
    }

    void readOptions(abi::Op op, tflite::Operator& read) const {
        const tflite::OperatorEntry* const entry = tflite::findOperator(read.code);
        if (entry == nullptr || entry->fields.empty()) {
            return;
        }
        for (const OptionField& field : entry->fields) {
            read.options.push_back(tflite::defaultOf(field));
        }
        const OperatorGetters* const getters = findGetters(read.code);
        if (getters == nullptr) {
            read.unreadable = "LiteRT does not tell its options";
            return;
        }
        for (size_t i = 0; i < entry->fields.size() && read.unreadable.empty(); ++i) {
            read.unreadable =
                    readOption(op, read, entry->fields[i], getters->options[i], read.options[i]);
        }
    }

    // Why the option is not known; empty: it is.
    std::string readOption(abi::Op op, const tflite::Operator& read, const OptionField& field,
                           const OptionGetter& getter, OptionValue& value) const {
        switch (getter.source) {
            case OptionSource::GETTER:
                return callGetter(op, field, getter, value);
            case OptionSource::DEFAULT:
                return {};
            case OptionSource::DEFAULT_WITHOUT_INT16:
                return touches(read, ElementType::INT16)
                               ? "LiteRT does not tell its " + std::string(field.name)
                               : std::string();
            case OptionSource::INPUT_TYPE:
                return takeType(read.inputs, value);
            case OptionSource::OUTPUT_TYPE:
                return takeType(read.outputs, value);
        }
        return {};
    }

    std::string takeType(const std::vector<int32_t>& tensors, OptionValue& value) const {
        if (tensors.empty() || tensors.front() < 0) {
            return "it lacks a tensor";
        }
        value.integer = static_cast<int64_t>(mRead.tensors[tensors.front()].type);
        return {};
    }

    bool touches(const tflite::Operator& op, ElementType type) const {
        const auto isOfType = [&](int32_t tensor) {
            return tensor >= 0 && mRead.tensors[tensor].type == type;
        };
        return std::ranges::any_of(op.inputs, isOfType) ||
               std::ranges::any_of(op.outputs, isOfType);
    }

    // LiteRT refuses where the file has no table of options: then they have their defaults.
    std::string callGetter(abi::Op op, const OptionField& field, const OptionGetter& getter,
                           OptionValue& value) const {
        if (!hasSlot(&mLiteRt, getter.offset)) {
            return "LiteRT has no " + std::string(getter.name) + " yet";
        }
        switch (getter.written) {
            case OptionWritten::BOOL:
                if (bool found = false; call(op, getter, &found)) {
                    value.integer = found ? 1 : 0;
                }
                return {};
            case OptionWritten::INT32:
                if (int32_t found = 0; call(op, getter, &found)) {
                    value.integer = found;
                }
                return {};
            case OptionWritten::UINT32:
                if (uint32_t found = 0; call(op, getter, &found)) {
                    const Result<int64_t> known = tflite::enumOfFile(field.kind, found);
                    if (!known.ok()) {
                        return std::string(known.status().message());
                    }
                    value.integer = *known;
                }
                return {};
            case OptionWritten::FLOAT:
                if (float found = 0.0F; call(op, getter, &found)) {
                    value.real = found;
                }
                return {};
            case OptionWritten::INT32S: {
                const int32_t* elements = nullptr;
                int32_t count = 0;
                using Function = abi::Status (*)(abi::Op, const int32_t**, int32_t*);
                if (slotAt<Function>(&mLiteRt, getter.offset)(op, &elements, &count) == 0 &&
                    count > 0 && elements != nullptr) {
                    value.list.assign(elements, elements + count);
                }
                return {};
            }
        }
        return {};
    }

    template <typename T>
    bool call(abi::Op op, const OptionGetter& getter, T* value) const {
        return slotAt<abi::Status (*)(abi::Op, T*)>(&mLiteRt, getter.offset)(op, value) == 0;
    }

    void markUnfilled() {
        std::vector<bool> filled(mRead.tensors.size());
        for (const int32_t tensor : mFilled) {
            if (tensor >= 0) {
                filled[tensor] = true;
            }
        }
        for (size_t i = 0; i < filled.size(); ++i) {
            tflite::Tensor& tensor = mRead.tensors[i];
            if (filled[i] || tensor.isConstant()) {
                continue;
            }
            // Of no elements there are no bytes.
            if (std::ranges::find(tensor.shape, 0) != tensor.shape.end()) {
                tensor.constant = {.owner = owner(), .bytes = {}};
            } else if (tensor.unreadable.empty()) {
                tensor.unreadable = "nothing gives it its elements";
            }
        }
    }

    const abi::CompilerTable& mLiteRt;
    const abi::Subgraph mSubgraph;
    tflite::Subgraph mRead;
    std::vector<abi::Op> mHandles;
    std::map<abi::Tensor, int32_t> mIndexes;
    std::vector<int32_t> mFilled;  // given or computed
};

}  // namespace

Result<ReadSubgraph> readSubgraph(const abi::CompilerTable& litert, abi::Subgraph subgraph) {
    return Reader(litert, subgraph).read();
}

}  // namespace halyard::vendor
