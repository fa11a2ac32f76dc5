// SPDX-License-Identifier: Apache-2.0
//
// A TFLite model as the importer sees it, whoever has it: a file (flatbuffer.h), the context that a
// delegate is handed, or LiteRT's subgraphs. Readers copy what describes it and leave constants
// where they lie; nothing here has been checked beyond what Model::check() says.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/constant_data.h"
#include "importers/tflite/operator_options.h"
#include "importers/tflite/sparsity.h"

namespace halyard::tflite {

// An input that is left out.
inline constexpr int32_t kOmitted = -1;

// Numbered as TFLite's C interface and LiteRT have them; files have other numbers.
enum class ElementType : uint8_t {
    NONE = 0,
    FLOAT32 = 1,
    INT32 = 2,
    UINT8 = 3,
    INT64 = 4,
    STRING = 5,
    BOOL = 6,
    INT16 = 7,
    COMPLEX64 = 8,
    INT8 = 9,
    FLOAT16 = 10,
    FLOAT64 = 11,
    COMPLEX128 = 12,
    UINT64 = 13,
    RESOURCE = 14,
    VARIANT = 15,
    UINT32 = 16,
    UINT16 = 17,
    INT4 = 18,
    BFLOAT16 = 19,
    INT2 = 20,
    UINT4 = 21,
    FLOAT8E4M3FN = 22,
    FLOAT8E5M2 = 23,
};
// "FLOAT32", or "type 40".
std::string toString(ElementType type);
// Of a number that a file or LiteRT has: UNSUPPORTED where there is none.
Result<ElementType> elementTypeOfFile(int64_t number);
// Bits of an element; 0 where it has no fixed number.
size_t bitsOf(ElementType type);

enum class Padding : uint8_t { UNKNOWN, SAME, VALID };
enum class MirrorMode : uint8_t { UNKNOWN, REFLECT, SYMMETRIC };
enum class FusedActivation : uint8_t { NONE, RELU, RELU_N1_TO_1, RELU6, TANH, SIGN_BIT, SIGMOID };

// An option of that kind as the enums above have it. The schema counts paddings and modes from the
// first of them, the enums from "unknown".
Result<int64_t> enumOfFile(OptionKind kind, int64_t number);

// Of one scale, or one for each index of the axis. Empty scales: none.
struct TensorQuantization {
    std::vector<float> scales;
    std::vector<int64_t> zeroPoints;  // none, one, or as many as scales
    int32_t axis = 0;
};

struct Tensor {
    ElementType type = ElementType::NONE;
    std::vector<int32_t> shape;  // engine::kUnknownDimension where only a run tells
    std::string name;
    TensorQuantization quantization;
    engine::ConstantData constant;  // owner null: computed, or given for each run
    std::shared_ptr<const Sparsity> sparsity = nullptr;  // of a constant without its zeros
    bool isVariable = false;  // keeps its elements from one run to the next
    // Why its elements are not what the fields above say: "its quantisation is by blocks". Empty:
    // they are. Operators that touch it are refused.
    std::string unreadable;

    bool isConstant() const { return constant.owner != nullptr; }
};

struct Operator {
    int32_t code = 0;        // OperatorCode
    std::string customName;  // of CUSTOM
    int32_t version = 1;
    std::vector<int32_t> inputs;  // tensors of its subgraph, or kOmitted
    std::vector<int32_t> outputs;
    std::vector<int32_t> intermediates;  // whose quantisation recurrent operators look at
    std::vector<OptionValue> options;    // one for each field of its OperatorEntry
    std::span<const uint8_t> customOptions;
    std::string unreadable;  // why the options could not be read; empty: they were
};

struct Subgraph {
    std::string name;
    std::vector<Tensor> tensors;
    std::vector<Operator> operators;  // in the order of execution
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;

    // "operator 3 (CONV_2D)"; of CUSTOM its own name.
    std::string label(size_t index) const;
};

struct Model {
    std::vector<Subgraph> subgraphs;  // the first is the main one

    // That there is a subgraph, that all indexes of tensors are in range and operators have as many
    // options as their entries have fields: INVALID_ARGUMENT names the first that breaks it.
    Status check() const;
    // Has what DENSIFY makes of constants be constants: it changes how they are stored, and here
    // that is the reader's business. After check().
    void densify();
};

}  // namespace halyard::tflite
