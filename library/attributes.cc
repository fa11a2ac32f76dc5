// SPDX-License-Identifier: Apache-2.0

#include "library/attributes.h"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/base/fields.h"
#include "engine/graph/graph.h"
#include "library/answer.h"
#include "library/graph_handle.h"

namespace halyard::library {
namespace {

using engine::NestedGraph;
using engine::NodeDescriptor;

constexpr std::array kKindNames = {
#define HALYARD_NODE_KIND(Descriptor) #Descriptor,
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
};

std::optional<NodeDescriptor> descriptorNamed(std::string_view kind) {
#define HALYARD_NODE_KIND(Descriptor) \
    if (kind == #Descriptor) {        \
        return engine::Descriptor();  \
    }
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
    return std::nullopt;
}

Status takes(const char* what) {
    return invalidArgument(std::string("it takes ") + what);
}

template <typename E>
Status assignWord(const halyard_attribute& from, E& to) {
    if (from.kind == HALYARD_WORD && from.word != nullptr) {
        if (const std::optional<E> found = enumeratorNamed<E>(from.word); found.has_value()) {
            to = *found;
            return {};
        }
    }
    std::string words;
    for (size_t i = 0; !nameOfEnumerator(static_cast<E>(i)).empty(); ++i) {
        words.append(words.empty() ? "" : ", ").append(nameOfEnumerator(static_cast<E>(i)));
    }
    return takes(("a word of " + words).c_str());
}

template <typename T>
Status assign(const halyard_attribute& from, T& to) {
    if constexpr (std::is_same_v<T, bool>) {
        if (from.kind != HALYARD_BOOL || (from.integer != 0 && from.integer != 1)) {
            return takes("a bool, 0 or 1");
        }
        to = from.integer == 1;
    } else if constexpr (std::is_same_v<T, int32_t>) {
        using Limits = std::numeric_limits<int32_t>;
        if (from.kind != HALYARD_INTEGER || from.integer < Limits::min() ||
            from.integer > Limits::max()) {
            return takes("an integer of 32 bits");
        }
        to = static_cast<int32_t>(from.integer);
    } else if constexpr (std::is_floating_point_v<T>) {
        if (from.kind != HALYARD_REAL) {
            return takes("a real number");
        }
        to = static_cast<T>(from.real);
    } else if constexpr (std::is_enum_v<T>) {
        return assignWord(from, to);
    } else {
        static_assert(std::is_same_v<T, NestedGraph>);
        if (from.kind != HALYARD_GRAPH || from.graph == nullptr) {
            return takes("a graph");
        }
        to.graph = std::make_shared<const engine::Graph>(from.graph->graph);
    }
    return {};
}

// Fields with those of structs inside, as "window.top".
template <WithFields T, typename Visit>
void forEachAttribute(T& object, const std::string& prefix, Visit& visit) {
    forEachField(object, [&](std::string_view name, auto& field) {
        const std::string path = prefix + std::string(name);
        if constexpr (WithFields<std::remove_reference_t<decltype(field)>>) {
            forEachAttribute(field, path + ".", visit);
        } else {
            visit(path, field);
        }
    });
}

template <WithFields T>
Status assignNamed(const halyard_attribute& from, T& object) {
    const std::string_view wanted = from.name;
    bool found = false;
    Status status;
    std::string known;
    auto visit = [&](const std::string& path, auto& field) {
        known.append(known.empty() ? "" : ", ").append(path);
        if (path == wanted) {
            found = true;
            status = assign(from, field);
        }
    };
    forEachAttribute(object, "", visit);
    if (!found) {
        return invalidArgument("there is no such attribute; " +
                               (known.empty() ? "there is none" : "there are " + known));
    }
    return status;
}

}  // namespace

Result<NodeDescriptor> descriptorOf(std::string_view kind,
                                    std::span<const halyard_attribute> attributes) {
    std::optional<NodeDescriptor> descriptor = descriptorNamed(kind);
    if (!descriptor.has_value()) {
        return unsupported("there is no kind \"" + std::string(kind) + "\"");
    }
    std::set<std::string_view> given;
    for (size_t i = 0; i < attributes.size(); ++i) {
        const halyard_attribute& attribute = attributes[i];
        HALYARD_RETURN_IF_ERROR(
                present(attribute.name, ("the name of attribute " + std::to_string(i)).c_str()));
        const std::string place = std::string(kind) + "'s " + attribute.name;
        if (!given.insert(attribute.name).second) {
            return invalidArgument(place + " is there twice");
        }
        const auto assignTo = [&]<typename Descriptor>(Descriptor& fields) -> Status {
            if constexpr (std::is_same_v<Descriptor, std::monostate>) {
                return internalError("a kind without a descriptor");
            } else {
                return assignNamed(attribute, fields);
            }
        };
        HALYARD_RETURN_IF_ERROR(std::visit(assignTo, *descriptor).withContext(place));
    }
    return *std::move(descriptor);
}

}  // namespace halyard::library

extern "C" const char* halyard_node_kind(size_t index) {
    return index < halyard::library::kKindNames.size() ? halyard::library::kKindNames[index]
                                                       : nullptr;
}
