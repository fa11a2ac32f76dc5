// SPDX-License-Identifier: Apache-2.0
//
// Regions of a feature map brought to one size.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

#include "engine/numerics/elements.h"
#include "engine/numerics/reals.h"
#include "engine/reference/kernels.h"
#include "engine/reference/ranking.h"

namespace halyard::engine::ref {
namespace {

// A region along one axis, in pixels of x: `bins` of equal length, each with as many samples.
class Samples {
  public:
    Samples(float begin, float end, int32_t bins, int32_t ratio, int32_t extent)
        : mBegin(begin),
          mBin(std::max(end - begin, 1.0F) / static_cast<float>(bins)),
          mExtent(extent) {
        // At least one, and as many as int64 holds with ease.
        mCount = ratio > 0 ? ratio : static_cast<int64_t>(std::min(std::ceil(mBin), 0x1p30F));
        mStep = mBin / static_cast<float>(mCount);
    }

    int64_t count() const { return mCount; }

    float at(int64_t bin, int64_t sample) const {
        return mBegin + static_cast<float>(bin) * mBin +
               (static_cast<float>(sample) + 0.5F) * mStep;
    }

    // Whether a sample is on the feature map or close enough to it to count.
    bool counts(float position) const {
        return position >= -1.0F && position <= static_cast<float>(mExtent) && mExtent > 0;
    }

    // The samples of a bin that may count: a region may be far larger than the feature map.
    struct Range {
        int64_t first = 0;
        int64_t end = 0;
    };
    Range range(int64_t bin) const {
        const double start = at(bin, 0);
        const auto indexOf = [&](double position) {
            const double index = (position - start) / static_cast<double>(mStep);
            return std::clamp(index, 0.0, static_cast<double>(mCount));
        };
        // One more at either end for what float32 rounds.
        return {.first = std::max<int64_t>(static_cast<int64_t>(indexOf(-1.0)) - 1, 0),
                .end = std::min(static_cast<int64_t>(indexOf(mExtent)) + 3, mCount)};
    }

  private:
    float mBegin;
    float mBin;
    int32_t mExtent;
    int64_t mCount = 1;
    float mStep = 1.0F;
};

// The two pixels next to a sample and how much of it the second one has.
struct Neighbours {
    int64_t low = 0;
    int64_t high = 0;
    float share = 0.0F;
};

Neighbours neighboursOf(float position, int64_t extent) {
    const float inside = std::max(position, 0.0F);
    const auto low = static_cast<int64_t>(inside);
    if (low >= extent - 1) {
        return {.low = extent - 1, .high = extent - 1};
    }
    return {.low = low, .high = low + 1, .share = inside - static_cast<float>(low)};
}

struct Region {
    int32_t batch = 0;
    float x1 = 0.0F;
    float y1 = 0.0F;
    float x2 = 0.0F;
    float y2 = 0.0F;
};

// The region `index` in pixels of x, or why it is none.
Result<Region> regionOf(const KernelCall& call, int64_t index, float heightRatio,
                        float widthRatio) {
    const RealReader boxes(call.input(1));
    const int32_t batch = call.input(2).as<int32_t>()[index];
    const int32_t batchCount = call.input(0).shape()[0];
    if (batch < 0 || batch >= batchCount) {
        return invalidArgument("region " + std::to_string(index) + " lies in batch " +
                               std::to_string(batch) + " of " + std::to_string(batchCount));
    }
    const Region region = {.batch = batch,
                           .x1 = boxes[index * 4] / widthRatio,
                           .y1 = boxes[index * 4 + 1] / heightRatio,
                           .x2 = boxes[index * 4 + 2] / widthRatio,
                           .y2 = boxes[index * 4 + 3] / heightRatio};
    // Not so for NaN and infinity, either.
    const bool sound = region.x2 - region.x1 >= 0.0F && region.y2 - region.y1 >= 0.0F &&
                       std::isfinite(region.x2 - region.x1) && std::isfinite(region.y2 - region.y1);
    if (!sound) {
        return invalidArgument("region " + std::to_string(index) +
                               " ends before it begins, or is infinite");
    }
    return region;
}

// A region's bins along one axis for a maximum, in whole pixels; both ends of the region lie in it.
class Bins {
  public:
    Bins(float begin, float end, int32_t bins, int32_t extent)
        : mBegin(std::round(begin)),
          mBin((std::round(end) - mBegin + 1) / static_cast<float>(bins)),
          mExtent(extent) {}

    // Neighbouring bins may share a pixel. A bin beyond the feature map is empty.
    int64_t first(int64_t bin) const {
        return inside(std::floor(mBin * static_cast<float>(bin) + mBegin));
    }
    int64_t end(int64_t bin) const {
        return inside(std::ceil(mBin * static_cast<float>(bin + 1) + mBegin));
    }

  private:
    int64_t inside(float pixel) const { return std::min(static_cast<int64_t>(pixel), mExtent); }

    float mBegin;
    float mBin;
    int64_t mExtent;
};

// The element that stands for 0.
template <typename T>
T zeroOf(const TensorType& type) {
    if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(type.quantization.zeroPoint);
    } else {
        return fromReal<T>(0.0F);
    }
}

// Checks a region as NNAPI's own implementation does for those that it takes maxima of.
Status checkInside(const Region& region, int64_t index, const Shape& x) {
    const bool inside = region.x1 >= 0.0F && region.y1 >= 0.0F &&
                        region.x2 <= static_cast<float>(x[2]) &&
                        region.y2 <= static_cast<float>(x[1]);
    return inside ? Status()
                  : invalidArgument("region " + std::to_string(index) +
                                    " reaches beyond the feature map");
}

}  // namespace

Status run(const RoiAlign& node, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    const int64_t depth = x[3];
    const RealReader reader(call.input(0));
    const RealWriter writer(call.output(0));
    HALYARD_ASSIGN_OR_RETURN(const std::span<float> sums,
                             call.scratch<float>(static_cast<size_t>(depth)));
    // Adds one sample to the sums.
    const auto addSample = [&](int64_t batch, const Neighbours& row, const Neighbours& column) {
        const std::array<float, 4> weights = {
                (1.0F - row.share) * (1.0F - column.share), (1.0F - row.share) * column.share,
                row.share * (1.0F - column.share), row.share * column.share};
        const auto pixel = [&](int64_t i, int64_t j) {
            return ((batch * x[1] + i) * x[2] + j) * depth;
        };
        const std::array<int64_t, 4> pixels = {
                pixel(row.low, column.low), pixel(row.low, column.high),
                pixel(row.high, column.low), pixel(row.high, column.high)};
        return call.forEach(depth, 4, [&](int64_t channel) {
            for (size_t corner = 0; corner < 4; ++corner) {
                sums[static_cast<size_t>(channel)] +=
                        weights[corner] * reader[pixels[corner] + channel];
            }
        });
    };
    const int64_t bins = static_cast<int64_t>(node.height) * node.width;
    for (int64_t roi = 0; roi < output[0]; ++roi) {
        HALYARD_ASSIGN_OR_RETURN(const Region region,
                                 regionOf(call, roi, node.heightRatio, node.widthRatio));
        const Samples rows(region.y1, region.y2, node.height, node.samplesH, x[1]);
        const Samples columns(region.x1, region.x2, node.width, node.samplesW, x[2]);
        const auto samples = static_cast<float>(rows.count()) * static_cast<float>(columns.count());
        const auto computeBins = [&](int64_t begin, int64_t end) -> Status {
            for (int64_t bin = begin; bin < end; ++bin) {
                HALYARD_RETURN_IF_ERROR(call.forEach(
                        depth, 1, [&](int64_t i) { sums[static_cast<size_t>(i)] = 0.0F; }));
                const Samples::Range rowRange = rows.range(bin / node.width);
                const Samples::Range columnRange = columns.range(bin % node.width);
                for (int64_t i = rowRange.first; i < rowRange.end; ++i) {
                    const float y = rows.at(bin / node.width, i);
                    for (int64_t j = columnRange.first; j < columnRange.end; ++j) {
                        const float position = columns.at(bin % node.width, j);
                        HALYARD_RETURN_IF_ERROR(call.checkpoint(1));
                        if (rows.counts(y) && columns.counts(position)) {
                            HALYARD_RETURN_IF_ERROR(addSample(region.batch, neighboursOf(y, x[1]),
                                                              neighboursOf(position, x[2])));
                        }
                    }
                }
                HALYARD_RETURN_IF_ERROR(call.forEach(depth, 1, [&](int64_t channel) {
                    writer.set((roi * bins + bin) * depth + channel,
                               sums[static_cast<size_t>(channel)] / samples);
                }));
            }
            return {};
        };
        HALYARD_RETURN_IF_ERROR(call.inSlices(bins, 1, computeBins));
    }
    return {};
}

// A bin without pixels has the real 0.
Status run(const RoiPool& node, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const int64_t depth = x[3];
    const int64_t bins = static_cast<int64_t>(node.height) * node.width;
    const auto poolRegion = [&]<typename T>(int64_t roi, const Region& region) -> Status {
        const Bins rows(region.y1, region.y2, node.height, x[1]);
        const Bins columns(region.x1, region.x2, node.width, x[2]);
        const T* image =
                call.input(0).as<T>() + static_cast<int64_t>(region.batch) * x[1] * x[2] * depth;
        T* to = call.output(0).as<T>() + roi * bins * depth;
        const T zero = zeroOf<T>(*call.input(0).type);
        for (int64_t bin = 0; bin < bins; ++bin, to += depth) {
            HALYARD_RETURN_IF_ERROR(call.inSlices(depth, 1, [&](int64_t begin, int64_t end) {
                std::fill(to + begin, to + end, zero);
            }));
            const int64_t firstColumn = columns.first(bin % node.width);
            const int64_t width = columns.end(bin % node.width) - firstColumn;
            const int64_t firstRow = rows.first(bin / node.width);
            const int64_t height = rows.end(bin / node.width) - firstRow;
            HALYARD_RETURN_IF_ERROR(call.checkpoint(1));
            HALYARD_RETURN_IF_ERROR(call.forEach(width * height, 1, [&](int64_t i) {
                const T* pixel =
                        image + ((firstRow + i / width) * x[2] + firstColumn + i % width) * depth;
                return call.forEach(depth, 1, [&](int64_t channel) {
                    if (i == 0 || isLarger(ordered(pixel[channel]), ordered(to[channel]))) {
                        to[channel] = pixel[channel];
                    }
                });
            }));
        }
        return {};
    };
    for (int64_t roi = 0; roi < call.output(0).shape()[0]; ++roi) {
        HALYARD_ASSIGN_OR_RETURN(const Region region,
                                 regionOf(call, roi, node.heightRatio, node.widthRatio));
        HALYARD_RETURN_IF_ERROR(checkInside(region, roi, x));
        HALYARD_RETURN_IF_ERROR(withElements(call.input(0).type->type, [&]<typename T>() -> Status {
            return poolRegion.template operator()<T>(roi, region);
        }));
    }
    return {};
}

}  // namespace halyard::engine::ref
