// SPDX-License-Identifier: Apache-2.0
//
// PackingRecipe: all that a packed constant is made of: which constants, and every number that
// decides which byte of them goes where. Constants go by their identity, never by an address, so
// that a recipe means the same in a program that was saved and comes back without their elements.

#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/checkpoint.h"
#include "engine/base/fields.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::engine {

// A constant as a source of a recipe: left out, with its elements, or packed away.
template <typename T>
struct ConstantSource {
    ConstantId id = ConstantId::NONE;  // NONE: left out
    const T* data = nullptr;           // null: left out or packed away

    bool present() const { return id != ConstantId::NONE; }

    static ConstantSource of(const Tensor& tensor) {
        return {.id = tensor.constant.id,
                .data = reinterpret_cast<const T*>(tensor.constant.bytes.data())};
    }
};

namespace packing_internal {

template <typename T>
inline constexpr bool kIsSource = false;
template <typename T>
inline constexpr bool kIsSource<ConstantSource<T>> = true;

struct Anything {
    template <typename T>
    operator T() const;  // NOLINT(google-explicit-constructor)
};

// How many members an aggregate has: as many as it can be initialised with.
template <typename T, typename... Members>
consteval size_t memberCount() {
    if constexpr (requires { T{Members()..., Anything()}; }) {
        return memberCount<T, Members..., Anything>();
    } else {
        return sizeof...(Members);
    }
}

// Returns whether every source has its identity.
template <typename T>
bool append(std::string& key, const T& value) {
    bool named = true;
    if constexpr (kIsSource<T>) {
        append(key, value.id);
        named = value.present() || value.data == nullptr;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
        key.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else if constexpr (WithFields<T>) {
        static_assert(memberCount<T>() == std::tuple_size_v<decltype(value.fields())>,
                      "HALYARD_FIELDS leaves a member out");
        forEachField(value, [&](std::string_view /*name*/, const auto& field) {
            named = append(key, field) && named;
        });
    } else {
        append(key, static_cast<uint32_t>(value.size()));
        for (const auto& element : value) {
            named = append(key, element) && named;
        }
    }
    return named;
}

}  // namespace packing_internal

// Equal keys: equal fields of the same type. No member can be left out of it. INTERNAL where a
// source has not been given its identity.
template <WithFields T>
Result<std::string> keyOf(const T& object) {
    std::string key(T::kName);
    key.push_back('\0');
    return packing_internal::append(key, object)
                   ? Result<std::string>(std::move(key))
                   : internalError("a constant is to be packed that has no identity");
}

// fill() reads its fields and what the sources have, so that equal recipes make the same bytes.
// `kName` is no other recipe's or question's.
template <typename T>
concept PackingRecipe = WithFields<T> &&
        requires(const T& recipe, std::span<std::byte> to, const Checkpoint& checkpoint) {
    { T::kName } -> std::convertible_to<std::string_view>;
    { recipe.bytes() } -> std::same_as<Result<size_t>>;
    { recipe.fill(to, checkpoint) } -> std::same_as<Status>;
};

// A question about the elements of constants whose answer decides on a kernel. holds() reads its
// fields and what the sources have.
template <typename T>
concept ConstantQuestion = WithFields<T> && requires(const T& question) {
    { T::kName } -> std::convertible_to<std::string_view>;
    { question.holds() } -> std::same_as<bool>;
};

}  // namespace halyard::engine
