// SPDX-License-Identifier: Apache-2.0
//
// Structs that list their fields once. HALYARD_FIELDS(a, b) in a struct says what it consists of;
// comparing, hashing, printing and serialising by name all walk that list. Enumerations name
// themselves: nameOfEnumerator() reads the name that the compiler knows.

#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

// Every data member of the struct, in order of declaration. Changes neither layout nor aggregate
// initialisation.
#define HALYARD_FIELDS(...)                          \
    static constexpr std::string_view fieldNames() { \
        return #__VA_ARGS__;                         \
    }                                                \
    auto fields() {                                  \
        return std::tie(__VA_ARGS__);                \
    }                                                \
    auto fields() const {                            \
        return std::tie(__VA_ARGS__);                \
    }

namespace halyard {

template <typename T>
concept WithFields = requires(const T& object) {
    object.fields();
    T::fieldNames();
};

template <WithFields T>
bool operator==(const T& a, const T& b) {
    return a.fields() == b.fields();
}

namespace fields_internal {

// The names of "a, b, c", one per field.
template <size_t N>
constexpr std::array<std::string_view, N> split(std::string_view list) {
    std::array<std::string_view, N> names{};
    for (std::string_view& name : names) {
        const size_t end = list.find(',');
        name = list.substr(0, end);
        list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
        while (!list.empty() && list.front() == ' ') {
            list.remove_prefix(1);
        }
    }
    return names;
}

// "... V = halyard::engine::Activation::RELU]" with GCC, the same without "with" with clang.
template <auto V>
constexpr std::string_view enumeratorName() {
    std::string_view text = __PRETTY_FUNCTION__;
    text.remove_prefix(text.find("V = ") + 4);
    text = text.substr(0, text.find_first_of(";]"));
    const size_t colon = text.rfind(':');
    // A value without an enumerator is printed as a cast: "(halyard::engine::Activation)9".
    return text.front() == '(' || colon == std::string_view::npos ? std::string_view()
                                                                  : text.substr(colon + 1);
}

// The most enumerators that any enumeration in a struct with fields has.
inline constexpr size_t kMostEnumerators = 32;

template <typename E, size_t... I>
constexpr auto enumeratorNames(std::index_sequence<I...> /*values*/) {
    return std::array<std::string_view, sizeof...(I)>{enumeratorName<static_cast<E>(I)>()...};
}

template <typename E>
inline constexpr auto kEnumeratorNames =
        enumeratorNames<E>(std::make_index_sequence<kMostEnumerators>());

}  // namespace fields_internal

// Calls visit(name, field) for each field in order.
template <typename T, typename Visit>
void forEachField(T& object, Visit visit) {
    auto fields = object.fields();
    constexpr size_t kCount = std::tuple_size_v<decltype(fields)>;
    constexpr auto kNames = fields_internal::split<kCount>(std::remove_const_t<T>::fieldNames());
    [&]<size_t... I>(std::index_sequence<I...> /*indices*/) {
        (visit(kNames[I], std::get<I>(fields)), ...);
    }
    (std::make_index_sequence<kCount>());
}

// "RELU6"; empty for a value that has no enumerator. Enumerators count up from 0.
template <typename E>
requires std::is_enum_v<E>
constexpr std::string_view nameOfEnumerator(E value) {
    const auto index = static_cast<size_t>(value);
    return index < fields_internal::kMostEnumerators ? fields_internal::kEnumeratorNames<E>[index]
                                                     : std::string_view();
}

// The enumerator of that name; nothing where there is none.
template <typename E>
requires std::is_enum_v<E>
constexpr std::optional<E> enumeratorNamed(std::string_view name) {
    for (size_t i = 0; i < fields_internal::kMostEnumerators; ++i) {
        if (!name.empty() && fields_internal::kEnumeratorNames<E>[i] == name) {
            return static_cast<E>(i);
        }
    }
    return std::nullopt;
}

}  // namespace halyard
