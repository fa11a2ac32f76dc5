// SPDX-License-Identifier: Apache-2.0
//
// Forms and type rows, of which the operation table is made. An operation has forms, which name its
// operands in order, and type rows, which say what types stand in the columns that the forms refer
// to. Every form goes with every row; the pair exists from the later of their two versions on.
//
//     .forms = {{.since = V1_0,
//                .inputs = {tensor("input", kData), int32Tensor("axes"), int32("keep_dims")},
//                .outputs = {tensor("output", kData)}}},
//     .rows = {{V1_0, {TENSOR_FLOAT32}}, {V1_2, {TENSOR_FLOAT16}}},

#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "driver/model/versions.h"

namespace halyard::driver {

// The type that the row has at this place.
struct Column {
    size_t index = 0;
};
struct AnyType {};
using TypeRef = std::variant<OperandType, Column, AnyType>;

struct OperandForm {
    std::string_view name;  // in snake case, a literal; of one that repeats: the plural
    TypeRef type;
    bool omittable = false;  // may be NO_VALUE, of the same type nevertheless
    bool repeats = false;    // may stand several times, each of the same type unless of any
    size_t least = 1;        // how often it stands there at least

    constexpr OperandForm orOmitted() const {
        OperandForm form = *this;
        form.omittable = true;
        return form;
    }
    constexpr OperandForm repeated(size_t atLeast = 1) const {
        OperandForm form = *this;
        form.repeats = true;
        form.least = atLeast;
        return form;
    }
};

// At most one of them repeats.
using OperandForms = std::vector<OperandForm>;

struct Form {
    HalVersion since = HalVersion::V1_0;
    OperandForms inputs;
    OperandForms outputs;
};

struct TypeRow {
    HalVersion since = HalVersion::V1_0;
    std::vector<OperandType> types;  // by column
};

// ---- How rows are written -----------------------------------------------------------------------

constexpr OperandForm tensor(std::string_view name, Column type) {
    return {.name = name, .type = type};
}
// A real attribute whose type goes with that of the tensors.
constexpr OperandForm real(std::string_view name, Column type) {
    return {.name = name, .type = type};
}
constexpr OperandForm tensor(std::string_view name, OperandType type) {
    return {.name = name, .type = type};
}
constexpr OperandForm int32Tensor(std::string_view name) {
    return tensor(name, OperandType::TENSOR_INT32);
}
constexpr OperandForm int32(std::string_view name) {
    return {.name = name, .type = OperandType::INT32};
}
constexpr OperandForm float32(std::string_view name) {
    return {.name = name, .type = OperandType::FLOAT32};
}
constexpr OperandForm boolean(std::string_view name) {
    return {.name = name, .type = OperandType::BOOL};
}
constexpr OperandForm subgraph(std::string_view name) {
    return {.name = name, .type = OperandType::SUBGRAPH};
}
constexpr OperandForm anything(std::string_view name) {
    return {.name = name, .type = AnyType()};
}

// One list after the other.
OperandForms join(std::initializer_list<OperandForms> lists);

// ---- How rows are read --------------------------------------------------------------------------

// Whether so many operands can stand there.
bool takesCount(const OperandForms& forms, size_t count);
// The form of the operand at `position` of `count`; takesCount() holds.
const OperandForm& formAt(const OperandForms& forms, size_t position, size_t count);
bool takesType(const OperandForm& form, const TypeRow& row, OperandType type);

// Where operands of that name stand among `count`. Nothing if the forms have no such name.
struct OperandRange {
    size_t first = 0;
    size_t count = 0;
};
std::optional<OperandRange> findRange(const OperandForms& forms, std::string_view name,
                                      size_t count);

}  // namespace halyard::driver
