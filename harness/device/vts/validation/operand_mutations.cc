// SPDX-License-Identifier: Apache-2.0
//
// Mutations of one operand: its type, rank, scale, zero point, and its type in the eyes of the
// operations that use it.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "harness/device/vts/validation/constant_value.h"
#include "harness/device/vts/validation/exemptions.h"
#include "harness/device/vts/validation/mutant.h"

namespace halyard::vts {
namespace {

using driver::HalVersion;
using driver::Operand;
using driver::OperandLifeTime;
using driver::OperandType;
using driver::Subgraph;

std::string operandName(size_t operand) {
    return "operand " + std::to_string(operand);
}

bool isTensor(OperandType type) {
    const driver::OperandTypeInfo* info = driver::findOperandType(type);
    return info != nullptr && info->isTensor();
}

// All but OEM types.
std::vector<OperandType> typesOf(HalVersion version) {
    std::vector<OperandType> types;
    for (int32_t code = 0; code <= static_cast<int32_t>(OperandType::SUBGRAPH); ++code) {
        const auto type = static_cast<OperandType>(code);
        if (const auto* info = driver::findOperandType(type);
            info != nullptr && info->since <= version) {
            types.push_back(type);
        }
    }
    return types;
}

// Beside the version's fundamental types and beside the OEM types.
std::vector<int64_t> codesOfNoType(HalVersion version) {
    const auto last = static_cast<int64_t>(typesOf(version).back());
    return {-1, last + 1, static_cast<int64_t>(OperandType::OEM) - 1,
            static_cast<int64_t>(OperandType::TENSOR_OEM_BYTE) + 1};
}

void mutateOperandType(const MutantSource& source, size_t operand) {
    for (const int64_t code : codesOfNoType(source.version)) {
        source.mutate(Mutation::OPERAND_TYPE,
                      operandName(operand) + " has type " + std::to_string(code),
                      [&](Subgraph& graph) {
                          graph.operands[operand].type = static_cast<OperandType>(code);
                      });
    }
}

void mutateRank(const MutantSource& source, size_t operand) {
    const OperandType type = source.subgraph().operands[operand].type;
    // A tensor of no rank is one of unknown rank from 1.2 on.
    if (type == OperandType::SUBGRAPH || (isTensor(type) && source.version >= HalVersion::V1_2)) {
        return;
    }
    const size_t rank = isTensor(type) ? 0 : 1;
    source.mutate(Mutation::OPERAND_RANK,
                  operandName(operand) + " has rank " + std::to_string(rank),
                  [&](Subgraph& graph) { graph.operands[operand].dimensions.assign(rank, 0); });
}

float invalidScale(OperandType type) {
    switch (type) {
        case OperandType::TENSOR_INT32:
            return -1.0F;
        case OperandType::TENSOR_QUANT8_ASYMM:
        case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
        case OperandType::TENSOR_QUANT8_SYMM:
        case OperandType::TENSOR_QUANT16_ASYMM:
        case OperandType::TENSOR_QUANT16_SYMM:
            return 0.0F;
        default:
            return 1.0F;
    }
}

void mutateScale(const MutantSource& source, size_t operand) {
    const float scale = invalidScale(source.subgraph().operands[operand].type);
    source.mutate(Mutation::OPERAND_SCALE,
                  operandName(operand) + " has scale " + std::to_string(scale),
                  [&](Subgraph& graph) { graph.operands[operand].scale = scale; });
}

std::vector<int32_t> invalidZeroPoints(OperandType type) {
    switch (type) {
        case OperandType::TENSOR_QUANT8_ASYMM:
            return {-1, 256};
        case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
            return {-129, 128};
        case OperandType::TENSOR_QUANT8_SYMM:
            return {-129, -1, 1, 128};
        case OperandType::TENSOR_QUANT16_ASYMM:
            return {-1, 65536};
        case OperandType::TENSOR_QUANT16_SYMM:
            return {-32769, -1, 1, 32768};
        default:
            return {1};
    }
}

void mutateZeroPoint(const MutantSource& source, size_t operand) {
    for (const int32_t zeroPoint : invalidZeroPoints(source.subgraph().operands[operand].type)) {
        source.mutate(Mutation::OPERAND_ZERO_POINT,
                      operandName(operand) + " has zero point " + std::to_string(zeroPoint),
                      [&](Subgraph& graph) { graph.operands[operand].zeroPoint = zeroPoint; });
    }
}

// As far as an operand can be made a valid one of another type without its users.
void becomeOfType(Operand& operand, OperandType type) {
    operand.type = type;
    if (type == OperandType::SUBGRAPH) {
        return;
    }
    if (!isTensor(type)) {
        operand.dimensions.clear();
    } else if (operand.dimensions.empty()) {
        operand.dimensions = {1};
    }
    switch (type) {
        case OperandType::TENSOR_INT32:
            operand.zeroPoint = 0;
            return;
        case OperandType::TENSOR_QUANT8_ASYMM:
        case OperandType::TENSOR_QUANT8_SYMM:
        case OperandType::TENSOR_QUANT16_ASYMM:
        case OperandType::TENSOR_QUANT16_SYMM:
            operand.scale = operand.scale == 0.0F ? 1.0F : operand.scale;
            return;
        case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
            // The official suite changes nothing but the type here, which leaves few valid.
            operand.scale = operand.scale == 0.0F ? 1.0F : operand.scale;
            operand.zeroPoint = operand.zeroPoint > 127 ? 0 : operand.zeroPoint;
            return;
        default:
            operand.scale = 0.0F;
            operand.zeroPoint = 0;
    }
    if (type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
        operand.extraParams = driver::SymmPerChannelQuantParams{
                .scales = std::vector<float>(operand.dimensions[0], 1.0F), .channelDim = 0};
    } else {
        // The official suite leaves a per-channel operand its parameters.
        operand.extraParams = std::monostate();
    }
}

bool isConstant(const Operand& operand) {
    return operand.lifetime == OperandLifeTime::CONSTANT_COPY ||
           operand.lifetime == OperandLifeTime::CONSTANT_REFERENCE;
}

// A constant that keeps its value as the official suite has it is refused for its size already
// where the elements of the types differ in size. With a value that fits, only the operation can
// refuse it.
void withValue(const MutantSource& source, const std::string& what, size_t operand,
               OperandType type) {
    Mutant mutant =
            source.begin(Mutation::OPERATION_OPERAND_TYPE, what + " with a value",
                         mayTakeTypeWithValue(source.subgraph(), operand, type, source.version));
    Operand& changed = source.subgraphOf(mutant).operands[operand];
    becomeOfType(changed, type);
    if (valueSize(changed) == valueSize(source.subgraph().operands[operand])) {
        return;
    }
    changed.lifetime = OperandLifeTime::CONSTANT_COPY;
    giveValue(mutant.model, changed);
    source.judge(mutant);
}

void mutateTypeForOperations(const MutantSource& source, size_t operand) {
    if (!source.wants(Mutation::OPERATION_OPERAND_TYPE)) {
        return;
    }
    const Operand& original = source.subgraph().operands[operand];
    for (const OperandType type : typesOf(source.version)) {
        if (type == original.type) {
            continue;
        }
        const std::string what =
                operandName(operand) + " becomes a valid " + driver::describe(type);
        const bool exempt = mayTakeType(source.subgraph(), operand, type, source.version);
        source.mutate(Mutation::OPERATION_OPERAND_TYPE, what, exempt,
                      [&](Subgraph& graph) { becomeOfType(graph.operands[operand], type); });
        if (isConstant(original) && type != OperandType::SUBGRAPH) {
            withValue(source.further(), what, operand, type);
        }
    }
}

}  // namespace

void mutateOperands(const MutantSource& source) {
    for (size_t operand = 0; operand < source.subgraph().operands.size(); ++operand) {
        mutateOperandType(source, operand);
        mutateRank(source, operand);
        mutateScale(source, operand);
        mutateZeroPoint(source, operand);
        mutateTypeForOperations(source, operand);
    }
}

}  // namespace halyard::vts
