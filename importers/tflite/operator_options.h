// SPDX-License-Identifier: Apache-2.0
//
// What there is to know of an operator's options: the rows of operators.json. The readers of files,
// of a delegate's context and of LiteRT's subgraphs fill OptionValues by them, so that what maps an
// operator reads the same numbers wherever it comes from.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::tflite {

enum class OptionKind : uint8_t {
    BOOL,
    INT8,
    INT32,
    FLOAT,
    INT32S,
    PADDING,      // Padding
    ACTIVATION,   // FusedActivation
    MIRROR_MODE,  // MirrorMode
    TENSOR_TYPE,  // ElementType
};

struct OptionField {
    std::string_view name;
    OptionKind kind = OptionKind::INT32;
    int32_t slot = 0;  // in the table of a file
    double defaultValue = 0.0;
    int32_t offset = -1;       // in the struct that a delegate is handed; -1: it has none
    int32_t width = 4;         // bytes of it there
    int32_t countOffset = -1;  // of a list's number of entries there
};

struct OperatorEntry {
    int32_t code = 0;
    std::string_view name;
    std::string_view schema = {};  // the table's name; empty: no options are known
    int32_t unionNumber = 0;       // of that table in the union BuiltinOptions
    size_t paramsSize = 0;         // of the struct
    std::span<const OptionField> fields = {};
};

// Null for a code that there is not.
const OperatorEntry* findOperator(int32_t code);
// "CONV_2D", or "operator 300".
std::string nameOfOperator(int32_t code);

// One option's value, as its kind has it.
struct OptionValue {
    int64_t integer = 0;
    float real = 0.0F;
    std::vector<int32_t> list = {};

    bool operator==(const OptionValue&) const = default;
};
// What a field has where a file is silent about it.
OptionValue defaultOf(const OptionField& field);

}  // namespace halyard::tflite
