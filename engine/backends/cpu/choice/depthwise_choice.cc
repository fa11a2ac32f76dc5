// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/choice/depthwise_choice.h"

#include <algorithm>
#include <string>

namespace halyard::engine::cpu {

DepthwiseLayer DepthwiseLayer::of(int64_t output, int64_t channels, int64_t side, int64_t stride,
                                  int64_t lanes) {
    return {.outputH = output,
            .outputW = output,
            .channels = channels,
            .filterH = side,
            .filterW = side,
            .strideH = stride,
            .strideW = stride,
            .lanes = lanes};
}

namespace {

// Channels that a vector of NEON has.
constexpr int64_t kNeonBytes = 16;

Status takesInt8Dot(const DepthwiseLayer& layer, InstructionSet set) {
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
    return layer.channels >= kNeonBytes ? Status() : unsupported("takes 16 channels and more");
}

Status takesInt8Pairs(const DepthwiseLayer& layer) {
    if (!layer.hasSignedWeights) {
        return unsupported("takes weights without a zero point");
    }
    return layer.fitsPairs ? Status() : unsupported("16 bits do not hold two products by -128");
}

DepthwiseChoice chooseInt8Depthwise(const DepthwiseLayer& layer, InstructionSet set) {
    DepthwiseChoice choice;
    choice.form = Form::INT8_DEPTHWISE_WIDENED;
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

}  // namespace

bool mayPairProducts(const DepthwiseLayer& layer, InstructionSet set) {
    return set >= InstructionSet::NEON && layer.hasSignedWeights && !takesInt8Dot(layer, set).ok();
}

Result<int64_t> patchLines(const DepthwiseLayer& layer, const DepthwiseTuning& tuning) {
    const int64_t side = layer.filterH;
    if (layer.isHalf) {
        return unsupported("takes floats");
    }
    if (!layer.areFinite) {
        return unsupported("zeros around the feature map would meet weights that are not finite");
    }
    if (layer.multiplier != 1) {
        return unsupported("takes multipliers of 1");
    }
    if (layer.filterW != side || (side != 3 && side != 5)) {
        return unsupported("takes filters of 3x3 and 5x5");
    }
    if (layer.dilationH != 1 || layer.dilationW != 1) {
        return unsupported("takes dilations of 1");
    }
    const int64_t width = (layer.outputW - 1) * layer.strideW + side;
    const int64_t line = width * layer.lanes * int64_t{sizeof(float)};
    const int64_t lines = tuning.mostCopyBytes / line;
    const int64_t most = lines < side ? 0 : (lines - side) / layer.strideH + 1;
    const int64_t fewest = std::min(tuning.fewestLines, layer.outputH);
    return most >= fewest ? Result<int64_t>(most)
                          : unsupported("L1d has room for " + std::to_string(most) +
                                        " rows of the output, and " + std::to_string(fewest) +
                                        " are worth the copy");
}

DepthwiseChoice chooseDepthwise(const DepthwiseLayer& layer, const CpuTarget& target) {
    DepthwiseChoice choice;
    if (layer.isInt8) {
        return chooseInt8Depthwise(layer, target.set);
    }
    const Result<int64_t> lines = patchLines(layer, target.tuning.depthwise);
    if (!choice.lost.takes(Form::DEPTHWISE_PATCHES, lines.status())) {
        return choice;
    }
    choice.form = Form::DEPTHWISE_PATCHES;
    choice.patchLines = *lines;
    choice.lost.add(Form::DEPTHWISE_ROWS, "computes the edges of each row apart");
    return choice;
}

}  // namespace halyard::engine::cpu
