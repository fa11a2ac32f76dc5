// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a case: of constants, which are the model's own or in a pool, and of arguments.

#pragma once

#include <cstddef>
#include <string>

#include "harness/device/cases/messages.h"

namespace halyard::fuzz {

namespace pb = runner::pb;

// Of one element, 0 where there is none.
size_t elementBytes(pb::OperandType type);

bool isConstant(const pb::Operand& operand);
// A constant's bytes; none where its location leads nowhere.
std::string contentOf(const pb::Model& model, const pb::Operand& operand);
// Makes the operand a constant whose bytes lie behind all others in the last pool, or in the model.
void place(pb::Model& model, pb::Operand& operand, const std::string& content, bool inPool);

// Gives constants and arguments as many bytes as their shapes ask, so that what was changed gets
// beyond the first checks.
void repairContent(pb::TestCase& testCase);

template <typename Visit>
void forEachOperand(pb::Model& model, const Visit& visit) {
    for (pb::Operand& operand : *model.mutable_main()->mutable_operands()) {
        visit(operand);
    }
    for (pb::Subgraph& subgraph : *model.mutable_referenced()) {
        for (pb::Operand& operand : *subgraph.mutable_operands()) {
            visit(operand);
        }
    }
}

}  // namespace halyard::fuzz
