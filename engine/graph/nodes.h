// SPDX-License-Identifier: Apache-2.0
//
// The node descriptors: what each kind of node computes, with every attribute decoded. Layout is
// NHWC throughout; the driver puts Transpose nodes around operations that ask for NCHW.
//
// A descriptor lists its fields (base/fields.h: dump, comparison and serialisation follow) and its
// inputs and outputs by name. An input may be omittable (left out in the graph, or when the graph
// is run), may be a control input (its values decide sizes or addresses, so it never lies in memory
// that a client can write), and may repeat. An output may repeat, and may be found by running: then
// its shape depends on data that inference does not look at.
//
// Axes may be negative, counting from the end; they are resolved where the rank is known.
// "x" is what a node mainly works on. Where nothing else is said, the output has the type of x.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/fields.h"

namespace halyard::engine {

using halyard::operator==;  // of structs with fields, where a variant looks for it

class Graph;

struct InputSpec {
    std::string_view name;
    uint8_t traits = 0;
};
inline constexpr uint8_t kOmittable = 1;
inline constexpr uint8_t kControl = 2;
inline constexpr uint8_t kRepeats = 4;  // the last input or output: any number of times, even none

struct OutputSpec {
    std::string_view name;
    uint8_t traits = 0;
};
inline constexpr uint8_t kFoundByRunning = 8;

// ---- Attributes that several kinds share --------------------------------------------------------

// Fused into the node that carries it: applied to the real value before requantisation.
enum class Activation : uint8_t { NONE, RELU, RELU1 /* [-1, 1] */, RELU6 /* [0, 6] */ };

// How a window is placed. SAME and VALID depend on the input's extent, which may be known only at
// execution; resolveWindow() in shape_inference.h turns any of the three into numbers.
enum class PaddingScheme : uint8_t { EXPLICIT, SAME, VALID };

struct Window2d {
    PaddingScheme padding = PaddingScheme::VALID;
    int32_t top = 0;  // the four paddings count when padding is EXPLICIT
    int32_t bottom = 0;
    int32_t left = 0;
    int32_t right = 0;
    int32_t strideH = 1;
    int32_t strideW = 1;
    int32_t dilationH = 1;  // convolutions only
    int32_t dilationW = 1;
    HALYARD_FIELDS(padding, top, bottom, left, right, strideH, strideW, dilationH, dilationW)
};

// The clamps and the activation of the gates' input in an LSTM.
struct LstmAttributes {
    // NONE stands for no function at all; the gates themselves are sigmoids.
    enum class Function : uint8_t { NONE, RELU, RELU1, RELU6, TANH, LOGISTIC };
    Function activation = Function::TANH;
    float cellClip = 0.0F;        // 0: the cell state is not clamped
    float projectionClip = 0.0F;  // the same for the projection
    HALYARD_FIELDS(activation, cellClip, projectionClip)
};

// A graph inside a node. Copies of the node share it; who changes it makes a new one. Never null in
// a verified graph. Compared by content.
struct NestedGraph {
    std::shared_ptr<const Graph> graph;
    bool operator==(const NestedGraph& other) const;
};
// Of the graph itself, not of those inside it; it is there. Defined, as the comparison is, where
// graphs are (graph.cc).
size_t nodeCount(const NestedGraph& nested);

// ---- Elementwise --------------------------------------------------------------------------------

// An activation function; quantised types go through it as real numbers. ELU: x if x > 0, otherwise
// alpha * (exp(x) - 1). SWISH: x / (1 + exp(-alpha * x)). HARD_SIGMOID: x + 3 in [0, 6], divided by
// 6. GELU: x times the normal distribution's share below x, floats only; GELU_TANH: its
// approximation by x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
struct Activate {
    enum class Function : uint8_t {
        RELU,
        RELU1,
        RELU6,
        LOGISTIC,
        TANH,
        HARD_SWISH,
        ELU,
        SWISH,
        HARD_SIGMOID,
        GELU,
        GELU_TANH
    };
    Function function = Function::RELU;
    float alpha = 1.0F;  // ELU and SWISH only
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(function, alpha)
};

// Any other function of one element. ABS, NEG: floats and INT32. LOGICAL_NOT: BOOL8. Otherwise
// floats. ABS and NEG of the smallest INT32 are itself.
struct Unary {
    // ERF: the error function.
    enum class Function : uint8_t { ABS, EXP, FLOOR, LOG, LOGICAL_NOT, NEG, RSQRT, SIN, SQRT, ERF };
    Function function = Function::ABS;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(function)
};

// Elementwise with numpy broadcasting. INT32 wraps modulo 2^32; DIV rounds towards minus infinity,
// and by 0 gives 0. MAXIMUM and MINIMUM of a NaN are NaN. PRELU: a where a >= 0, otherwise a * b.
// The logical functions take BOOL8.
struct Binary {
    enum class Function : uint8_t {
        ADD,
        MUL,
        SUB,
        DIV,
        MAXIMUM,
        MINIMUM,
        POW,
        PRELU,
        LOGICAL_AND,
        LOGICAL_OR
    };
    Function function = Function::ADD;
    Activation activation = Activation::NONE;
    static constexpr InputSpec kInputs[] = {{"a"}, {"b"}};
    HALYARD_FIELDS(function, activation)
};

// Elementwise with numpy broadcasting; quantised types compare as real numbers. Output: BOOL8.
struct Compare {
    enum class Function : uint8_t { EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL };
    Function function = Function::EQUAL;
    static constexpr InputSpec kInputs[] = {{"a"}, {"b"}};
    HALYARD_FIELDS(function)
};

// Where the BOOL8 condition is true a, otherwise b. All of one shape.
struct Select {
    static constexpr InputSpec kInputs[] = {{"condition"}, {"a"}, {"b"}};
    HALYARD_FIELDS()
};

// To the output's element type as C converts: floats to integers towards zero, to QUANT8_ASYMM by
// value (scale is not looked at), both clamped to their range, NaN to 0. Of one type to itself a
// copy.
struct Cast {
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS()
};

// Input: any quantised type. Output: FLOAT32 or FLOAT16, same shape.
struct Dequantize {
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS()
};

// Input: FLOAT32 or FLOAT16. Output: an asymmetric 8-bit type, same shape.
struct Quantize {
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS()
};

// ---- Sums of products ---------------------------------------------------------------------------

// Inputs: x [N, H, W, C], filter [Cout, Kh, Kw, C / groups], bias [Cout]. Output [N, Ho, Wo, Cout].
// Quantised bias is INT32 with scale s_x * s_filter. With groups, output channel c reads the input
// channels of group c / (Cout / groups) only.
struct Conv2d {
    Window2d window = {};
    int32_t groups = 1;
    Activation activation = Activation::NONE;
    static constexpr InputSpec kInputs[] = {{"x"}, {"filter"}, {"bias"}};
    HALYARD_FIELDS(window, groups, activation)
};

// Inputs: x [N, H, W, C], filter [1, Kh, Kw, C * multiplier], bias [C * multiplier].
struct DepthwiseConv2d {
    Window2d window = {};
    int32_t multiplier = 1;
    Activation activation = Activation::NONE;
    static constexpr InputSpec kInputs[] = {{"x"}, {"filter"}, {"bias"}};
    HALYARD_FIELDS(window, multiplier, activation)
};

// Inputs: x [N, H, W, C], filter [Cout, Kh, Kw, C], bias [Cout], output_shape INT32 [4] (NHWC).
// The gradient of Conv2d: input pixel (h, w) adds to the output pixels (h * strideH - top + kh,
// ...). Without output_shape the padding is EXPLICIT, and Ho = (H - 1) * strideH + Kh - top -
// bottom; with it the padding is SAME or VALID, as a convolution from that shape to x would have
// it, and only its Ho and Wo are read. No dilation.
struct TransposeConv2d {
    Window2d window = {};
    Activation activation = Activation::NONE;
    static constexpr InputSpec kInputs[] = {
            {"x"}, {"filter"}, {"bias"}, {"output_shape", kOmittable | kControl}};
    HALYARD_FIELDS(window, activation)
};

// Inputs: x (rank >= 2, seen as [batch, K]), weights [units, K], bias [units].
// Output [batch, units].
struct FullyConnected {
    Activation activation = Activation::NONE;
    static constexpr InputSpec kInputs[] = {{"x"}, {"weights"}, {"bias"}};
    HALYARD_FIELDS(activation)
};

// Inputs: a [..., M, K], b [..., K, N], either transposed where so marked; equal rank >= 2, and the
// leading extents broadcast. Output [..., M, N].
struct BatchMatmul {
    bool transposeA = false;
    bool transposeB = false;
    static constexpr InputSpec kInputs[] = {{"a"}, {"b"}};
    HALYARD_FIELDS(transposeA, transposeB)
};

// ---- Windows, reductions, normalisation ---------------------------------------------------------

// Inputs: x [N, H, W, C]. Padding elements take no part in the result.
// Explicit padding is smaller than the filter, so that no window lies wholly in it. MAX asks for
// the same quantisation of input and output. A NaN in a window is its maximum. L2: the root of the
// mean of squares, floats only.
struct Pool2d {
    enum class Function : uint8_t { AVERAGE, MAX, L2 };
    Function function = Function::AVERAGE;
    Window2d window = {};
    int32_t filterH = 1;
    int32_t filterW = 1;
    Activation activation = Activation::NONE;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(function, window, filterH, filterW, activation)
};

// Inputs: x, axes INT32 [n] (each in [-rank, rank), repeats allowed; may be computed at execution).
// Without axes, each element is reduced to itself. Where every axis goes and none is kept, the
// output is [1]: one element, as NNAPI has it, not a scalar. ALL and ANY take BOOL8. MAX and MIN
// with a NaN are NaN.
struct Reduce {
    enum class Function : uint8_t { MEAN, SUM, PROD, MAX, MIN, ALL, ANY };
    Function function = Function::MEAN;
    bool keepDims = false;
    static constexpr InputSpec kInputs[] = {{"x"}, {"axes", kControl}};
    HALYARD_FIELDS(function, keepDims)
};

// The index (INT32) of the largest or smallest element along an axis, which goes; a list gives
// [1]. The first of equals; the first NaN is both.
struct ArgMinMax {
    enum class Function : uint8_t { MAX, MIN };
    Function function = Function::MAX;
    int32_t axis = 0;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(function, axis)
};

// Normalises along the axis: exp(beta * (x - max)) / sum.
struct Softmax {
    float beta = 1.0F;
    int32_t axis = -1;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(beta, axis)
};

// beta * (x - max) - log(sum(exp(beta * (x - max)))), along the axis. Floats.
struct LogSoftmax {
    float beta = 1.0F;
    int32_t axis = -1;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(beta, axis)
};

// x / sqrt(sum of squares along the axis); zeros stay zeros. 8-bit results have scale 1/128 and
// zero point 128 (or 0).
struct L2Normalize {
    int32_t axis = -1;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(axis)
};

// x / (bias + alpha * sum of squares over [-radius, radius] along the axis) ^ beta. Floats.
struct LocalResponseNormalize {
    int32_t radius = 0;
    float bias = 0.0F;
    float alpha = 1.0F;
    float beta = 1.0F;
    int32_t axis = -1;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(radius, bias, alpha, beta, axis)
};

// x [N, H, W, C]: gamma * (x - mean) / sqrt(variance + epsilon) + beta over H and W. Floats.
struct InstanceNormalize {
    float gamma = 1.0F;
    float beta = 0.0F;
    float epsilon = 0.0F;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(gamma, beta, epsilon)
};

// gamma * (x - mean) / sqrt(variance + epsilon) + beta over the axes from `axis` on. gamma and beta
// have the extents of these axes, behind any number of ones. Floats.
struct LayerNormalize {
    float epsilon = 0.0F;
    int32_t axis = -1;
    static constexpr InputSpec kInputs[] = {{"x"}, {"gamma", kOmittable}, {"beta", kOmittable}};
    HALYARD_FIELDS(epsilon, axis)
};

// ---- Moving elements ----------------------------------------------------------------------------

// Inputs: one or more tensors that differ in extent along the axis only.
struct Concat {
    int32_t axis = 0;
    static constexpr InputSpec kInputs[] = {{"parts", kRepeats}};
    HALYARD_FIELDS(axis)
};

// As many equal parts along the axis as there are outputs.
struct Split {
    int32_t axis = 0;
    static constexpr InputSpec kInputs[] = {{"x"}};
    static constexpr OutputSpec kOutputs[] = {{"parts", kRepeats}};
    HALYARD_FIELDS(axis)
};

// Inputs of one shape, stacked along a new axis of the output.
struct Pack {
    int32_t axis = 0;
    static constexpr InputSpec kInputs[] = {{"parts", kRepeats}};
    HALYARD_FIELDS(axis)
};

// Inputs: x, shape INT32 [rank] (at most one -1; may be computed at execution).
struct Reshape {
    static constexpr InputSpec kInputs[] = {{"x"}, {"shape", kControl}};
    HALYARD_FIELDS()
};

// Inputs: x, axes INT32 [n], each of extent 1. Without axes, or with none in the list, every extent
// of 1 goes. Where every axis goes the output is [1], as Reduce has it.
struct Squeeze {
    static constexpr InputSpec kInputs[] = {{"x"}, {"axes", kOmittable | kControl}};
    HALYARD_FIELDS()
};

// Inserts an extent of 1 at the axis, which is in [-(rank + 1), rank + 1).
struct ExpandDims {
    int32_t axis = 0;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(axis)
};

// Inputs: x, permutation INT32 [rank]: output axis i is input axis permutation[i]. Without it the
// axes are reversed.
struct Transpose {
    static constexpr InputSpec kInputs[] = {{"x"}, {"permutation", kOmittable | kControl}};
    HALYARD_FIELDS()
};

// Inputs: x, paddings INT32 [rank, 2] (before, after; may be computed at execution), value (one
// element). CONSTANT adds `value`, of x's type, or the element itself as INT32 where x is quantised
// (INVALID_ARGUMENT for one that x's type does not have); left out, it is the real 0. REFLECT and
// SYMMETRIC mirror x without and with its edge, and take no value.
struct Pad {
    enum class Mode : uint8_t { CONSTANT, REFLECT, SYMMETRIC };
    Mode mode = Mode::CONSTANT;
    static constexpr InputSpec kInputs[] = {{"x"}, {"paddings", kControl}, {"value", kOmittable}};
    HALYARD_FIELDS(mode)
};

// Inputs: x, begin INT32 [rank], size INT32 [rank] (-1: up to the end).
struct Slice {
    static constexpr InputSpec kInputs[] = {{"x"}, {"begin", kControl}, {"size", kControl}};
    HALYARD_FIELDS()
};

// Inputs: x, begin, end and strides INT32 [rank], as Python's slices. Bit i of beginMask or
// endMask: from or to the very end along axis i; of shrinkMask: the axis goes, and only begin
// counts, which is an index; its stride is positive. Where every axis goes the output is [1].
struct StridedSlice {
    int32_t beginMask = 0;
    int32_t endMask = 0;
    int32_t shrinkMask = 0;
    static constexpr InputSpec kInputs[] = {
            {"x"}, {"begin", kControl}, {"end", kControl}, {"strides", kControl}};
    HALYARD_FIELDS(beginMask, endMask, shrinkMask)
};

// Inputs: x, multiples INT32 [rank].
struct Tile {
    static constexpr InputSpec kInputs[] = {{"x"}, {"multiples", kControl}};
    HALYARD_FIELDS()
};

// Inputs: x, axis INT32 [1]: the axis whose elements change their order to the opposite.
struct Reverse {
    static constexpr InputSpec kInputs[] = {{"x"}, {"axis", kControl}};
    HALYARD_FIELDS()
};

// Inputs: x, indices INT32 of any shape, which takes the place of the axis. INVALID_ARGUMENT for an
// index outside the axis.
struct Gather {
    int32_t axis = 0;
    static constexpr InputSpec kInputs[] = {{"x"}, {"indices", kControl}};
    HALYARD_FIELDS(axis)
};

// Channel (along the axis) g * n + i comes to lie at i * groups + g, where n = channels / groups.
struct ChannelShuffle {
    int32_t groups = 1;
    int32_t axis = -1;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(groups, axis)
};

// x [N, H, W, C] to [N, H * block, W * block, C / block^2].
struct DepthToSpace {
    int32_t block = 1;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(block)
};

// x [N, H, W, C] to [N, H / block, W / block, C * block^2].
struct SpaceToDepth {
    int32_t block = 1;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(block)
};

// Inputs: x [N, H, W, C], block INT32 [2]. Output [N / (b0 * b1), H * b0, W * b1, C].
struct BatchToSpace {
    static constexpr InputSpec kInputs[] = {{"x"}, {"block", kControl}};
    HALYARD_FIELDS()
};

// Inputs: x [N, H, W, C], block INT32 [2], paddings INT32 [2, 2] of H and W, filled with real 0.
struct SpaceToBatch {
    static constexpr InputSpec kInputs[] = {{"x"}, {"block", kControl}, {"paddings", kControl}};
    HALYARD_FIELDS()
};

// x [N, H, W, C] to [N, height, width, C]; where a scale is positive it decides instead: the extent
// times the scale, rounded down.
struct Resize {
    enum class Function : uint8_t { BILINEAR, NEAREST };
    Function function = Function::BILINEAR;
    int32_t height = 0;
    int32_t width = 0;
    float heightScale = 0.0F;
    float widthScale = 0.0F;
    bool alignCorners = false;
    bool halfPixelCenters = false;
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS(function, height, width, heightScale, widthScale, alignCorners, halfPixelCenters)
};

// Inputs: dims INT32 [rank], value (one element). Output: that shape, of the value's type, full of
// it.
struct Fill {
    static constexpr InputSpec kInputs[] = {{"dims", kControl}, {"value"}};
    HALYARD_FIELDS()
};

// Output: INT32 scalar, the rank of x.
struct Rank {
    static constexpr InputSpec kInputs[] = {{"x"}};
    HALYARD_FIELDS()
};

// ---- Order, lookup, chance ----------------------------------------------------------------------

// The k largest elements along the last axis, in descending order, and their INT32 indices; of
// equals the higher index first; a NaN is larger than any number. The scores get sorted, which a
// second reading must not disturb.
struct TopK {
    int32_t k = 1;
    static constexpr InputSpec kInputs[] = {{"x", kControl}};
    static constexpr OutputSpec kOutputs[] = {{"values"}, {"indices"}};
    HALYARD_FIELDS(k)
};

// Inputs: lookups INT32 [k], keys INT32 [n] ascending, values [n, ...].
// Outputs: [k, ...], whose bytes are 0 where a key is missing, and hits QUANT8_ASYMM [k], 1 where
// one was found.
struct HashtableLookup {
    static constexpr InputSpec kInputs[] = {{"lookups", kControl}, {"keys", kControl}, {"values"}};
    static constexpr OutputSpec kOutputs[] = {{"output"}, {"hits"}};
    HALYARD_FIELDS()
};

// Inputs: hash FLOAT32 or FLOAT16 [functions, bits], x (any type, [n, ...]), weight FLOAT32 or
// FLOAT16 [n], 1 where left out. A bit is whether the sum over i of weight[i] times the signed
// Fingerprint64 of the hash's element (as FLOAT32) and x[i] is positive. Output INT32: a function's
// bits as a number, the first bit highest, [functions]; SPARSE adds f * 2^bits to that of function
// f. DENSE: each bit, [functions * bits].
struct LshProjection {
    enum class Type : uint8_t { SPARSE_DEPRECATED, SPARSE, DENSE };
    Type type = Type::SPARSE;
    static constexpr InputSpec kInputs[] = {{"hash"}, {"x"}, {"weight", kOmittable}};
    HALYARD_FIELDS(type)
};

// Inputs: x [batch, classes] (logits), seeds INT32 [2]. Output INT32 [batch, samples]: classes. A
// class whose logit is not finite is never drawn, and class 0 where none is. The same seeds draw
// the same, but two zeros ask for random seeds.
struct RandomMultinomial {
    int32_t samples = 1;
    static constexpr InputSpec kInputs[] = {{"x"}, {"seeds"}};
    HALYARD_FIELDS(samples)
};

// ---- Recurrence. b: batch, n: units, m: output size, k: input size, t: time ---------------------

// One step. Inputs: x [b, k], weights [n, k], recurrent_weights [n, n], bias [n], hidden [b, n].
// Outputs: hidden [b, n], output [b, n], both activation(W x + R h + bias).
struct Rnn {
    Activation activation = Activation::NONE;
    static constexpr InputSpec kInputs[] = {
            {"x"}, {"weights"}, {"recurrent_weights"}, {"bias"}, {"hidden"}};
    static constexpr OutputSpec kOutputs[] = {{"hidden"}, {"output"}};
    HALYARD_FIELDS(activation)
};

// A sequence of such steps over x [t, b, k] (timeMajor) or [b, t, k], from the last to the first
// where backward. aux [.., l] and aux_weights [n, l] add W' aux; aux alone takes the place of x
// where backward, and is not read otherwise. Outputs: [t, b, n] or [b, t, n], and the last hidden
// state [b, n].
struct RnnSequence {
    Activation activation = Activation::NONE;
    bool timeMajor = false;
    bool backward = false;
    static constexpr InputSpec kInputs[] = {
            {"x"},      {"weights"},         {"recurrent_weights"},      {"bias"},
            {"hidden"}, {"aux", kOmittable}, {"aux_weights", kOmittable}};
    static constexpr OutputSpec kOutputs[] = {{"output"}, {"hidden"}};
    HALYARD_FIELDS(activation, timeMajor, backward)
};

// Those of an LSTM: the last five feed a sequence only.
inline constexpr InputSpec kLstmInputs[] = {{"x"},
                                            {"input_to_input_weights", kOmittable},
                                            {"input_to_forget_weights"},
                                            {"input_to_cell_weights"},
                                            {"input_to_output_weights"},
                                            {"recurrent_to_input_weights", kOmittable},
                                            {"recurrent_to_forget_weights"},
                                            {"recurrent_to_cell_weights"},
                                            {"recurrent_to_output_weights"},
                                            {"cell_to_input_weights", kOmittable},
                                            {"cell_to_forget_weights", kOmittable},
                                            {"cell_to_output_weights", kOmittable},
                                            {"input_gate_bias", kOmittable},
                                            {"forget_gate_bias"},
                                            {"cell_gate_bias"},
                                            {"output_gate_bias"},
                                            {"projection_weights", kOmittable},
                                            {"projection_bias", kOmittable},
                                            {"output_state"},
                                            {"cell_state"},
                                            {"input_layer_norm_weights", kOmittable},
                                            {"forget_layer_norm_weights", kOmittable},
                                            {"cell_layer_norm_weights", kOmittable},
                                            {"output_layer_norm_weights", kOmittable},
                                            {"aux", kOmittable},
                                            {"aux_to_input_weights", kOmittable},
                                            {"aux_to_forget_weights", kOmittable},
                                            {"aux_to_cell_weights", kOmittable},
                                            {"aux_to_output_weights", kOmittable}};
inline constexpr size_t kLstmStepInputs = 24;

// One step of NNAPI's LSTM. Without the weights of the input gate it is 1 minus the forget gate
// (CIFG); with cell_to_* weights there are peepholes, with *_layer_norm the gates are normalised.
// Shapes: *_weights [n, k], recurrent_* [n, m], cell_to_*, *_bias, *_layer_norm [n],
// projection_weights [m, n], projection_bias [m], output_state [b, m], cell_state [b, n]. Outputs:
// scratch [b, 4 n] (3 n with CIFG), undefined; output_state [b, m]; cell_state [b, n]; output [b,
// m].
struct Lstm {
    LstmAttributes attributes = {};
    static constexpr std::span<const InputSpec> kInputs{kLstmInputs, kLstmStepInputs};
    static constexpr OutputSpec kOutputs[] = {
            {"scratch", kFoundByRunning}, {"output_state"}, {"cell_state"}, {"output"}};
    HALYARD_FIELDS(attributes)
};

// A sequence of such steps over x [t, b, k] (timeMajor) or [b, t, k], from the last to the first
// where backward; inputs as Lstm, and aux, which aux_to_*_weights [n, l] add to each gate, or which
// is as in RnnSequence without them. Outputs: [t, b, m] or [b, t, m], and the last states.
struct LstmSequence {
    LstmAttributes attributes = {};
    bool timeMajor = false;
    bool backward = false;
    static constexpr std::span<const InputSpec> kInputs{kLstmInputs, std::size(kLstmInputs)};
    static constexpr OutputSpec kOutputs[] = {{"output"}, {"output_state"}, {"cell_state"}};
    HALYARD_FIELDS(attributes, timeMajor, backward)
};

// QUANTIZED_LSTM: x, states and output 8-bit, weights QUANT8_SYMM, peepholes and layer norms
// QUANT16_SYMM, biases INT32, cell state QUANT16_SYMM. Shapes as Lstm. The scales of the gates'
// results before their functions are attributes; so are the quantisation of the hidden state before
// its projection.
struct QuantizedLstm {
    float cellClip = 0.0F;
    float projectionClip = 0.0F;
    float inputIntermediateScale = 0.0F;
    float forgetIntermediateScale = 0.0F;
    float cellIntermediateScale = 0.0F;
    float outputIntermediateScale = 0.0F;
    int32_t hiddenZeroPoint = 0;
    float hiddenScale = 0.0F;
    static constexpr std::span<const InputSpec> kInputs{kLstmInputs, kLstmStepInputs};
    static constexpr OutputSpec kOutputs[] = {{"output_state"}, {"cell_state"}, {"output"}};
    HALYARD_FIELDS(cellClip, projectionClip, inputIntermediateScale, forgetIntermediateScale,
                   cellIntermediateScale, outputIntermediateScale, hiddenZeroPoint, hiddenScale)
};

// QUANTIZED_16BIT_LSTM: x, weights and output QUANT8_ASYMM (x and output scale 1/128, zero point
// 128), biases INT32, cell state QUANT16_SYMM with scale 2^-11. Shapes as Lstm without its optional
// parts, but a gate's sum is [recurrent_weights, weights] times [x, output_state], in this order of
// columns. Outputs: cell_state [b, n], output [b, n].
struct Quantized16BitLstm {
    static constexpr InputSpec kInputs[] = {{"x"},
                                            {"input_to_input_weights"},
                                            {"input_to_forget_weights"},
                                            {"input_to_cell_weights"},
                                            {"input_to_output_weights"},
                                            {"recurrent_to_input_weights"},
                                            {"recurrent_to_forget_weights"},
                                            {"recurrent_to_cell_weights"},
                                            {"recurrent_to_output_weights"},
                                            {"input_gate_bias"},
                                            {"forget_gate_bias"},
                                            {"cell_gate_bias"},
                                            {"output_gate_bias"},
                                            {"cell_state"},
                                            {"output_state"}};
    static constexpr OutputSpec kOutputs[] = {{"cell_state"}, {"output"}};
    HALYARD_FIELDS()
};

// Inputs: x [b, k], weights_feature [n, k], weights_time [n, memory], bias [n / rank], state [b,
// memory * n]. Outputs: state, output [b, n / rank].
struct Svdf {
    int32_t rank = 1;
    Activation activation = Activation::NONE;
    static constexpr InputSpec kInputs[] = {
            {"x"}, {"weights_feature"}, {"weights_time"}, {"bias", kOmittable}, {"state"}};
    static constexpr OutputSpec kOutputs[] = {{"state"}, {"output"}};
    HALYARD_FIELDS(rank, activation)
};

// ---- Detection. Boxes are [x1, y1, x2, y2] ------------------------------------------------------

// Inputs: x [N, H, W, C], boxes [rois, 4], batches INT32 [rois]. Output [rois, height, width, C].
// The mean of bilinear samples; a sampling ratio of 0 means as many as the bin's extent rounded up.
struct RoiAlign {
    int32_t height = 1;
    int32_t width = 1;
    float heightRatio = 1.0F;  // of the original image's height to that of x
    float widthRatio = 1.0F;
    int32_t samplesH = 0;
    int32_t samplesW = 0;
    static constexpr InputSpec kInputs[] = {{"x"}, {"boxes", kControl}, {"batches", kControl}};
    HALYARD_FIELDS(height, width, heightRatio, widthRatio, samplesH, samplesW)
};

// The same with the maximum of each bin.
struct RoiPool {
    int32_t height = 1;
    int32_t width = 1;
    float heightRatio = 1.0F;
    float widthRatio = 1.0F;
    static constexpr InputSpec kInputs[] = {{"x"}, {"boxes", kControl}, {"batches", kControl}};
    HALYARD_FIELDS(height, width, heightRatio, widthRatio)
};

// Inputs: boxes [rois, 4], deltas [rois, classes * 4], batches INT32 [rois], images [batches, 2]
// (height, width). Output [rois, classes * 4].
struct BoxTransform {
    static constexpr InputSpec kInputs[] = {
            {"boxes"}, {"deltas"}, {"batches", kControl}, {"images"}};
    HALYARD_FIELDS()
};

// Greedy non-maximum suppression per class and batch with hard, linear or gaussian weights. Inputs:
// scores [rois, classes] (class 0 is the background), boxes [rois, classes * 4], batches INT32
// [rois], ascending. Outputs, n of them: scores [n], boxes [n, 4], classes INT32 [n], batches INT32
// [n]; by batch, by class, by descending score, and of equals the lower region first.
struct BoxWithNmsLimit {
    enum class Kernel : uint8_t { HARD, LINEAR, GAUSSIAN };
    Kernel kernel = Kernel::HARD;
    float scoreThreshold = 0.0F;
    int32_t maxDetections = -1;  // negative: as many as there are
    float iouThreshold = 0.0F;
    float sigma = 0.0F;
    float nmsScoreThreshold = 0.0F;
    static constexpr InputSpec kInputs[] = {
            {"scores", kControl}, {"boxes", kControl}, {"batches", kControl}};
    static constexpr OutputSpec kOutputs[] = {{"scores", kFoundByRunning},
                                              {"boxes", kFoundByRunning},
                                              {"classes", kFoundByRunning},
                                              {"batches", kFoundByRunning}};
    HALYARD_FIELDS(kernel, scoreThreshold, maxDetections, iouThreshold, sigma, nmsScoreThreshold)
};

// Inputs: scores [N, H, W, anchors], deltas [N, H, W, anchors * 4], anchors [anchors, 4], images
// [N, 2] (height, width). Outputs: scores [n], boxes [n, 4], batches INT32 [n]; by batch, by
// descending score, and of equals the lower box first. Limits of 0 and below are none.
struct GenerateProposals {
    float heightRatio = 1.0F;
    float widthRatio = 1.0F;
    int32_t maxBeforeNms = -1;
    int32_t maxAfterNms = -1;
    float iouThreshold = 0.0F;
    float minSize = 0.0F;
    static constexpr InputSpec kInputs[] = {{"scores", kControl},
                                            {"deltas", kControl},
                                            {"anchors", kControl},
                                            {"images", kControl}};
    static constexpr OutputSpec kOutputs[] = {
            {"scores", kFoundByRunning}, {"boxes", kFoundByRunning}, {"batches", kFoundByRunning}};
    HALYARD_FIELDS(heightRatio, widthRatio, maxBeforeNms, maxAfterNms, iouThreshold, minSize)
};

// Inputs: scores [N, anchors, classes] (class 0 is the background, which is not reported), deltas
// [N, anchors, 4 or more], anchors [anchors, 4] (both: centre y, x, height, width). Outputs: scores
// [N, max], boxes [N, max, 4] (y1, x1, y2, x2), classes INT32 [N, max], counts INT32 [N]. Regular:
// max detections by descending score, each class suppressed on its own. Fast: each anchor is
// suppressed by its best class, and reported with its best maxClassesPerDetection classes, so max
// is maxDetections times as many, as in NNAPI's own implementation and LiteRT.
struct DetectionPostprocess {
    float scaleY = 1.0F;
    float scaleX = 1.0F;
    float scaleH = 1.0F;
    float scaleW = 1.0F;
    bool regular = false;  // non-maximum suppression class by class
    int32_t maxDetections = 1;
    int32_t maxClassesPerDetection = 1;  // fast only
    int32_t detectionsPerClass = 1;      // regular only
    float scoreThreshold = 0.0F;
    float iouThreshold = 0.0F;
    bool backgroundIsClass = false;  // the classes are reported from 1 on, not from 0
    static constexpr InputSpec kInputs[] = {
            {"scores", kControl}, {"deltas", kControl}, {"anchors", kControl}};
    static constexpr OutputSpec kOutputs[] = {{"scores"}, {"boxes"}, {"classes"}, {"counts"}};
    HALYARD_FIELDS(scaleY, scaleX, scaleH, scaleW, regular, maxDetections, maxClassesPerDetection,
                   detectionsPerClass, scoreThreshold, iouThreshold, backgroundIsClass)
};

// Inputs: heatmaps [rois, size, size, keypoints], boxes [rois, 4]. Outputs: scores [rois,
// keypoints], positions [rois, keypoints, 2] (x, y), those of the largest score between pixels.
struct HeatmapMaxKeypoint {
    static constexpr InputSpec kInputs[] = {{"heatmaps", kControl}, {"boxes"}};
    static constexpr OutputSpec kOutputs[] = {{"scores"}, {"positions"}};
    HALYARD_FIELDS()
};

// ---- Control flow: run by the planner, by no backend --------------------------------------------

// Inputs: condition BOOL8, one element, without which no run succeeds; then what both graphs take
// as their inputs. Outputs: what the graph that is run gives.
struct If {
    NestedGraph then;
    NestedGraph otherwise;
    static constexpr InputSpec kInputs[] = {{"condition", kControl | kOmittable},
                                            {"values", kRepeats | kOmittable}};
    static constexpr OutputSpec kOutputs[] = {{"results", kRepeats | kFoundByRunning}};
    HALYARD_FIELDS(then, otherwise)
};

// Inputs: what `condition` and `body` take: first the values that the body's outputs replace in
// each round, then those that stay. `condition` gives one BOOL8 element. Outputs: the first values,
// as many as the node has outputs, when the condition fails.
struct While {
    NestedGraph condition;
    NestedGraph body;
    static constexpr InputSpec kInputs[] = {{"values", kRepeats | kOmittable}};
    static constexpr OutputSpec kOutputs[] = {{"results", kRepeats | kFoundByRunning}};
    HALYARD_FIELDS(condition, body)
};

// ---- All of them --------------------------------------------------------------------------------

enum class NodeKind : uint8_t {
#define HALYARD_NODE_KIND(Descriptor) Descriptor,
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
};

// One alternative per kind, in the order of node_kinds.inc, so that index() is the NodeKind.
// std::monostate stands last and never appears in a verified graph.
using AnyDescriptor = std::variant<
#define HALYARD_NODE_KIND(Descriptor) Descriptor,
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
        std::monostate>;

// The same, with what compilers take long for in one place instead of in every file.
class NodeDescriptor : public AnyDescriptor {
  public:
    NodeDescriptor();
#define HALYARD_NODE_KIND(Descriptor) NodeDescriptor(Descriptor descriptor);
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
    ~NodeDescriptor();
    NodeDescriptor(const NodeDescriptor& other);
    NodeDescriptor(NodeDescriptor&& other) noexcept;
    NodeDescriptor& operator=(const NodeDescriptor& other);
    NodeDescriptor& operator=(NodeDescriptor&& other) noexcept;
    bool operator==(const NodeDescriptor& other) const;
};

// "Conv2d" and so on.
std::string_view toString(NodeKind kind);

// The inputs and outputs of a kind. Lives as long as the process.
struct NodeSignature {
    std::span<const InputSpec> inputs;
    std::span<const OutputSpec> outputs;

    // The spec of input or output `index`, which may be one of those that repeat; null past the
    // end.
    const InputSpec* input(size_t index) const;
    const OutputSpec* output(size_t index) const;
    bool isControlInput(size_t index) const;
};
NodeSignature signatureOf(const NodeDescriptor& descriptor);

// "Conv2d{window: {padding: SAME, ...}, groups: 1, activation: RELU6}".
std::string toString(const NodeDescriptor& descriptor);

}  // namespace halyard::engine
