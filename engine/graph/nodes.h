// SPDX-License-Identifier: Apache-2.0
//
// The node descriptors: what each kind of node computes, with every attribute decoded. Layout is
// NHWC throughout; the driver puts Transpose nodes around operations that ask for NCHW. Inputs are
// listed in order; "?" marks one that may be kNoTensor.

#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace halyard::engine {

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
};

// Elementwise function of one tensor. Inputs: x. Output: same shape.
struct Activate {
    enum class Function : uint8_t { RELU, RELU1, RELU6, LOGISTIC, HARD_SWISH };
    Function function = Function::RELU;
};

// Elementwise with numpy broadcasting. Inputs: a, b. Output: the broadcast shape.
struct Binary {
    enum class Function : uint8_t { ADD, MUL };
    Function function = Function::ADD;
    Activation activation = Activation::NONE;
};

// Inputs: one or more tensors of equal rank. axis is in [0, rank).
struct Concat {
    int32_t axis = 0;
};

// Inputs: x [N, H, W, C], filter [Cout, Kh, Kw, C], bias [Cout]. Output [N, Ho, Wo, Cout].
// Quantised bias is INT32 with scale s_x * s_filter.
struct Conv2d {
    Window2d window = {};
    Activation activation = Activation::NONE;
};

// Inputs: x [N, H, W, C], filter [1, Kh, Kw, C * multiplier], bias [C * multiplier].
struct DepthwiseConv2d {
    Window2d window = {};
    int32_t multiplier = 1;
    Activation activation = Activation::NONE;
};

// Input: any quantised type. Output: FLOAT32 or FLOAT16, same shape.
struct Dequantize {};

// Inputs: x (rank >= 2, seen as [batch, K]), weights [units, K], bias [units].
// Output [batch, units].
struct FullyConnected {
    Activation activation = Activation::NONE;
};

// Inputs: x, paddings INT32 [rank, 2] (before, after; may be computed at execution).
// Adds `value`, a real number; on quantised types 0 gives the zero point.
struct Pad {
    float value = 0.0F;
};

// Inputs: x [N, H, W, C]. Padding elements take no part in the result.
// Explicit padding is smaller than the filter, so that no window lies wholly in it. MAX asks for
// the same quantisation of input and output. A NaN in a window is its maximum.
struct Pool2d {
    enum class Function : uint8_t { AVERAGE, MAX };
    Function function = Function::AVERAGE;
    Window2d window = {};
    int32_t filterH = 1;
    int32_t filterW = 1;
    Activation activation = Activation::NONE;
};

// Input: FLOAT32 or FLOAT16. Output: an asymmetric 8-bit type, same shape.
struct Quantize {};

// Inputs: x, axes INT32 [n] (each in [-rank, rank), repeats allowed; may be computed at execution).
// Without axes, each element is its own mean. Where every axis goes and none is kept, the output is
// [1]: one element, as NNAPI has it, not a scalar.
struct Reduce {
    enum class Function : uint8_t { MEAN };
    Function function = Function::MEAN;
    bool keepDims = false;
};

// Inputs: x, shape INT32 [rank] (at most one -1; may be computed at execution).
struct Reshape {};

// Input: x. Normalises along axis in [0, rank): exp(beta * (x - max)) / sum.
struct Softmax {
    float beta = 1.0F;
    int32_t axis = 0;
};

// Input: x. Output axis i is input axis permutation[i].
struct Transpose {
    std::vector<int32_t> permutation = {};
};

enum class NodeKind : uint8_t {
#define HALYARD_NODE_KIND(Descriptor) Descriptor,
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
};

// One alternative per kind, in the order of node_kinds.inc, so that index() is the NodeKind.
// std::monostate stands last and never appears in a verified graph.
using NodeDescriptor = std::variant<
#define HALYARD_NODE_KIND(Descriptor) Descriptor,
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
        std::monostate>;

// "Conv2d" and so on.
std::string_view toString(NodeKind kind);

}  // namespace halyard::engine
