// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/nodes.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

namespace halyard::engine {
namespace {

constexpr OutputSpec kOneOutput[] = {{"output"}};

template <typename Descriptor>
std::span<const OutputSpec> outputsOf() {
    if constexpr (requires { Descriptor::kOutputs; }) {
        return Descriptor::kOutputs;
    } else {
        return kOneOutput;
    }
}

template <typename Spec>
const Spec* find(std::span<const Spec> specs, size_t index) {
    if (index < specs.size()) {
        return &specs[index];
    }
    return !specs.empty() && (specs.back().traits & kRepeats) != 0 ? &specs.back() : nullptr;
}

std::string textOf(bool value) {
    return value ? "true" : "false";
}

// The shortest text that reads back as the same number.
template <typename Number>
requires std::is_arithmetic_v<Number> std::string textOf(Number value) {
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value);
    return {text, end};
}

template <typename E>
requires std::is_enum_v<E> std::string textOf(E value) {
    return std::string(nameOfEnumerator(value));
}

std::string textOf(const NestedGraph& nested) {
    return nested.graph == nullptr ? "nothing"
                                   : "graph of " + std::to_string(nodeCount(nested)) + " nodes";
}

template <WithFields T>
std::string textOf(const T& object) {
    std::string text;
    forEachField(object, [&](std::string_view name, const auto& field) {
        text.append(text.empty() ? "" : ", ").append(name).append(": ").append(textOf(field));
    });
    return "{" + text + "}";
}

}  // namespace

NodeDescriptor::NodeDescriptor() : AnyDescriptor(std::monostate()) {}
#define HALYARD_NODE_KIND(Descriptor)                     \
    NodeDescriptor::NodeDescriptor(Descriptor descriptor) \
        : AnyDescriptor(std::in_place_type<Descriptor>, std::move(descriptor)) {}
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
NodeDescriptor::~NodeDescriptor() = default;
NodeDescriptor::NodeDescriptor(const NodeDescriptor& other) = default;
NodeDescriptor::NodeDescriptor(NodeDescriptor&& other) noexcept = default;
NodeDescriptor& NodeDescriptor::operator=(const NodeDescriptor& other) = default;
NodeDescriptor& NodeDescriptor::operator=(NodeDescriptor&& other) noexcept = default;

bool NodeDescriptor::operator==(const NodeDescriptor& other) const {
    return static_cast<const AnyDescriptor&>(*this) == static_cast<const AnyDescriptor&>(other);
}

std::string_view toString(NodeKind kind) {
    switch (kind) {
#define HALYARD_NODE_KIND(Descriptor) \
    case NodeKind::Descriptor:        \
        return #Descriptor;
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
    }
    return "no kind";
}

const InputSpec* NodeSignature::input(size_t index) const {
    return find(inputs, index);
}

const OutputSpec* NodeSignature::output(size_t index) const {
    return find(outputs, index);
}

bool NodeSignature::isControlInput(size_t index) const {
    const InputSpec* spec = input(index);
    return spec != nullptr && (spec->traits & kControl) != 0;
}

NodeSignature signatureOf(const NodeDescriptor& descriptor) {
    return std::visit(
            []<typename Descriptor>(const Descriptor& /*node*/) -> NodeSignature {
                if constexpr (std::is_same_v<Descriptor, std::monostate>) {
                    return {};
                } else {
                    return {.inputs = Descriptor::kInputs, .outputs = outputsOf<Descriptor>()};
                }
            },
            descriptor);
}

std::string toString(const NodeDescriptor& descriptor) {
    const auto kind = static_cast<NodeKind>(descriptor.index());
    return std::string(toString(kind)) +
           std::visit(
                   []<typename Descriptor>(const Descriptor& node) -> std::string {
                       if constexpr (std::is_same_v<Descriptor, std::monostate>) {
                           return {};
                       } else {
                           return textOf(node);
                       }
                   },
                   descriptor);
}

}  // namespace halyard::engine
