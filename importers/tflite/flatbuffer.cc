// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/flatbuffer.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "importers/tflite/flatbuffer_table.h"
#include "importers/tflite/operators.h"

namespace halyard::tflite {
namespace {

constexpr std::string_view kIdentifier = "TFL3";
constexpr size_t kIdentifierAt = 4;
constexpr uint32_t kVersion = 3;

// Slots of the schema's tables.
struct ModelTable {
    static constexpr size_t kVersion = 0, kOperatorCodes = 1, kSubgraphs = 2, kBuffers = 4;
};
struct OperatorCodeTable {
    static constexpr size_t kDeprecatedCode = 0, kCustomCode = 1, kVersion = 2, kCode = 3;
};
struct SubgraphTable {
    static constexpr size_t kTensors = 0, kInputs = 1, kOutputs = 2, kOperators = 3, kName = 4;
};
struct TensorTable {
    static constexpr size_t kShape = 0, kType = 1, kBuffer = 2, kName = 3, kQuantization = 4,
                            kIsVariable = 5, kSparsity = 6, kVariantTensors = 9, kFirstUnknown = 10;
};
struct QuantizationTable {
    static constexpr size_t kScale = 2, kZeroPoint = 3, kDetailsType = 4, kAxis = 6;
};
struct SparsityTable {
    static constexpr size_t kOrder = 0, kBlocks = 1, kLevels = 2;
};
struct LevelTable {
    static constexpr size_t kFormat = 0, kExtent = 1, kSegmentsType = 2, kSegments = 3,
                            kIndicesType = 4, kIndices = 5;
};
struct OperatorTable {
    static constexpr size_t kCodeIndex = 0, kInputs = 1, kOutputs = 2, kOptionsType = 3,
                            kOptions = 4, kCustomOptions = 5, kIntermediates = 8,
                            kLargeOptionsOffset = 9, kOptions2Type = 11;
};
struct BufferTable {
    static constexpr size_t kData = 0, kOffset = 1, kSize = 2;
};

struct Code {
    int32_t code = 0;
    std::string customName;
    int32_t version = 1;
};

struct Buffer {
    std::span<const uint8_t> bytes;
    bool isThere = false;
};

// A field's value as its kind has it.
Result<OptionValue> readOption(const Table& table, const OptionField& field) {
    OptionValue value = defaultOf(field);
    const auto slot = static_cast<size_t>(field.slot);
    switch (field.kind) {
        case OptionKind::BOOL: {
            HALYARD_ASSIGN_OR_RETURN(const auto found,
                                     table.number<uint8_t>(slot, value.integer != 0));
            value.integer = found != 0;
            break;
        }
        case OptionKind::INT32: {
            HALYARD_ASSIGN_OR_RETURN(value.integer,
                                     table.number(slot, static_cast<int32_t>(value.integer)));
            break;
        }
        case OptionKind::FLOAT: {
            HALYARD_ASSIGN_OR_RETURN(value.real, table.number(slot, value.real));
            break;
        }
        case OptionKind::INT32S: {
            HALYARD_ASSIGN_OR_RETURN(value.list, table.numbers<int32_t>(slot));
            break;
        }
        default: {
            HALYARD_ASSIGN_OR_RETURN(const auto number,
                                     table.number(slot, static_cast<int8_t>(value.integer)));
            HALYARD_ASSIGN_OR_RETURN(value.integer, enumOfFile(field.kind, number));
        }
    }
    return value;
}

class Reader {
  public:
    Reader(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner)
        : mFile(bytes), mOwner(std::move(owner)) {}

    Result<Model> read() {
        HALYARD_ASSIGN_OR_RETURN(const Table model, Table::follow(mFile, 0));
        HALYARD_ASSIGN_OR_RETURN(const auto version,
                                 model.number<uint32_t>(ModelTable::kVersion, 0));
        if (version != kVersion) {
            return unsupported("the file is of version " + std::to_string(version) +
                               " of the schema, and 3 is known");
        }
        HALYARD_RETURN_IF_ERROR(readCodes(model));
        HALYARD_RETURN_IF_ERROR(readBuffers(model));
        HALYARD_ASSIGN_OR_RETURN(const std::vector<Table> subgraphs,
                                 model.tables(ModelTable::kSubgraphs));
        Model result;
        for (size_t i = 0; i < subgraphs.size(); ++i) {
            Result<Subgraph> subgraph = readSubgraph(subgraphs[i]);
            HALYARD_RETURN_IF_ERROR(subgraph.status().withContext("subgraph " + std::to_string(i)));
            result.subgraphs.push_back(*std::move(subgraph));
        }
        HALYARD_RETURN_IF_ERROR(result.check());
        result.densify();
        return result;
    }

  private:
    Status readCodes(const Table& model) {
        HALYARD_ASSIGN_OR_RETURN(const std::vector<Table> codes,
                                 model.tables(ModelTable::kOperatorCodes));
        for (const Table& table : codes) {
            Code& code = mCodes.emplace_back();
            // The older field has 8 bits, and 127 where the newer one has the number.
            HALYARD_ASSIGN_OR_RETURN(const auto old,
                                     table.number<int8_t>(OperatorCodeTable::kDeprecatedCode, 0));
            HALYARD_ASSIGN_OR_RETURN(code.code, table.number<int32_t>(OperatorCodeTable::kCode, 0));
            code.code = std::max<int32_t>(code.code, old);
            HALYARD_ASSIGN_OR_RETURN(const std::string_view name,
                                     table.text(OperatorCodeTable::kCustomCode));
            code.customName = name;
            HALYARD_ASSIGN_OR_RETURN(code.version,
                                     table.number<int32_t>(OperatorCodeTable::kVersion, 1));
        }
        return {};
    }

    Status readBuffers(const Table& model) {
        HALYARD_ASSIGN_OR_RETURN(const std::vector<Table> buffers,
                                 model.tables(ModelTable::kBuffers));
        for (const Table& table : buffers) {
            Buffer& buffer = mBuffers.emplace_back();
            HALYARD_ASSIGN_OR_RETURN(buffer.bytes, table.bytes(BufferTable::kData));
            HALYARD_ASSIGN_OR_RETURN(const auto offset,
                                     table.number<uint64_t>(BufferTable::kOffset, 0));
            HALYARD_ASSIGN_OR_RETURN(const auto size,
                                     table.number<uint64_t>(BufferTable::kSize, 0));
            // 0 and 1 stand for no bytes behind the FlatBuffer.
            if (offset > 1) {
                const std::span<const uint8_t> all = mFile.bytes();
                if (offset > all.size() || size > all.size() - offset) {
                    return invalidArgument("buffer " + std::to_string(mBuffers.size() - 1) +
                                           " lies past the end of the file");
                }
                buffer.bytes = all.subspan(offset, size);
            }
            buffer.isThere = !buffer.bytes.empty();
        }
        return {};
    }

    Result<Subgraph> readSubgraph(const Table& table) {
        Subgraph subgraph;
        HALYARD_ASSIGN_OR_RETURN(const std::string_view name, table.text(SubgraphTable::kName));
        subgraph.name = name;
        HALYARD_ASSIGN_OR_RETURN(subgraph.inputs, table.numbers<int32_t>(SubgraphTable::kInputs));
        HALYARD_ASSIGN_OR_RETURN(subgraph.outputs, table.numbers<int32_t>(SubgraphTable::kOutputs));
        HALYARD_ASSIGN_OR_RETURN(const std::vector<Table> tensors,
                                 table.tables(SubgraphTable::kTensors));
        for (size_t i = 0; i < tensors.size(); ++i) {
            Result<Tensor> tensor = readTensor(tensors[i]);
            HALYARD_RETURN_IF_ERROR(tensor.status().withContext("tensor " + std::to_string(i)));
            subgraph.tensors.push_back(*std::move(tensor));
        }
        HALYARD_ASSIGN_OR_RETURN(const std::vector<Table> operators,
                                 table.tables(SubgraphTable::kOperators));
        for (size_t i = 0; i < operators.size(); ++i) {
            Result<Operator> op = readOperator(operators[i]);
            HALYARD_RETURN_IF_ERROR(op.status().withContext("operator " + std::to_string(i)));
            subgraph.operators.push_back(*std::move(op));
        }
        return subgraph;
    }

    Result<Tensor> readTensor(const Table& table) {
        Tensor tensor;
        HALYARD_ASSIGN_OR_RETURN(const std::string_view name, table.text(TensorTable::kName));
        tensor.name = name;
        HALYARD_ASSIGN_OR_RETURN(const auto number, table.number<int8_t>(TensorTable::kType, 0));
        const Result<ElementType> type = elementTypeOfFile(number);
        if (type.ok()) {
            tensor.type = *type;
        } else {
            tensor.unreadable = type.status().message();
        }
        HALYARD_ASSIGN_OR_RETURN(tensor.shape, table.numbers<int32_t>(TensorTable::kShape));
        HALYARD_ASSIGN_OR_RETURN(const auto isVariable,
                                 table.number<uint8_t>(TensorTable::kIsVariable, 0));
        tensor.isVariable = isVariable != 0;
        HALYARD_ASSIGN_OR_RETURN(const auto buffer,
                                 table.number<uint32_t>(TensorTable::kBuffer, 0));
        // Buffer 0 is that of tensors without one.
        if (buffer >= mBuffers.size() && buffer != 0) {
            return invalidArgument("it is in buffer " + std::to_string(buffer) +
                                   ", and there are " + std::to_string(mBuffers.size()));
        }
        if (buffer != 0 && mBuffers[buffer].isThere) {
            tensor.constant = {.owner = mOwner, .bytes = mBuffers[buffer].bytes};
        }
        HALYARD_RETURN_IF_ERROR(readQuantization(table, tensor));
        HALYARD_ASSIGN_OR_RETURN(const std::optional<Table> sparsity,
                                 table.table(TensorTable::kSparsity));
        HALYARD_ASSIGN_OR_RETURN(const bool hasMore,
                                 table.hasFieldsFrom(TensorTable::kFirstUnknown));
        HALYARD_ASSIGN_OR_RETURN(const std::vector<Table> variants,
                                 table.tables(TensorTable::kVariantTensors));
        if (sparsity.has_value()) {
            HALYARD_ASSIGN_OR_RETURN(tensor.sparsity, readSparsity(*sparsity));
        }
        if (hasMore || !variants.empty()) {
            tensor.unreadable = "it has attributes that are not known";
        }
        return tensor;
    }

    static Result<std::shared_ptr<const Sparsity>> readSparsity(const Table& table) {
        auto sparsity = std::make_shared<Sparsity>();
        HALYARD_ASSIGN_OR_RETURN(sparsity->order, table.numbers<int32_t>(SparsityTable::kOrder));
        HALYARD_ASSIGN_OR_RETURN(sparsity->blocks, table.numbers<int32_t>(SparsityTable::kBlocks));
        HALYARD_ASSIGN_OR_RETURN(const std::vector<Table> levels,
                                 table.tables(SparsityTable::kLevels));
        for (const Table& each : levels) {
            Sparsity::Level& level = sparsity->levels.emplace_back();
            HALYARD_ASSIGN_OR_RETURN(const auto format,
                                     each.number<int8_t>(LevelTable::kFormat, 0));
            if (format != 0 && format != 1) {
                return invalidArgument("it has a level of format " + std::to_string(format));
            }
            level.isDense = format == 0;
            HALYARD_ASSIGN_OR_RETURN(level.extent, each.number<int32_t>(LevelTable::kExtent, 0));
            if (!level.isDense) {
                HALYARD_ASSIGN_OR_RETURN(
                        level.segments,
                        readIndices(each, LevelTable::kSegmentsType, LevelTable::kSegments));
                HALYARD_ASSIGN_OR_RETURN(level.indices, readIndices(each, LevelTable::kIndicesType,
                                                                    LevelTable::kIndices));
            }
        }
        return std::shared_ptr<const Sparsity>(std::move(sparsity));
    }

    // A union of vectors of 32, 16 and 8 bits.
    static Result<std::vector<int32_t>> readIndices(const Table& level, size_t typeSlot,
                                                    size_t slot) {
        HALYARD_ASSIGN_OR_RETURN(const auto type, level.number<uint8_t>(typeSlot, 0));
        HALYARD_ASSIGN_OR_RETURN(const std::optional<Table> table, level.table(slot));
        if (!table.has_value()) {
            return std::vector<int32_t>();
        }
        switch (type) {
            case 1:
                return table->numbers<int32_t>(0);
            case 2: {
                HALYARD_ASSIGN_OR_RETURN(const auto found, table->numbers<uint16_t>(0));
                return std::vector<int32_t>(found.begin(), found.end());
            }
            case 3: {
                HALYARD_ASSIGN_OR_RETURN(const auto found, table->numbers<uint8_t>(0));
                return std::vector<int32_t>(found.begin(), found.end());
            }
            default:
                return invalidArgument("it has indices of kind " + std::to_string(type));
        }
    }

    Status readQuantization(const Table& table, Tensor& tensor) {
        HALYARD_ASSIGN_OR_RETURN(const std::optional<Table> found,
                                 table.table(TensorTable::kQuantization));
        if (!found.has_value()) {
            return {};
        }
        TensorQuantization& quantization = tensor.quantization;
        HALYARD_ASSIGN_OR_RETURN(quantization.scales,
                                 found->numbers<float>(QuantizationTable::kScale));
        HALYARD_ASSIGN_OR_RETURN(quantization.zeroPoints,
                                 found->numbers<int64_t>(QuantizationTable::kZeroPoint));
        HALYARD_ASSIGN_OR_RETURN(quantization.axis,
                                 found->number<int32_t>(QuantizationTable::kAxis, 0));
        HALYARD_ASSIGN_OR_RETURN(const auto details,
                                 found->number<uint8_t>(QuantizationTable::kDetailsType, 0));
        if (details != 0) {
            tensor.unreadable = "its quantisation has details of kind " + std::to_string(details);
        }
        return {};
    }

    Result<Operator> readOperator(const Table& table) {
        Operator op;
        HALYARD_ASSIGN_OR_RETURN(const auto index,
                                 table.number<uint32_t>(OperatorTable::kCodeIndex, 0));
        if (index >= mCodes.size()) {
            return invalidArgument("it has the code " + std::to_string(index) + ", and there are " +
                                   std::to_string(mCodes.size()));
        }
        op.code = mCodes[index].code;
        op.customName = mCodes[index].customName;
        op.version = mCodes[index].version;
        HALYARD_RETURN_IF_ERROR(mFile.take(op.customName.size() / 8));
        HALYARD_ASSIGN_OR_RETURN(op.inputs, table.numbers<int32_t>(OperatorTable::kInputs));
        HALYARD_ASSIGN_OR_RETURN(op.outputs, table.numbers<int32_t>(OperatorTable::kOutputs));
        HALYARD_ASSIGN_OR_RETURN(op.intermediates,
                                 table.numbers<int32_t>(OperatorTable::kIntermediates));
        HALYARD_ASSIGN_OR_RETURN(op.customOptions, table.bytes(OperatorTable::kCustomOptions));
        HALYARD_ASSIGN_OR_RETURN(const auto large,
                                 table.number<uint64_t>(OperatorTable::kLargeOptionsOffset, 0));
        if (large > 1) {
            op.unreadable = "its options lie outside of the model's tables";
        }
        HALYARD_RETURN_IF_ERROR(readOptions(table, op));
        return op;
    }

    static Status readOptions(const Table& table, Operator& op) {
        const OperatorEntry* const entry = findOperator(op.code);
        if (entry == nullptr) {
            op.unreadable = "the operator is not known";
            return {};
        }
        HALYARD_ASSIGN_OR_RETURN(const auto kind,
                                 table.number<uint8_t>(OperatorTable::kOptionsType, 0));
        HALYARD_ASSIGN_OR_RETURN(const auto newerKind,
                                 table.number<uint8_t>(OperatorTable::kOptions2Type, 0));
        HALYARD_ASSIGN_OR_RETURN(const std::optional<Table> options,
                                 table.table(OperatorTable::kOptions));
        for (const OptionField& field : entry->fields) {
            OptionValue value;
            if (options.has_value() && kind == entry->unionNumber) {
                Result<OptionValue> found = readOption(*options, field);
                if (!found.ok()) {
                    op.unreadable = "its option " + std::string(field.name) + ": " +
                                    std::string(found.status().message());
                    return {};
                }
                value = *std::move(found);
            } else {
                value = defaultOf(field);
                value.integer +=
                        field.kind == OptionKind::PADDING || field.kind == OptionKind::MIRROR_MODE;
            }
            op.options.push_back(std::move(value));
        }
        size_t known = entry->fields.size();
        if (!entry->fields.empty()) {
            known = static_cast<size_t>(
                    std::ranges::max(entry->fields, {}, &OptionField::slot).slot + 1);
        }
        if (newerKind != 0 || (kind != 0 && !entry->fields.empty() && kind != entry->unionNumber)) {
            op.unreadable = "its options are those of another operator";
        } else if (options.has_value()) {
            HALYARD_ASSIGN_OR_RETURN(const bool hasMore, options->hasFieldsFrom(known));
            if (hasMore) {
                op.unreadable = "it has options that are not known";
            }
        }
        return {};
    }

    Flatbuffer mFile;
    std::shared_ptr<const void> mOwner;
    std::vector<Code> mCodes;
    std::vector<Buffer> mBuffers;
};

}  // namespace

Result<Model> readFlatbuffer(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner) {
    if (bytes.size() < kIdentifierAt + kIdentifier.size() ||
        std::string_view(reinterpret_cast<const char*>(bytes.data()) + kIdentifierAt,
                         kIdentifier.size()) != kIdentifier) {
        return unsupported("the bytes are no .tflite file: the identifier TFL3 is missing");
    }
    return Reader(bytes, std::move(owner)).read();
}

}  // namespace halyard::tflite
