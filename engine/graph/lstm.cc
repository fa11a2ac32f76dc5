// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "engine/graph/node_rules.h"
#include "engine/graph/recurrence.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace lstm {
namespace {

std::string nameOf(size_t input) {
    return "the " + std::string(LstmSequence::kInputs[input].name);
}

// All of them or none: whether they are there. They are called `what` together.
Result<bool> allOrNone(std::span<const KnownInput> inputs, std::initializer_list<size_t> group,
                       std::string_view what) {
    const bool expected = inputs[*group.begin()].present();
    for (const size_t input : group) {
        if (inputs[input].present() != expected) {
            const size_t absent = expected ? input : *group.begin();
            return invalidArgument(nameOf(absent) + " is left out, but other parts of " +
                                   std::string(what) + " are not");
        }
    }
    return expected;
}

// A part of the input gate that belongs to an optional `group`: there together with it, unless
// there is no input gate, when it doesn't matter.
Status followsGroup(std::span<const KnownInput> inputs, size_t input, bool groupPresent,
                    bool hasInputGate, std::string_view what) {
    if (inputs[input].present() != groupPresent && (hasInputGate || inputs[input].present())) {
        return invalidArgument(nameOf(input) + (groupPresent ? " is" : " is not") +
                               " left out, but other parts of " + std::string(what) +
                               (groupPresent ? " are not" : " are"));
    }
    return {};
}

Status agreeWhere(std::span<const KnownInput> inputs, std::initializer_list<size_t> which,
                  std::initializer_list<int32_t*> expected) {
    for (const size_t input : which) {
        if (!inputs[input].present()) {
            continue;
        }
        const bool mayBeLeftOut = (LstmSequence::kInputs[input].traits & kOmittable) != 0;
        if (!mayBeLeftOut || !isPlaceholder(inputs[input].shape())) {
            HALYARD_RETURN_IF_ERROR(agree(inputs[input].shape(), nameOf(input), expected));
        }
    }
    return {};
}

}  // namespace

Status checkParts(std::span<const KnownInput> inputs) {
    HALYARD_ASSIGN_OR_RETURN(
            const bool hasInputGate,
            allOrNone(inputs, {kInputToInputWeights, kRecurrentToInputWeights, kInputGateBias},
                      "the input gate"));
    HALYARD_ASSIGN_OR_RETURN(
            const bool hasPeepholes,
            allOrNone(inputs, {kCellToForgetWeights, kCellToOutputWeights}, "the peepholes"));
    HALYARD_RETURN_IF_ERROR(
            followsGroup(inputs, kCellToInputWeights, hasPeepholes, hasInputGate, "the peepholes"));
    HALYARD_ASSIGN_OR_RETURN(
            const bool hasLayerNorm,
            allOrNone(inputs,
                      {kForgetLayerNormWeights, kCellLayerNormWeights, kOutputLayerNormWeights},
                      "the layer normalisation"));
    HALYARD_RETURN_IF_ERROR(followsGroup(inputs, kInputLayerNormWeights, hasLayerNorm, hasInputGate,
                                         "the layer normalisation"));
    if (inputs[kProjectionBias].present() && !inputs[kProjectionWeights].present()) {
        return invalidArgument("there is a projection bias, but no projection");
    }
    if (inputs.size() <= kAux) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(
            const bool hasAuxWeights,
            allOrNone(inputs, {kAuxToForgetWeights, kAuxToCellWeights, kAuxToOutputWeights},
                      "the auxiliary weights"));
    if (hasAuxWeights && !inputs[kAux].present()) {
        return invalidArgument("there are auxiliary weights, but no auxiliary input");
    }
    return followsGroup(inputs, kAuxToInputWeights, hasAuxWeights, hasInputGate,
                        "the auxiliary weights");
}

Status checkShapes(std::span<const KnownInput> inputs, Extents& extents) {
    const bool projects = inputs[kProjectionWeights].present();
    // Without a projection the output is as large as the cell: one extent, known by two names.
    int32_t* const units = &extents.units;
    int32_t* const output = projects ? &extents.output : &extents.units;
    HALYARD_RETURN_IF_ERROR(agreeWhere(inputs, {kProjectionWeights}, {&extents.output, units}));
    HALYARD_RETURN_IF_ERROR(agreeWhere(inputs, {kProjectionBias}, {&extents.output}));
    HALYARD_RETURN_IF_ERROR(agreeWhere(inputs,
                                       {kInputToInputWeights, kInputToForgetWeights,
                                        kInputToCellWeights, kInputToOutputWeights},
                                       {units, &extents.input}));
    HALYARD_RETURN_IF_ERROR(agreeWhere(inputs,
                                       {kRecurrentToInputWeights, kRecurrentToForgetWeights,
                                        kRecurrentToCellWeights, kRecurrentToOutputWeights},
                                       {units, output}));
    HALYARD_RETURN_IF_ERROR(agreeWhere(
            inputs,
            {kCellToInputWeights, kCellToForgetWeights, kCellToOutputWeights, kInputGateBias,
             kForgetGateBias, kCellGateBias, kOutputGateBias, kInputLayerNormWeights,
             kForgetLayerNormWeights, kCellLayerNormWeights, kOutputLayerNormWeights},
            {units}));
    HALYARD_RETURN_IF_ERROR(agreeWhere(inputs, {kOutputState}, {&extents.batch, output}));
    HALYARD_RETURN_IF_ERROR(agreeWhere(inputs, {kCellState}, {&extents.batch, units}));
    if (inputs.size() > kAux) {
        HALYARD_RETURN_IF_ERROR(agreeWhere(
                inputs,
                {kAuxToInputWeights, kAuxToForgetWeights, kAuxToCellWeights, kAuxToOutputWeights},
                {units, &extents.aux}));
    }
    extents.output = *output;
    return {};
}

Status checkClips(float cellClip, float projectionClip) {
    for (const float clip : {cellClip, projectionClip}) {
        if (!(clip >= 0.0F)) {
            return invalidArgument("a clamp must not be negative, but is " + std::to_string(clip));
        }
    }
    return {};
}

}  // namespace lstm

namespace {

// As the model has it, with or without room for the input gate, which specs give even where there
// is none. Otherwise only the run tells: a request may leave out what makes the gate.
Result<Shape> scratchShape(const Shape& declared, const lstm::Extents& extents) {
    if (!declared.hasKnownRank() || declared.rank() != 2) {
        return Shape{extents.batch, kUnknownDimension};  // another rank contradicts this
    }
    const int64_t units = extents.units;
    if (units != kUnknownDimension && declared[1] != kUnknownDimension &&
        declared[1] != 3 * units && declared[1] != 4 * units) {
        return invalidArgument("the scratch of shape " + declared.toString() +
                               " has room for neither 3 nor 4 gates of " + std::to_string(units) +
                               " units");
    }
    return Shape{extents.batch, declared[1]};
}

}  // namespace

Status inferShapes(const Lstm& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkSameFloats(inputs, outputs));
    HALYARD_RETURN_IF_ERROR(lstm::checkParts(inputs));
    HALYARD_RETURN_IF_ERROR(
            lstm::checkClips(node.attributes.cellClip, node.attributes.projectionClip));
    lstm::Extents extents;
    HALYARD_RETURN_IF_ERROR(
            agree(inputs[lstm::kX].shape(), "the input", {&extents.batch, &extents.input}));
    HALYARD_RETURN_IF_ERROR(lstm::checkShapes(inputs, extents));
    HALYARD_ASSIGN_OR_RETURN(outputs[0].shape, scratchShape(outputs[0].shape, extents));
    outputs[1].shape = {extents.batch, extents.output};
    outputs[2].shape = {extents.batch, extents.units};
    outputs[3].shape = {extents.batch, extents.output};
    return {};
}

namespace {

Status inferSequence(const LstmSequence& node, std::span<const KnownInput> inputs,
                     std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(lstm::checkParts(inputs));
    lstm::Extents extents;
    int32_t time = kUnknownDimension;
    int32_t unread = kUnknownDimension;
    const bool auxIsX =
            takesAuxForX(node.backward, inputs[lstm::kAux], inputs[lstm::kAuxToForgetWeights]);
    HALYARD_RETURN_IF_ERROR(agreeSequence(inputs[lstm::kX].shape(), "the input", node.timeMajor,
                                          time, extents.batch, auxIsX ? unread : extents.input));
    if (inputs[lstm::kAux].present() && !isPlaceholder(inputs[lstm::kAux].shape())) {
        HALYARD_RETURN_IF_ERROR(agreeSequence(inputs[lstm::kAux].shape(), "the auxiliary input",
                                              node.timeMajor, time, extents.batch,
                                              auxIsX ? extents.input : extents.aux));
    }
    HALYARD_RETURN_IF_ERROR(lstm::checkShapes(inputs, extents));
    outputs[0].shape = sequenceShape(node.timeMajor, time, extents.batch, extents.output);
    outputs[1].shape = {extents.batch, extents.output};
    outputs[2].shape = {extents.batch, extents.units};
    return {};
}

}  // namespace

Status inferShapes(const LstmSequence& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkSameFloats(inputs, outputs));
    HALYARD_RETURN_IF_ERROR(
            lstm::checkClips(node.attributes.cellClip, node.attributes.projectionClip));
    return inferWithOrWithoutAuxWeights(inputs, lstm::kAuxToInputWeights,
                                        [&](std::span<const KnownInput> present) {
                                            return inferSequence(node, present, outputs);
                                        });
}

}  // namespace halyard::engine
