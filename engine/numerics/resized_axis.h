// SPDX-License-Identifier: Apache-2.0
//
// Where a pixel of a resized image comes from, along its height or its width. LiteRT's rule, in
// float32, step by step: a position that is rounded otherwise may be another pixel. Between pixels
// XNNPACK has centres at i * scale + (scale / 2 - 1 / 2); the nearest is TensorFlow Lite's own.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/graph/nodes.h"

namespace halyard::engine {

class ResizedAxis {
  public:
    ResizedAxis(const Resize& node, int32_t input, int32_t output)
        : mAlignCorners(node.alignCorners),
          mHalfPixelCenters(node.halfPixelCenters),
          mInput(input),
          mScale(node.alignCorners && output > 1
                         ? static_cast<float>(input - 1) / static_cast<float>(output - 1)
                         : static_cast<float>(input) / static_cast<float>(output)) {}

    int64_t nearest(int64_t i) const {
        const float position = (static_cast<float>(i) + offset()) * mScale;
        return clamp(mAlignCorners ? std::round(position) : std::floor(position));
    }

    // The pixels next to the place that the output's pixel has in x, and how much of it the second
    // one has. Where it has none of it both are the same pixel, as they are at the edge.
    struct Neighbours {
        int64_t low = 0;
        int64_t high = 0;
        float share = 0.0F;
    };
    Neighbours neighbours(int64_t i) const {
        float position = static_cast<float>(i) * mScale;
        if (mHalfPixelCenters) {
            position += 0.5F * mScale - 0.5F;
        }
        position = std::clamp(position, 0.0F, static_cast<float>(mInput - 1));
        const int64_t low = clamp(position);
        const float share = position - static_cast<float>(low);
        return {.low = low, .high = share == 0.0F ? low : clamp(low + 1), .share = share};
    }

  private:
    float offset() const { return mHalfPixelCenters ? 0.5F : 0.0F; }
    int64_t clamp(auto pixel) const {
        return std::clamp<int64_t>(static_cast<int64_t>(pixel), 0, mInput - 1);
    }

    bool mAlignCorners;
    bool mHalfPixelCenters;
    int64_t mInput;
    float mScale;
};

}  // namespace halyard::engine
