// SPDX-License-Identifier: Apache-2.0

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {

Asking::Asking(const NodeDescriptor& descriptor)
    : mNode(std::make_shared<Node>(Node{.descriptor = descriptor,
                                        .inputs = {},
                                        .outputs = {},
                                        .label = "node",
                                        .sources = {}})) {}

Result<std::vector<Shape>> Asking::shapes() const {
    std::vector<KnownInput> inputs;
    for (const Input& input : mInputs) {
        inputs.push_back({.type = input.type.has_value() ? &*input.type : nullptr,
                          .data = input.isKnown ? input.values.data() : nullptr,
                          .mayBeLeftOut = input.mayBeLeftOut});
    }
    const NodeSignature signature = signatureOf(mNode->descriptor);
    const auto mayBeLeftOut = [&](size_t input) {
        return input < signature.inputs.size() && signature.inputs[input].traits == kOmittable;
    };
    while (mayBeLeftOut(inputs.size())) {
        inputs.emplace_back();
    }
    std::vector<TensorType> outputs = mOutputs;
    if (outputs.empty()) {
        outputs.push_back(floats(Shape::unknownRank()));
    }
    HALYARD_RETURN_IF_ERROR(inferShapes(*mNode, inputs, outputs));
    std::vector<Shape> shapes;
    for (const TensorType& output : outputs) {
        shapes.push_back(output.shape);
    }
    return shapes;
}

Result<Shape> Asking::shape() const {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<Shape> all, shapes());
    return all.front();
}

std::string acceptedAlone(const NodeDescriptor& node, Shape shape) {
    return accepted([&](DataType type) {
        return Asking(node).with(typed(type, shape)).giving(typed(type, shape)).shape();
    });
}

Result<Shape> infer(const NodeDescriptor& node, const Question& question) {
    Asking asking(node);
    for (size_t i = 0; i < question.inputs.size(); ++i) {
        if (question.values != nullptr && i + 1 == question.inputs.size()) {
            asking.with(question.inputs[i], *question.values);
        } else {
            asking.with(question.inputs[i]);
        }
    }
    return asking.giving(question.output).shape();
}

}  // namespace halyard::engine::nodes_test
