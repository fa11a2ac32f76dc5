// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/choice/depthwise_choice.h"

#include <string>

#include "engine/base/status.h"

namespace halyard::engine::cpu {

namespace {

// Channels that a vector of NEON has.
constexpr int64_t kNeonBytes = 16;

Status takesInt8Dot(const Int8DepthwiseLayer& layer, InstructionSet set) {
    if (!hasByteProducts(set) && set < InstructionSet::NEON_DOT) {
        return unsupported(std::string(toString(set)) + " has no dot products of bytes");
    }
    if (!layer.hasSignedWeights) {
        return unsupported("takes weights without a zero point");
    }
    if (hasByteProducts(set)) {
        return {};
    }
    // Columns are brought together once for all windows that share them. Other filters would have
    // theirs brought together for each window, which takes as many instructions as the products of
    // 8 bits do.
    const bool isKept =
            layer.filterH == layer.filterW && (layer.filterH == 3 || layer.filterH == 5);
    if (!isKept || layer.strideW > 2 || layer.dilationW != 1) {
        return unsupported("takes filters of 3x3 and 5x5 whose windows overlap");
    }
    if (!layer.blocksOverlap) {
        return unsupported("takes blocks of channels that may overlap");
    }
    return layer.channels >= kNeonBytes ? Status() : unsupported("takes 16 channels and more");
}

Status takesInt8Pairs(const Int8DepthwiseLayer& layer) {
    if (!layer.hasSignedWeights) {
        return unsupported("takes weights without a zero point");
    }
    return layer.fitsPairs ? Status() : unsupported("16 bits do not hold two products by -128");
}

Status takesHalves(bool isRough, InstructionSet set) {
    if (!hasHalfArithmetic(set)) {
        return unsupported(std::string(toString(set)) + " has no arithmetic of binary16");
    }
    return isRough ? Status() : unsupported("results have to be as exact as sums of floats");
}

}  // namespace

DepthwiseChoice chooseInt8Depthwise(const Int8DepthwiseLayer& layer, InstructionSet set) {
    DepthwiseChoice choice;
    if (choice.lost.takes(Form::INT8_DEPTHWISE_DOT, takesInt8Dot(layer, set))) {
        choice.form = Form::INT8_DEPTHWISE_DOT;
    } else if (set < InstructionSet::NEON) {
        return choice;
    } else if (choice.lost.takes(Form::INT8_DEPTHWISE_PAIRED, takesInt8Pairs(layer))) {
        choice.form = Form::INT8_DEPTHWISE_PAIRED;
    } else {
        return choice;
    }
    choice.lost.add(Form::INT8_DEPTHWISE_WIDENED, choice.form == Form::INT8_DEPTHWISE_DOT
                                                          ? "multiplies a quarter of the bytes"
                                                          : "multiplies half of the bytes");
    return choice;
}

DepthwiseChoice chooseHalfDepthwise(bool isRough, InstructionSet set) {
    DepthwiseChoice choice = {.form = Form::FLOAT_DEPTHWISE, .lost = {}};
    if (choice.lost.takes(Form::HALF_DEPTHWISE, takesHalves(isRough, set))) {
        choice.form = Form::HALF_DEPTHWISE;
        choice.lost.add(Form::FLOAT_DEPTHWISE, "multiplies half as many elements at a time");
    }
    return choice;
}

bool mayPairProducts(const Int8DepthwiseLayer& layer, InstructionSet set) {
    return set >= InstructionSet::NEON && layer.hasSignedWeights && !takesInt8Dot(layer, set).ok();
}

}  // namespace halyard::engine::cpu
