// SPDX-License-Identifier: Apache-2.0
//
// Feature maps of another size, all channels of a spatial position side by side.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/data_movement/resize.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/lanes-inl.h"

#include <algorithm>
#include <cstring>

#include "engine/backends/cpu/elementwise/element_forms.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/numerics/interpolation.h"
#include "engine/numerics/resized_axis.h"

#ifndef HALYARD_ENGINE_BACKENDS_CPU_RESIZE_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_RESIZE_CC_
namespace halyard::engine::cpu {

// One spatial position of the output, and the four of x that it lies between.
struct MixedPixel {
    const void* topLeft = nullptr;
    const void* topRight = nullptr;
    const void* bottomLeft = nullptr;
    const void* bottomRight = nullptr;
    float right = 0.0F;   // the share of the right ones
    float bottom = 0.0F;  // and of those below
    int64_t channels = 0;
    void* to = nullptr;
};

using MixPixel = void (*)(const MixedPixel& pixel);

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// In the reference's order.
template <typename T>
void mixFloats(const MixedPixel& pixel) {
    const auto set = [](float value) HWY_ATTR { return hn::Set(kFloats, value); };
    const FloatVector bottom = set(pixel.bottom);
    const FloatVector top = set(1.0F - pixel.bottom);
    const FloatVector right = set(pixel.right);
    const FloatVector left = set(1.0F - pixel.right);
    forEachVector(pixel.channels, [&](int64_t i, auto there) HWY_ATTR {
        const auto load = [&](const void* from) HWY_ATTR {
            return loadFloats(static_cast<const T*>(from) + i, there);
        };
        FloatVector mixed = hn::Mul(hn::Mul(load(pixel.topLeft), top), left);
        mixed = hn::Add(mixed, hn::Mul(hn::Mul(load(pixel.bottomLeft), bottom), left));
        mixed = hn::Add(mixed, hn::Mul(hn::Mul(load(pixel.topRight), top), right));
        mixed = hn::Add(mixed, hn::Mul(hn::Mul(load(pixel.bottomRight), bottom), right));
        storeFloats(mixed, static_cast<T*>(pixel.to) + i, there);
    });
}

// interpolate() of interpolation.h.
template <typename T>
void mixBytes(const MixedPixel& pixel) {
    const IntVector half = hn::Set(kInts, 1 << (2 * kShareBits - 1));
    const IntVector right = hn::Set(kInts, fixedShare(pixel.right));
    const IntVector bottom = hn::Set(kInts, fixedShare(pixel.bottom));
    const auto mix = [](IntVector a, IntVector b, IntVector share) HWY_ATTR {
        return hn::Add(hn::ShiftLeft<kShareBits>(a), hn::Mul(hn::Sub(b, a), share));
    };
    forEachVector(pixel.channels, [&](int64_t i, auto there) HWY_ATTR {
        const auto load = [&](const void* from) HWY_ATTR {
            return loadInts(static_cast<const T*>(from) + i, there);
        };
        const IntVector top = mix(load(pixel.topLeft), load(pixel.topRight), right);
        const IntVector down = mix(load(pixel.bottomLeft), load(pixel.bottomRight), right);
        const IntVector mixed = hn::Add(mix(top, down, bottom), half);
        storeInts(hn::ShiftRight<2 * kShareBits>(mixed), static_cast<T*>(pixel.to) + i, there);
    });
}

}  // namespace

const ElementForms<MixPixel>* mixPixels() {
    static const ElementForms<MixPixel> kForms = {.floats = mixFloats<float>,
                                                  .halves = mixFloats<Half>,
                                                  .unsignedBytes = mixBytes<uint8_t>,
                                                  .signedBytes = mixBytes<int8_t>};
    return &kForms;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {
namespace {

// Pixels of the output in tiles: so many columns of so many rows, whose places are found once.
constexpr int64_t kColumns = 64;
constexpr int64_t kRows = 8;
constexpr int64_t kChannels = 1024;  // and so many channels of each

// Parameters that the spatial positions of one tile share.
struct ResizeTile {
    int64_t batch = 0;
    int64_t row = 0, rows = 0;
    int64_t column = 0, columns = 0;
    int64_t channel = 0, channels = 0;
};

// Calls body(tile) for tiles that cover the output, on all threads.
template <typename Body>
Status forEachTile(KernelCall& call, int64_t operationsPerChannel, Body body) {
    const Shape& output = call.output(0).shape();
    const int64_t down = (output[1] + kRows - 1) / kRows;
    const int64_t across = (output[2] + kColumns - 1) / kColumns;
    const int64_t deep = (output[3] + kChannels - 1) / kChannels;
    const int64_t pixels =
            std::min<int64_t>(kRows, output[1]) * std::min<int64_t>(kColumns, output[2]);
    const int64_t channels = std::min<int64_t>(kChannels, output[3]);
    const int64_t operations = pixels * (16 + channels * operationsPerChannel / 8);
    return call.inParallel(
            output[0] * down * across * deep, operations,
            [&](int64_t begin, int64_t end, size_t /*worker*/) {
                for (int64_t i = begin; i < end; ++i) {
                    ResizeTile tile = {.batch = i / deep / across / down,
                                       .row = i / deep / across % down * kRows,
                                       .column = i / deep % across * kColumns,
                                       .channel = i % deep * kChannels};
                    tile.rows = std::min<int64_t>(kRows, output[1] - tile.row);
                    tile.columns = std::min<int64_t>(kColumns, output[2] - tile.column);
                    tile.channels = std::min<int64_t>(kChannels, output[3] - tile.channel);
                    body(tile);
                }
            });
}

Status moveNearest(const Resize& node, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    const ResizedAxis rows(node, x[1], output[1]);
    const ResizedAxis columns(node, x[2], output[2]);
    const auto size = static_cast<int64_t>(elementSize(call.output(0).type->type));
    const auto* from = call.input(0).as<std::byte>();
    auto* to = call.output(0).as<std::byte>();
    return forEachTile(call, 1, [&](const ResizeTile& tile) {
        int64_t found[kColumns];
        for (int64_t j = 0; j < tile.columns; ++j) {
            found[j] = columns.nearest(tile.column + j);
        }
        for (int64_t i = tile.row; i < tile.row + tile.rows; ++i) {
            const int64_t rowOfX = (tile.batch * x[1] + rows.nearest(i)) * x[2];
            const int64_t row = (tile.batch * output[1] + i) * output[2] + tile.column;
            for (int64_t j = 0; j < tile.columns; ++j) {
                std::memcpy(to + ((row + j) * output[3] + tile.channel) * size,
                            from + ((rowOfX + found[j]) * output[3] + tile.channel) * size,
                            static_cast<size_t>(tile.channels * size));
            }
        }
    });
}

Status interpolate(const Resize& node, MixPixel form, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    const ResizedAxis rows(node, x[1], output[1]);
    const ResizedAxis columns(node, x[2], output[2]);
    const auto size = static_cast<int64_t>(elementSize(call.output(0).type->type));
    const auto* from = call.input(0).as<std::byte>();
    auto* to = call.output(0).as<std::byte>();
    return forEachTile(call, 8, [&](const ResizeTile& tile) {
        ResizedAxis::Neighbours found[kColumns];
        for (int64_t j = 0; j < tile.columns; ++j) {
            found[j] = columns.neighbours(tile.column + j);
        }
        for (int64_t i = tile.row; i < tile.row + tile.rows; ++i) {
            const ResizedAxis::Neighbours place = rows.neighbours(i);
            const int64_t row = (tile.batch * output[1] + i) * output[2] + tile.column;
            const auto pixelOfX = [&](int64_t rowOfX, int64_t column) {
                const int64_t pixel = (tile.batch * x[1] + rowOfX) * x[2] + column;
                return from + (pixel * output[3] + tile.channel) * size;
            };
            for (int64_t j = 0; j < tile.columns; ++j) {
                form({.topLeft = pixelOfX(place.low, found[j].low),
                      .topRight = pixelOfX(place.low, found[j].high),
                      .bottomLeft = pixelOfX(place.high, found[j].low),
                      .bottomRight = pixelOfX(place.high, found[j].high),
                      .right = found[j].share,
                      .bottom = place.share,
                      .channels = tile.channels,
                      .to = to + ((row + j) * output[3] + tile.channel) * size});
            }
        }
    });
}

}  // namespace

Status supports(const Resize& node, const Graph& graph, const Node& whole) {
    const DataType type = inputType(graph, whole).type;
    if (node.function == Resize::Function::BILINEAR && !isFloat(type) && !isOfBytes(type)) {
        return unsupported("interpolates floats and asymmetric 8-bit types, not " +
                           std::string(toString(type)));
    }
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const Resize& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    if (node.function == Resize::Function::NEAREST) {
        return plainKernel(arguments, {},
                           [node](KernelCall& call) { return moveNearest(node, call); });
    }
    const MixPixel form = HALYARD_CPU_CHOOSE(target.set, mixPixels)()->of(
            inputType(arguments.graph, arguments.node).type);
    return plainKernel(arguments, toString(target.set),
                       [node, form](KernelCall& call) { return interpolate(node, form, call); });
}

}  // namespace halyard::engine::cpu
#endif
