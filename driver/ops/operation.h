// SPDX-License-Identifier: Apache-2.0
//
// The operation table: for each NNAPI operation its signatures per HAL version, the rules beyond
// them, and its lowering to engine nodes. One file per family defines the rows; families.inc lists
// the families. The validation of models, getSupportedOperations, prepareModel and
// --list-operations all read this table and nothing else.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "driver/model/model.h"
#include "engine/base/status.h"

namespace halyard::driver {

// One accepted form of an operation and the version it exists from. An operation is valid in
// version V when its operands match a signature with since <= V.
struct Signature {
    HalVersion since = HalVersion::V1_0;
    std::vector<OperandType> inputs;
    std::vector<OperandType> outputs;
    // The first input may stand there any number of times, at least once (CONCATENATION).
    bool firstRepeats = false;
};

// One operand as the rules of an operation see it.
struct OperandView {
    const Operand* operand = nullptr;
    uint32_t index = 0;  // in the subgraph
    std::string role;    // "input 2"

    // "input 2 (operand 14)": what messages call it.
    std::string name() const;
};

// An operation whose operands match one of its signatures.
struct OperationView {
    std::vector<OperandView> inputs;
    std::vector<OperandView> outputs;
    HalVersion version = HalVersion::V1_0;
};

class Lowering;  // lowering.h: the graph under construction, seen from one operation

struct OperationDefinition {
    OperationType type = OperationType::ADD;
    std::vector<Signature> signatures;
    // Rules that the types can't express (ranks, relations of scales): INVALID_ARGUMENT. Null:
    // none.
    Status (*validate)(const OperationView& view) = nullptr;
    // Adds the operation's nodes to the graph. INVALID_ARGUMENT: a constant breaks a rule.
    // UNSUPPORTED: valid, but Halyard can't run this form.
    Status (*lower)(Lowering& lowering) = nullptr;
};

// Null if Halyard does not have the operation. Lives as long as the process.
const OperationDefinition* findOperation(OperationType type);
// All rows, ascending by code.
std::span<const OperationDefinition> allOperations();

// Checks every operation of the model that Halyard has: that its operands match a signature of that
// version, that none of them is omitted, and the operation's own rules. The structure is valid
// already (validate.h). INVALID_ARGUMENT names the operation, the operand and the rule.
Status validateOperations(const Model& model, HalVersion version);

}  // namespace halyard::driver
