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

Form int8DepthwiseForm(InstructionSet set, bool hasSignedWeights) {
    const bool hasProducts = hasByteProducts(set) || set >= InstructionSet::NEON_DOT;
    return hasProducts && hasSignedWeights ? Form::INT8_DEPTHWISE_DOT
                                           : Form::INT8_DEPTHWISE_WIDENED;
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
        choice.form = int8DepthwiseForm(target.set, layer.hasSignedWeights);
        if (choice.form == Form::INT8_DEPTHWISE_WIDENED) {
            choice.lost.add(Form::INT8_DEPTHWISE_DOT,
                            layer.hasSignedWeights ? std::string(toString(target.set)) +
                                                             " has no dot products of bytes"
                                                   : "takes weights without a zero point");
        } else {
            choice.lost.add(Form::INT8_DEPTHWISE_WIDENED, "multiplies a quarter of the bytes");
        }
        return choice;
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
