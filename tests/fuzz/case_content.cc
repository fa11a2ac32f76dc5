// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/case_content.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace halyard::fuzz {
namespace {

constexpr size_t kMostOperandBytes = size_t{1} << 14;  // of an operand

// Bytes of an operand of known shape; none where that is not known or is too much.
std::optional<size_t> bytesOf(const pb::Operand& operand) {
    size_t size = elementBytes(operand.type());
    for (const uint32_t extent : operand.dimensions()) {
        if (extent == 0 || extent > kMostOperandBytes || size * extent > kMostOperandBytes) {
            return std::nullopt;
        }
        size *= extent;
    }
    return size;
}

std::optional<size_t> boundaryBytes(const pb::Subgraph& subgraph, uint32_t index) {
    return index < static_cast<uint32_t>(subgraph.operands_size())
                   ? bytesOf(subgraph.operands(static_cast<int>(index)))
                   : std::nullopt;
}

// The new bytes repeat those that are there.
void grow(std::string& bytes, size_t size) {
    const size_t before = bytes.size();
    bytes.resize(size);
    for (size_t i = before; before != 0 && i < size; ++i) {
        bytes[i] = bytes[i - before];
    }
}

}  // namespace

size_t elementBytes(pb::OperandType type) {
    switch (type) {
        case pb::OPERAND_TYPE_FLOAT32:
        case pb::OPERAND_TYPE_INT32:
        case pb::OPERAND_TYPE_UINT32:
        case pb::OPERAND_TYPE_TENSOR_FLOAT32:
        case pb::OPERAND_TYPE_TENSOR_INT32:
            return 4;
        case pb::OPERAND_TYPE_FLOAT16:
        case pb::OPERAND_TYPE_TENSOR_FLOAT16:
        case pb::OPERAND_TYPE_TENSOR_QUANT16_SYMM:
        case pb::OPERAND_TYPE_TENSOR_QUANT16_ASYMM:
            return 2;
        case pb::OPERAND_TYPE_SUBGRAPH:
            return 0;
        default:
            return 1;
    }
}

bool isConstant(const pb::Operand& operand) {
    return operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_COPY ||
           operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_REFERENCE;
}

std::string contentOf(const pb::Model& model, const pb::Operand& operand) {
    const pb::DataLocation& location = operand.location();
    const bool own = operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_COPY;
    if (!own && location.pool_index() >= static_cast<uint32_t>(model.pools_size())) {
        return {};
    }
    const std::string& values =
            own ? model.operand_values() : model.pools(static_cast<int>(location.pool_index()));
    return location.offset() > values.size() ? std::string()
                                             : values.substr(location.offset(), location.length());
}

void place(pb::Model& model, pb::Operand& operand, const std::string& content, bool inPool) {
    if (inPool && model.pools_size() == 0) {
        model.add_pools();
    }
    const int pool = model.pools_size() - 1;
    std::string& values = inPool ? *model.mutable_pools(pool) : *model.mutable_operand_values();
    values.resize((values.size() + 3) / 4 * 4);
    operand.mutable_location()->set_pool_index(inPool ? static_cast<uint32_t>(pool) : 0);
    operand.mutable_location()->set_offset(static_cast<uint32_t>(values.size()));
    operand.mutable_location()->set_length(static_cast<uint32_t>(content.size()));
    operand.set_lifetime(inPool ? pb::OPERAND_LIFE_TIME_CONSTANT_REFERENCE
                                : pb::OPERAND_LIFE_TIME_CONSTANT_COPY);
    values += content;
}

void repairContent(pb::TestCase& testCase) {
    pb::Model& model = *testCase.mutable_model();
    forEachOperand(model, [&](pb::Operand& operand) {
        const std::optional<size_t> size = bytesOf(operand);
        if (isConstant(operand) && size.has_value() && *size != operand.location().length()) {
            std::string content = contentOf(model, operand);
            grow(content, *size);
            place(model, operand, content,
                  operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_REFERENCE);
        }
    });
    const pb::Subgraph& main = model.main();
    for (pb::Example& example : *testCase.mutable_examples()) {
        const int inputs = std::min(main.input_indexes_size(), example.inputs_size());
        for (int i = 0; i < inputs; ++i) {
            const std::optional<size_t> size = boundaryBytes(main, main.input_indexes(i));
            if (size.has_value() && *size != 0) {
                grow(*example.mutable_inputs(i)->mutable_data(), *size);
            }
        }
        while (example.outputs_size() < main.output_indexes_size()) {
            example.add_outputs();
        }
        for (int i = 0; i < main.output_indexes_size(); ++i) {
            const std::optional<size_t> size = boundaryBytes(main, main.output_indexes(i));
            pb::OutputBuffer& output = *example.mutable_outputs(i);
            if (size.has_value() && *size > output.byte_size()) {
                output.set_byte_size(*size);
            }
        }
    }
}

}  // namespace halyard::fuzz
