// SPDX-License-Identifier: Apache-2.0
//
// MediaPipe's custom operators, as far as their meaning is public and the engine has words for it.
// Their options are structures of TFLite's C interface, byte by byte: of a window the padding, the
// strides (width first) and, of a pool, the window's extents; an activation may stand behind. All
// are of FLOAT32.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "importers/tflite/operators/axes.h"
#include "importers/tflite/operators/custom.h"

namespace halyard::tflite {
namespace {

using engine::DataType;
using engine::TensorType;

// Numbered as the C interface has them.
constexpr int32_t kSame = 1;
constexpr int32_t kValid = 2;
constexpr int32_t kMostStride = 1 << 15;
// Each place of a window is a slice of the image.
constexpr int32_t kMostPlaces = 64;
// Added to an index, so that it stays the same where it is cut off.
constexpr double kAbove = 0.1;
constexpr size_t kWordsOfConvolution = 3;
constexpr size_t kWordsOfPool = 5;

struct CustomWindow {
    int32_t padding = 0;
    int32_t strideW = 1;
    int32_t strideH = 1;
    int32_t filterW = 1;
    int32_t filterH = 1;
};

int32_t wordOf(std::span<const uint8_t> bytes, size_t i) {
    uint32_t word = 0;
    for (size_t byte = 0; byte < 4; ++byte) {
        word |= static_cast<uint32_t>(bytes[4 * i + byte]) << (8 * byte);
    }
    return static_cast<int32_t>(word);
}

Result<CustomWindow> readWindow(const Mapper& mapper, size_t words) {
    const std::span<const uint8_t> bytes = mapper.op().customOptions;
    if (bytes.size() < 4 * words) {
        return unsupported("its options have " + std::to_string(bytes.size()) + " bytes, and " +
                           std::to_string(4 * words) + " are wanted");
    }
    CustomWindow window = {
            .padding = wordOf(bytes, 0), .strideW = wordOf(bytes, 1), .strideH = wordOf(bytes, 2)};
    if (words == kWordsOfPool) {
        window.filterW = wordOf(bytes, 3);
        window.filterH = wordOf(bytes, 4);
    }
    for (const int32_t extent : {window.strideW, window.strideH, window.filterW, window.filterH}) {
        if (extent < 1 || extent >= kMostStride) {
            return unsupported("one of its strides and extents is " + std::to_string(extent));
        }
    }
    if (window.filterW * window.filterH > kMostPlaces) {
        return unsupported("its window has " + std::to_string(window.filterW * window.filterH) +
                           " places");
    }
    if (window.padding != kSame && window.padding != kValid) {
        return unsupported("its padding is " + std::to_string(window.padding));
    }
    if (bytes.size() >= 4 * words + 4 && wordOf(bytes, words) != 0) {
        return unsupported("its fused activation is " + std::to_string(wordOf(bytes, words)));
    }
    return window;
}

Status checkFloats(const Mapper& mapper) {
    for (const std::vector<int32_t>* list : {&mapper.op().inputs, &mapper.op().outputs}) {
        for (const int32_t index : *list) {
            if (index == kOmitted || mapper.tensor(index).type != ElementType::FLOAT32) {
                return unsupported("one of its tensors is not of FLOAT32");
            }
        }
    }
    return {};
}

std::string shown(const std::vector<int32_t>& extents) {
    const Result<engine::Shape> shape = engine::Shape::create(extents);
    return shape.ok() ? shape->toString() : "of " + std::to_string(extents.size()) + " axes";
}

TensorType floats() {
    return {.type = DataType::FLOAT32, .shape = engine::Shape::unknownRank(), .quantization = {}};
}

TensorType truths() {
    return {.type = DataType::BOOL8, .shape = engine::Shape::unknownRank(), .quantization = {}};
}

// A tensor full of a value: Select takes its inputs in one shape.
Result<TensorId> filled(Mapper& mapper, const std::vector<int32_t>& extents, double value) {
    HALYARD_ASSIGN_OR_RETURN(const TensorId one, mapper.scalar(floats(), value));
    const TensorId list = mapper.int32Constant(extents);
    return mapper.emitInner(engine::Fill{}, {list, one}, floats());
}

Result<TensorId> emitEqual(Mapper& mapper, TensorId a, TensorId b) {
    return mapper.emitInner(engine::Compare{.function = engine::Compare::Function::EQUAL}, {a, b},
                            truths());
}

}  // namespace

// MediaPipe's own kernel and LiteRT's have other extents of SAME where an input's is odd: both cut
// off what the file says, half of it before.
Status mapConvolutionTransposeBias(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(3, 3));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const CustomWindow given, readWindow(mapper, kWordsOfConvolution));
    HALYARD_RETURN_IF_ERROR(checkFloats(mapper));
    std::array<TensorId, 3> inputs = {};
    std::array<std::vector<int32_t>, 3> shapes;
    for (size_t place = 0; place < inputs.size(); ++place) {
        HALYARD_ASSIGN_OR_RETURN(inputs[place], mapper.readInput(place));
        HALYARD_ASSIGN_OR_RETURN(shapes[place], mapper.extents(inputs[place]));
    }
    const auto& [image, filter, bias] = shapes;
    const std::vector<int32_t>& output = mapper.tensor(mapper.op().outputs[0]).shape;
    if (image.size() != 4 || filter.size() != 4 || bias.size() != 1 || bias[0] != filter[0] ||
        image[3] != filter[3] || output.size() != 4 || output[0] != image[0] ||
        output[3] != filter[0]) {
        return unsupported("it makes " + shown(output) + " of " + shown(image) + ", " +
                           shown(filter) + " and " + shown(bias));
    }
    const std::array<int32_t, 2> strides = {given.strideH, given.strideW};
    std::array<int32_t, 2> cut = {};
    for (size_t side = 0; side < 2; ++side) {
        const int64_t whole =
                int64_t{strides[side]} * (int64_t{image[side + 1]} - 1) + filter[side + 1];
        const int64_t most = given.padding == kSame ? int64_t{filter[side + 1]} - 1 : 0;
        const int64_t pad = whole - output[side + 1];
        if (pad < 0 || pad > most) {
            return unsupported("its output is " + shown(output) + ", of " + std::to_string(whole) +
                               " along an axis");
        }
        cut[side] = static_cast<int32_t>(pad);
    }
    return mapper.emit(
            engine::TransposeConv2d{.window = {.padding = engine::PaddingScheme::EXPLICIT,
                                               .top = cut[0] / 2,
                                               .bottom = cut[0] - cut[0] / 2,
                                               .left = cut[1] / 2,
                                               .right = cut[1] - cut[1] / 2,
                                               .strideH = given.strideH,
                                               .strideW = given.strideW}},
            {inputs[0], inputs[1], inputs[2], engine::kNoTensor});
}

// Where in its window each largest number is, too, of equals the first, as a float: from the last
// place on, each takes those that it has.
Status mapMaxPoolingWithArgmax(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const CustomWindow given, readWindow(mapper, kWordsOfPool));
    HALYARD_RETURN_IF_ERROR(checkFloats(mapper));
    HALYARD_ASSIGN_OR_RETURN(TensorId image, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> shape, mapper.extents(image));
    if (shape.size() != 4 || shape[1] < 1 || shape[2] < 1) {
        return unsupported("its input is " + shown(shape));
    }
    const std::array<int32_t, 2> strides = {given.strideH, given.strideW};
    const std::array<int32_t, 2> filters = {given.filterH, given.filterW};
    std::vector<int32_t> result = shape;
    std::vector<int32_t> pads(8);
    for (size_t side = 0; side < 2; ++side) {
        const int64_t extent = shape[side + 1];
        int64_t pad = 0;
        if (given.padding == kSame) {
            const int64_t steps = (extent + strides[side] - 1) / strides[side];
            pad = std::max<int64_t>((steps - 1) * strides[side] + filters[side] - extent, 0);
        }
        if (extent + pad < filters[side]) {
            return unsupported("its window is larger than its input, " + shown(shape));
        }
        pads[2 * (side + 1)] = static_cast<int32_t>(pad / 2);
        pads[2 * (side + 1) + 1] = static_cast<int32_t>(pad - pad / 2);
        result[side + 1] = static_cast<int32_t>((extent + pad - filters[side]) / strides[side] + 1);
    }
    if (std::ranges::any_of(pads, [](int32_t pad) { return pad != 0; })) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId paddings, pairs(mapper, pads));
        HALYARD_ASSIGN_OR_RETURN(const TensorId lowest,
                                 mapper.scalar(floats(), std::numeric_limits<float>::lowest()));
        HALYARD_ASSIGN_OR_RETURN(
                image, mapper.emitInner(engine::Pad{}, {image, paddings, lowest}, floats()));
    }
    const engine::Pool2d pool = {.function = engine::Pool2d::Function::MAX,
                                 .window = {.padding = engine::PaddingScheme::VALID,
                                            .strideH = given.strideH,
                                            .strideW = given.strideW},
                                 .filterH = given.filterH,
                                 .filterW = given.filterW};
    HALYARD_ASSIGN_OR_RETURN(const TensorId largest, mapper.emitInner(pool, {image}, floats()));
    HALYARD_ASSIGN_OR_RETURN(TensorId at, filled(mapper, result, kAbove));
    for (int32_t place = given.filterH * given.filterW - 1; place >= 0; --place) {
        const int32_t row = place / given.filterW;
        const int32_t column = place % given.filterW;
        const std::vector<int32_t> begin = {0, row, column, 0};
        const std::vector<int32_t> end = {result[0], row + given.strideH * (result[1] - 1) + 1,
                                          column + given.strideW * (result[2] - 1) + 1, result[3]};
        const std::vector<int32_t> steps = {1, given.strideH, given.strideW, 1};
        const TensorId first = mapper.int32Constant(begin);
        const TensorId last = mapper.int32Constant(end);
        const TensorId step = mapper.int32Constant(steps);
        HALYARD_ASSIGN_OR_RETURN(
                const TensorId taken,
                mapper.emitInner(engine::StridedSlice{}, {image, first, last, step}, floats()));
        HALYARD_ASSIGN_OR_RETURN(const TensorId here, emitEqual(mapper, taken, largest));
        HALYARD_ASSIGN_OR_RETURN(const TensorId number, filled(mapper, result, place + kAbove));
        HALYARD_ASSIGN_OR_RETURN(at,
                                 mapper.emitInner(engine::Select{}, {here, number, at}, floats()));
    }
    HALYARD_RETURN_IF_ERROR(mapper.alias(mapper.op().outputs[0], largest));
    return mapper.alias(mapper.op().outputs[1], at);
}

// Of windows that lie side by side: each number goes to its place in its window, and the others are
// zeros.
Status mapMaxUnpooling(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const CustomWindow given, readWindow(mapper, kWordsOfPool));
    HALYARD_RETURN_IF_ERROR(checkFloats(mapper));
    const int32_t block = given.filterW;
    if (given.filterH != block || given.strideH != block || given.strideW != block) {
        return unsupported("its windows are not squares that lie side by side");
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId values, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId places, mapper.readInput(1));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> shape, mapper.extents(values));
    if (shape.size() != 4) {
        return unsupported("its input is " + shown(shape));
    }
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId numbers,
            mapper.emitInner(engine::Unary{.function = engine::Unary::Function::FLOOR}, {places},
                             floats()));
    HALYARD_ASSIGN_OR_RETURN(const TensorId zeros, filled(mapper, shape, 0.0));
    std::vector<TensorId> parts;
    for (int32_t place = 0; place < block * block; ++place) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId number, mapper.scalar(floats(), place));
        HALYARD_ASSIGN_OR_RETURN(const TensorId here, emitEqual(mapper, numbers, number));
        HALYARD_ASSIGN_OR_RETURN(
                const TensorId part,
                mapper.emitInner(engine::Select{}, {here, values, zeros}, floats()));
        parts.push_back(part);
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId joined, mapper.emitInner(engine::Concat{.axis = 3},
                                                                     std::move(parts), floats()));
    return mapper.emit(engine::DepthToSpace{.block = block}, {joined});
}

}  // namespace halyard::tflite
