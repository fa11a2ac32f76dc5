// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/recurrence.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {

Status checkSameFloats(std::span<const KnownInput> inputs, std::span<const TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "the input", kFloats));
    for (size_t i = 1; i < inputs.size(); ++i) {
        if (inputs[i].present()) {
            HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "the input", *inputs[i].type,
                                                  "input " + std::to_string(i)));
        }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "the input", outputs[i],
                                              "output " + std::to_string(i)));
    }
    return {};
}

Shape sequenceShape(bool timeMajor, int32_t time, int32_t batch, int32_t size) {
    return timeMajor ? Shape{time, batch, size} : Shape{batch, time, size};
}

Status agreeSequence(const Shape& shape, std::string_view role, bool timeMajor, int32_t& time,
                     int32_t& batch, int32_t& size) {
    return agree(shape, role, {timeMajor ? &time : &batch, timeMajor ? &batch : &time, &size});
}

Status inferShapes(const Rnn& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkSameFloats(inputs, outputs));
    int32_t batch = kUnknownDimension;
    int32_t size = kUnknownDimension;
    int32_t units = kUnknownDimension;
    HALYARD_RETURN_IF_ERROR(agree(inputs[0].shape(), "the input", {&batch, &size}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[1].shape(), "the weights", {&units, &size}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[3].shape(), "the bias", {&units}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[4].shape(), "the hidden state", {&batch, &units}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[2].shape(), "the recurrent weights", {&units, &units}));
    outputs[0].shape = {batch, units};
    outputs[1].shape = {batch, units};
    return {};
}

namespace {

Status inferSequence(const RnnSequence& node, std::span<const KnownInput> inputs,
                     std::span<TensorType> outputs) {
    int32_t time = kUnknownDimension;
    int32_t batch = kUnknownDimension;
    int32_t size = kUnknownDimension;
    int32_t units = kUnknownDimension;
    int32_t aux = kUnknownDimension;
    int32_t unread = kUnknownDimension;
    const bool auxIsX = takesAuxForX(node.backward, inputs[5], inputs[6]);
    HALYARD_RETURN_IF_ERROR(agreeSequence(inputs[0].shape(), "the input", node.timeMajor, time,
                                          batch, auxIsX ? unread : size));
    if (inputs[5].present() && !isPlaceholder(inputs[5].shape())) {
        HALYARD_RETURN_IF_ERROR(agreeSequence(inputs[5].shape(), "the auxiliary input",
                                              node.timeMajor, time, batch, auxIsX ? size : aux));
    }
    if (inputs[6].present()) {
        if (!inputs[5].present()) {
            return invalidArgument("there are auxiliary weights, but no auxiliary input");
        }
        if (!isPlaceholder(inputs[6].shape())) {
            HALYARD_RETURN_IF_ERROR(
                    agree(inputs[6].shape(), "the auxiliary weights", {&units, &aux}));
        }
    }
    HALYARD_RETURN_IF_ERROR(agree(inputs[1].shape(), "the weights", {&units, &size}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[3].shape(), "the bias", {&units}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[4].shape(), "the hidden state", {&batch, &units}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[2].shape(), "the recurrent weights", {&units, &units}));
    outputs[0].shape = sequenceShape(node.timeMajor, time, batch, units);
    outputs[1].shape = {batch, units};
    return {};
}

}  // namespace

Status inferShapes(const RnnSequence& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    constexpr size_t kAuxWeights = 6;
    HALYARD_RETURN_IF_ERROR(checkSameFloats(inputs, outputs));
    return inferWithOrWithoutAuxWeights(inputs, kAuxWeights,
                                        [&](std::span<const KnownInput> present) {
                                            return inferSequence(node, present, outputs);
                                        });
}

Status inferShapes(const Svdf& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkSameFloats(inputs, outputs));
    HALYARD_RETURN_IF_ERROR(checkAtLeast(node.rank, 1, "the rank"));
    int32_t batch = kUnknownDimension;
    int32_t size = kUnknownDimension;
    int32_t filters = kUnknownDimension;
    int32_t memory = kUnknownDimension;
    HALYARD_RETURN_IF_ERROR(agree(inputs[0].shape(), "the input", {&batch, &size}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[1].shape(), "the feature weights", {&filters, &size}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[2].shape(), "the time weights", {&filters, &memory}));
    HALYARD_ASSIGN_OR_RETURN(int32_t units,
                             divideExtent(filters, node.rank, "the number of filters"));
    if (inputs[3].present()) {
        HALYARD_RETURN_IF_ERROR(agree(inputs[3].shape(), "the bias", {&units}));
    }
    HALYARD_ASSIGN_OR_RETURN(int32_t state,
                             multiplyExtents(memory, filters, "the size of the state"));
    HALYARD_RETURN_IF_ERROR(agree(inputs[4].shape(), "the state", {&batch, &state}));
    outputs[0].shape = {batch, state};
    outputs[1].shape = {batch, units};
    return {};
}

}  // namespace halyard::engine
