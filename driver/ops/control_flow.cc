// SPDX-License-Identifier: Apache-2.0
//
// IF and WHILE. Their rules are about the subgraphs that they refer to, which have the operation's
// own inputs and outputs, with types, quantisation and specified dimensions that agree. An input
// without a value makes no model invalid: AOSP's own driver looks at types alone, prepares an IF
// without a condition, too, and fails in its execution. A subgraph is run without such an input.

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

bool agree(const ExtraParams& a, const ExtraParams& b) {
    const auto* channelsOfA = std::get_if<SymmPerChannelQuantParams>(&a);
    const auto* channelsOfB = std::get_if<SymmPerChannelQuantParams>(&b);
    if (channelsOfA == nullptr || channelsOfB == nullptr) {
        return a.index() == b.index();
    }
    return channelsOfA->scales == channelsOfB->scales &&
           channelsOfA->channelDim == channelsOfB->channelDim;
}

bool agree(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
    return a.empty() || b.empty() || std::ranges::equal(a, b, [](uint32_t m, uint32_t n) {
               return m == 0 || n == 0 || m == n;
           });
}

// An operand of the operation, or of one of its subgraphs.
struct Party {
    const Operand* operand;
    std::string name;
};

Status requireAgreement(const Party& a, const Party& b) {
    const std::string parties = a.name + " and " + b.name;
    if (a.operand->type != b.operand->type) {
        return invalidArgument(parties + " differ in type: " + describe(a.operand->type) + " and " +
                               describe(b.operand->type));
    }
    if (!agree(a.operand->dimensions, b.operand->dimensions)) {
        return invalidArgument(parties + " differ in their dimensions");
    }
    if (a.operand->scale != b.operand->scale || a.operand->zeroPoint != b.operand->zeroPoint ||
        !agree(a.operand->extraParams, b.operand->extraParams)) {
        return invalidArgument(parties + " differ in scale or zero point");
    }
    return {};
}

Party partyOf(const OperandView& view) {
    return {.operand = view.operand, .name = view.name()};
}

// A subgraph that the operation refers to, by the name of the operand that does.
struct Body {
    const Subgraph* subgraph;
    std::string name;

    size_t inputCount() const { return subgraph->inputIndexes.size(); }
    size_t outputCount() const { return subgraph->outputIndexes.size(); }
    Party input(size_t position) const {
        return {.operand = &subgraph->operands[subgraph->inputIndexes[position]],
                .name = "input " + std::to_string(position) + " of " + name};
    }
    Party output(size_t position) const {
        return {.operand = &subgraph->operands[subgraph->outputIndexes[position]],
                .name = "output " + std::to_string(position) + " of " + name};
    }
};

Result<Body> bodyOf(const OperationView& view, std::string_view operand) {
    const Subgraph* subgraph = view.referenced(operand);
    if (subgraph == nullptr) {
        return invalidArgument(view.input(operand).name() + " is not a subgraph of the model");
    }
    return Body{.subgraph = subgraph, .name = view.input(operand).name()};
}

Status wrongCount(std::string_view what, const Body& body, size_t count, std::string_view right) {
    return invalidArgument("the number of " + std::string(what) + " of " + body.name + " is " +
                           std::to_string(count) + ", not " + std::string(right));
}

Status requireInputs(const Body& body, std::span<const OperandView> inputs) {
    if (body.inputCount() != inputs.size()) {
        return wrongCount("inputs", body, body.inputCount(), std::to_string(inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(requireAgreement(partyOf(inputs[i]), body.input(i)));
    }
    return {};
}

// `outputs` may be fewer than the subgraph has.
Status requireOutputs(const Body& body, std::span<const OperandView> outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(requireAgreement(partyOf(outputs[i]), body.output(i)));
    }
    return {};
}

// One truth value.
Status requireCondition(const Party& condition) {
    if (condition.operand->type != TENSOR_BOOL8) {
        return invalidArgument(condition.name + " is " + describe(condition.operand->type) +
                               ", not TENSOR_BOOL8");
    }
    if (!agree(condition.operand->dimensions, {1})) {
        return invalidArgument(condition.name + " is not a single truth value");
    }
    return {};
}

Status validateIf(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireCondition(partyOf(view.input("condition"))));
    const std::span<const OperandView> outputs = view.outputs("outputs");
    for (const std::string_view name : {"then_model", "else_model"}) {
        HALYARD_ASSIGN_OR_RETURN(const Body branch, bodyOf(view, name));
        HALYARD_RETURN_IF_ERROR(requireInputs(branch, view.inputs("inputs")));
        if (branch.outputCount() != outputs.size()) {
            return wrongCount("outputs", branch, branch.outputCount(),
                              std::to_string(outputs.size()));
        }
        HALYARD_RETURN_IF_ERROR(requireOutputs(branch, outputs));
    }
    return {};
}

// The body gives the next values of its first inputs. Of these the first are the operation's
// outputs in the end; what follows is state that ends with the loop. Its last inputs stay.
Status validateWhile(const OperationView& view) {
    const std::span<const OperandView> inputs = view.inputs("inputs");
    const std::span<const OperandView> outputs = view.outputs("outputs");
    HALYARD_ASSIGN_OR_RETURN(const Body condition, bodyOf(view, "condition_model"));
    HALYARD_ASSIGN_OR_RETURN(const Body body, bodyOf(view, "body_model"));
    HALYARD_RETURN_IF_ERROR(requireInputs(condition, inputs));
    if (condition.outputCount() != 1) {
        return wrongCount("outputs", condition, condition.outputCount(), "1");
    }
    HALYARD_RETURN_IF_ERROR(requireCondition(condition.output(0)));
    HALYARD_RETURN_IF_ERROR(requireInputs(body, inputs));
    if (body.outputCount() < outputs.size() || body.outputCount() > inputs.size()) {
        return wrongCount("outputs", body, body.outputCount(),
                          std::to_string(outputs.size()) + " to " + std::to_string(inputs.size()));
    }
    HALYARD_RETURN_IF_ERROR(requireOutputs(body, outputs));
    for (size_t i = 0; i < body.outputCount(); ++i) {
        HALYARD_RETURN_IF_ERROR(requireAgreement(body.input(i), body.output(i)));
    }
    return {};
}

Status lowerIf(Lowering& lowering) {
    engine::If node;
    HALYARD_ASSIGN_OR_RETURN(node.then, lowering.nested("then_model"));
    HALYARD_ASSIGN_OR_RETURN(node.otherwise, lowering.nested("else_model"));
    HALYARD_ASSIGN_OR_RETURN(std::vector<engine::TensorId> inputs, lowering.inputs("inputs"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId condition, lowering.input("condition"));
    inputs.insert(inputs.begin(), condition);
    HALYARD_ASSIGN_OR_RETURN(std::vector<engine::TensorId> outputs, lowering.outputs("outputs"));
    lowering.addNode(std::move(node), std::move(inputs), std::move(outputs));
    return {};
}

Status lowerWhile(Lowering& lowering) {
    engine::While node;
    HALYARD_ASSIGN_OR_RETURN(node.condition, lowering.nested("condition_model"));
    HALYARD_ASSIGN_OR_RETURN(node.body, lowering.nested("body_model"));
    HALYARD_ASSIGN_OR_RETURN(std::vector<engine::TensorId> inputs, lowering.inputs("inputs"));
    HALYARD_ASSIGN_OR_RETURN(std::vector<engine::TensorId> outputs, lowering.outputs("outputs"));
    lowering.addNode(std::move(node), std::move(inputs), std::move(outputs));
    return {};
}

}  // namespace

std::vector<OperationDefinition> controlFlowOperations() {
    return {
            {.type = OperationType::IF,
             .forms = {{V1_3,
                        {tensor("condition", TENSOR_BOOL8).orOmitted(), subgraph("then_model"),
                         subgraph("else_model"), anything("inputs").orOmitted().repeated(0)},
                        {anything("outputs").repeated()}}},
             .rows = {{V1_3, {}}},
             .validate = validateIf,
             .lower = lowerIf},
            {.type = OperationType::WHILE,
             .forms = {{V1_3,
                        {subgraph("condition_model"), subgraph("body_model"),
                         anything("inputs").orOmitted().repeated()},
                        {anything("outputs").repeated()}}},
             .rows = {{V1_3, {}}},
             .validate = validateWhile,
             .lower = lowerWhile},
    };
}

}  // namespace halyard::driver
