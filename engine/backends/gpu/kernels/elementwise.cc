// SPDX-License-Identifier: Apache-2.0
//
// Functions of one, two or three elements, with broadcasting.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/backends/gpu/kernels/elementwise.h"
#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/byte_tables.h"
#include "engine/numerics/requantize.h"
#include "engine/numerics/scaled_sum.h"

namespace halyard::engine::gpu {
namespace {

constexpr std::string_view kClamp = " r = between(r, n.low, n.high);";

const TensorType& typeOf(const Graph& graph, TensorId id) {
    return graph.tensor(id).type;
}

bool isByte(DataType type) {
    return type == DataType::QUANT8_ASYMM || type == DataType::QUANT8_ASYMM_SIGNED;
}

Status needsDivision(const DeviceFacts& facts) {
    return facts.canDivide() ? Status() : unsupported("can't quantise exactly on " + facts.name);
}

Map mapOver(const StepPlan& step, size_t which = 0) {
    const Shape& shape = step.output(0, which).shape;
    Map map = {.extents = extentsOf(shape)};
    for (size_t i = 0; i < step.inputCount(which); ++i) {
        map.inputs.push_back(
                {.operand = step.in(i, which),
                 .storage = storageOf(step.input(i, which).type),
                 .strides = stridesAlong(broadcastStrides(step.input(i, which).shape, shape),
                                         shape.rank())});
        map.numbers.take(i, step.input(i, which).quantization);
    }
    map.output = {.operand = step.out(0, which),
                  .storage = storageOf(step.output(0, which).type),
                  .strides = denseStrides(map.extents)};
    map.numbers.take(3, step.output(0, which).quantization);
    return map;
}

void setActivation(Map& map, Activation activation, const TensorType& output) {
    const RealRange real = rangeOf(activation);
    map.numbers.low = real.low;
    map.numbers.high = real.high;
    if (isByte(output.type)) {
        const QuantizedRange range = rangeOf(activation, output);
        map.numbers.least = range.low;
        map.numbers.most = range.high;
    }
}

// Results of all bytes, looked up.
Map mapThrough(StepPlan& step, size_t which, const ByteTable& table) {
    Map map = mapOver(step, which);
    map.inputs[0].storage = "U8";
    map.output.storage = "U8";
    map.table = step.table(std::span<const uint8_t>(table));
    map.body = "r = table[a];";
    return map;
}

std::string bodyOf(Activate::Function function) {
    switch (function) {
        case Activate::Function::RELU:
            return "r = a < 0.0f ? 0.0f : a;";
        case Activate::Function::RELU1:
            return "r = between(a, -1.0f, 1.0f);";
        case Activate::Function::RELU6:
            return "r = between(a, 0.0f, 6.0f);";
        case Activate::Function::LOGISTIC:
            return "r = 1.0f / (1.0f + exp(-a));";
        case Activate::Function::TANH:
            return "r = tanh(a);";
        case Activate::Function::ELU:
            return "r = a > 0.0f ? a : n.factor * expm1(a);";
        case Activate::Function::HARD_SWISH:
            return "r = a * between(a + 3.0f, 0.0f, 6.0f) / 6.0f;";
        case Activate::Function::SWISH:
            return "r = a * (1.0f / (1.0f + exp(-n.factor * a)));";
        case Activate::Function::HARD_SIGMOID:
            return "r = between(a + 3.0f, 0.0f, 6.0f) / 6.0f;";
        case Activate::Function::GELU:
            return "r = a * 0.5f * erfc(a * -0.707106781f);";
        case Activate::Function::GELU_TANH:
            // Half of 1 + tanh(y) is the logistic function of 2 y.
            return "r = a / (1.0f + exp(-1.59576912f * (a + 0.044715f * a * a * a)));";
    }
    return "";
}

std::string bodyOf(Unary::Function function, DataType type) {
    if (type == DataType::INT32) {
        return function == Unary::Function::ABS ? "r = a >= 0 ? a : (int)(0u - (uint)a);"
                                                : "r = (int)(0u - (uint)a);";
    }
    switch (function) {
        case Unary::Function::ABS:
            return "r = fabs(a);";
        case Unary::Function::EXP:
            return "r = exp(a);";
        case Unary::Function::FLOOR:
            return "r = floor(a);";
        case Unary::Function::LOG:
            return "r = log(a);";
        case Unary::Function::LOGICAL_NOT:
            return "r = a == 0 ? 1 : 0;";
        case Unary::Function::NEG:
            return "r = -a;";
        case Unary::Function::RSQRT:
            return "r = 1.0f / sqrt(a);";
        case Unary::Function::SIN:
            return "r = sin(a);";
        case Unary::Function::SQRT:
            return "r = sqrt(a);";
        case Unary::Function::ERF:
            return "r = erf(a);";
    }
    return "";
}

// Of the real numbers x and y.
std::string realBodyOf(Binary::Function function) {
    switch (function) {
        case Binary::Function::ADD:
            return "x + y";
        case Binary::Function::MUL:
            return "x * y";
        case Binary::Function::SUB:
            return "x - y";
        case Binary::Function::DIV:
            return "x / y";
        case Binary::Function::MAXIMUM:
            return "isnan(x) || x >= y ? x : y";
        case Binary::Function::MINIMUM:
            return "isnan(x) || x <= y ? x : y";
        case Binary::Function::POW:
            return "pow(x, y)";
        case Binary::Function::PRELU:
            return "x >= 0.0f ? x : x * y";
        case Binary::Function::LOGICAL_AND:
            return "x != 0.0f && y != 0.0f ? 1.0f : 0.0f";
        case Binary::Function::LOGICAL_OR:
            return "x != 0.0f || y != 0.0f ? 1.0f : 0.0f";
    }
    return "";
}

std::string integerBodyOf(Binary::Function function) {
    switch (function) {
        case Binary::Function::ADD:
            return "r = (int)((uint)a + (uint)b);";
        case Binary::Function::MUL:
            return "r = (int)((uint)a * (uint)b);";
        case Binary::Function::SUB:
            return "r = (int)((uint)a - (uint)b);";
        case Binary::Function::DIV:
            return "const long d = b == 0 ? 1 : b; const long q = (long)a / d;"
                   " r = b == 0 ? 0 : (int)((long)a % d != 0 && (a < 0) != (b < 0) ? q - 1 : q);";
        case Binary::Function::MAXIMUM:
            return "r = max(a, b);";
        default:
            return "r = min(a, b);";
    }
}

std::string_view symbolOf(Compare::Function function) {
    switch (function) {
        case Compare::Function::EQUAL:
            return "==";
        case Compare::Function::NOT_EQUAL:
            return "!=";
        case Compare::Function::LESS:
            return "<";
        case Compare::Function::LESS_EQUAL:
            return "<=";
        case Compare::Function::GREATER:
            return ">";
        case Compare::Function::GREATER_EQUAL:
            return ">=";
    }
    return "==";
}

constexpr std::string_view kReals =
        "const float x = REAL(A, a, n.scale[0], n.zero[0]);"
        " const float y = REAL(B, b, n.scale[1], n.zero[1]); ";

std::optional<ScaledSum> scaledSum(const TensorType& a, const TensorType& b,
                                   const TensorType& output) {
    return ScaledSum::of(multiplier(a.quantization.scale, 1.0F, output.quantization.scale),
                         multiplier(b.quantization.scale, 1.0F, output.quantization.scale));
}

bool isSum(Binary::Function function) {
    return function == Binary::Function::ADD || function == Binary::Function::SUB;
}

// The scales of a sum are near enough, as supports() has seen.
Map mapOfBytes(const Binary& node, StepPlan& step, size_t which) {
    const TensorType& a = step.input(0, which);
    const TensorType& b = step.input(1, which);
    const TensorType& output = step.output(0, which);
    Map map = mapOver(step, which);
    setActivation(map, node.activation, output);
    if (isSum(node.function)) {
        const ScaledSum sum = scaledSum(a, b, output).value_or(ScaledSum());
        map.numbers.a = sum.multiplierA;
        map.numbers.b = node.function == Binary::Function::ADD ? sum.multiplierB : -sum.multiplierB;
        map.numbers.shift = sum.shift;
        map.body =
                "r = clamp((((a - n.zero[0]) * n.a + (b - n.zero[1]) * n.b +"
                " (1 << (n.shift - 1))) >> n.shift) + n.zero[3], n.least, n.most);";
    } else if (node.function == Binary::Function::MUL) {
        map.numbers.factor =
                multiplier(a.quantization.scale, b.quantization.scale, output.quantization.scale);
        map.body =
                "r = round_and_clamp((float)((a - n.zero[0]) * (b - n.zero[1])) * n.factor,"
                " n.zero[3], n.least, n.most);";
    } else {
        map.body = std::string(kReals) + "const float z = " +
                   (node.function == Binary::Function::DIV ? "divide(x, y)"
                                                           : realBodyOf(node.function)) +
                   "; r = FROM_REAL(R, between(z, n.low, n.high), n.scale[3], n.zero[3]);";
    }
    return map;
}

}  // namespace

Map mapOf(const Activate& node, StepPlan& step, size_t which) {
    const TensorType& x = step.input(0, which);
    if (!isFloat(x.type)) {
        return mapThrough(step, which, activationTable(node, x, step.output(0, which)));
    }
    Map map = mapOver(step, which);
    map.numbers.factor = node.alpha;
    map.body = bodyOf(node.function);
    return map;
}

Map mapOf(const Binary& node, StepPlan& step, size_t which) {
    const TensorType& output = step.output(0, which);
    if (isByte(output.type)) {
        return mapOfBytes(node, step, which);
    }
    Map map = mapOver(step, which);
    if (output.type == DataType::INT32) {
        map.body = integerBodyOf(node.function);
        return map;
    }
    setActivation(map, node.activation, output);
    map.body = std::string(kReals);
    map.body += "const float z = " + realBodyOf(node.function) + "; ";
    map.body += node.activation == Activation::NONE ? "r = FROM_REAL(R, z, 1.0f, 0);"
                                                    : "r = z;" + std::string(kClamp);
    return map;
}

Status supports(const Activate& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const Activate& node, StepPlan& step) {
    return addMap(step, mapOf(node, step, 0));
}

Status supports(const Unary& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const Unary& node, StepPlan& step) {
    if (isByte(step.input(0).type)) {
        return addMap(step, mapThrough(step, 0, rsqrtTable(step.input(0), step.output())));
    }
    Map map = mapOver(step);
    map.body = bodyOf(node.function, step.input(0).type);
    return addMap(step, map);
}

Status supports(const Binary& node, const Graph& graph, const Node& whole,
                const DeviceFacts& facts) {
    const TensorType& a = typeOf(graph, whole.inputs[0]);
    if (!isByte(a.type) || node.function == Binary::Function::MUL) {
        return {};
    }
    if (!isSum(node.function)) {
        return needsDivision(facts);
    }
    return scaledSum(a, typeOf(graph, whole.inputs[1]), typeOf(graph, whole.outputs[0])).has_value()
                   ? Status()
                   : unsupported("adds no bytes whose scales are so far apart");
}

Status plan(const Binary& node, StepPlan& step) {
    return addMap(step, mapOf(node, step, 0));
}

Status supports(const Compare& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const Compare& node, StepPlan& step) {
    Map map = mapOver(step);
    const std::string symbol(symbolOf(node.function));
    map.body = step.input(0).type == DataType::INT32
                       ? "r = a " + symbol + " b ? 1 : 0;"
                       : std::string(kReals) + "r = x " + symbol + " y ? 1 : 0;";
    return addMap(step, map);
}

Status supports(const Select& /*node*/, const Graph& graph, const Node& whole,
                const DeviceFacts& facts) {
    const TensorType& output = typeOf(graph, whole.outputs[0]);
    const bool moves = typeOf(graph, whole.inputs[1]).quantization == output.quantization &&
                       typeOf(graph, whole.inputs[2]).quantization == output.quantization;
    return moves || !isQuantized(output.type) ? Status() : needsDivision(facts);
}

Status plan(const Select& /*node*/, StepPlan& step) {
    Map map = mapOver(step);
    const TensorType& output = step.output();
    if (step.input(1).quantization == output.quantization &&
        step.input(2).quantization == output.quantization) {
        map.inputs[1].storage = map.inputs[2].storage = map.output.storage =
                movedStorageOf(output.type);
        map.body = "r = a != 0 ? b : c;";
    } else {
        map.body =
                "r = FROM_REAL(R, a != 0 ? REAL(B, b, n.scale[1], n.zero[1])"
                " : REAL(C, c, n.scale[2], n.zero[2]), n.scale[3], n.zero[3]);";
    }
    return addMap(step, map);
}

Status supports(const Cast& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

// As C converts, but for what C leaves undefined: to the nearest number there is, NaN to 0.
Status plan(const Cast& /*node*/, StepPlan& step) {
    const DataType from = step.input(0).type;
    const DataType to = step.output().type;
    Map map = mapOver(step);
    if (from == to) {
        map.inputs[0].storage = map.output.storage = movedStorageOf(to);
    } else if (isFloat(to)) {
        map.body = "r = (float)a;";
    } else {
        map.numbers.least = to == DataType::BOOL8 ? 0 : minValue(to);
        map.numbers.most = to == DataType::BOOL8 ? 255 : maxValue(to);
        map.body = !isFloat(from)          ? "r = clamp(a, n.least, n.most);"
                   : to == DataType::INT32 ? "r = isnan(a) ? 0 : a >= 2147483648.0f ? 2147483647"
                                             " : a <= -2147483648.0f ? -2147483647 - 1 : (int)a;"
                                           : "r = isnan(a) ? 0"
                                             " : (int)between(a, (float)n.least, (float)n.most);";
    }
    return addMap(step, map);
}

Status supports(const Quantize& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& facts) {
    return needsDivision(facts);
}

Status plan(const Quantize& /*node*/, StepPlan& step) {
    Map map = mapOver(step);
    map.body = "r = FROM_REAL(R, a, n.scale[3], n.zero[3]);";
    return addMap(step, map);
}

Status supports(const Dequantize& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const Dequantize& /*node*/, StepPlan& step) {
    Map map = mapOver(step);
    const TensorType& x = step.input(0);
    if (x.type != DataType::QUANT8_SYMM_PER_CHANNEL) {
        map.body = "r = REAL(A, a, n.scale[0], n.zero[0]);";
        return addMap(step, map);
    }
    const size_t channelDim = x.quantization.channelDim;
    int64_t inner = 1;
    for (size_t axis = channelDim + 1; axis < x.shape.rank(); ++axis) {
        inner *= x.shape[axis];
    }
    map.numbers.a = static_cast<int32_t>(inner);
    map.numbers.b = x.shape[channelDim];
    map.table = step.table(
            std::span(x.quantization.channelScales.begin(), x.quantization.channelScales.end()));
    map.tableStorage = "F32";
    map.body = "r = table[at / n.a % n.b] * (float)a;";
    return addMap(step, map);
}

}  // namespace halyard::engine::gpu
