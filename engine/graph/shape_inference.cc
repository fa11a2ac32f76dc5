// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/shape_inference.h"

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace halyard::engine {
namespace {

Status checkCount(size_t count, std::string_view what, size_t listed, bool repeats) {
    if (repeats ? count + 1 < listed : count != listed) {
        return invalidArgument("takes " + std::to_string(repeats ? listed - 1 : listed) +
                               (repeats ? " or more " : " ") + std::string(what) + ", not " +
                               std::to_string(count));
    }
    return {};
}

template <typename Spec>
bool lastRepeats(std::span<const Spec> specs) {
    return !specs.empty() && (specs.back().traits & kRepeats) != 0;
}

Status checkSignature(const NodeSignature& signature, std::span<const KnownInput> inputs,
                      size_t outputs) {
    HALYARD_RETURN_IF_ERROR(checkCount(inputs.size(), "inputs", signature.inputs.size(),
                                       lastRepeats(signature.inputs)));
    HALYARD_RETURN_IF_ERROR(checkCount(outputs, "outputs", signature.outputs.size(),
                                       lastRepeats(signature.outputs)));
    for (size_t i = 0; i < inputs.size(); ++i) {
        const InputSpec& spec = *signature.input(i);
        if (!inputs[i].present() && (spec.traits & kOmittable) == 0) {
            return invalidArgument("input " + std::to_string(i) + ", the " +
                                   std::string(spec.name) + ", can't be left out");
        }
    }
    return {};
}

}  // namespace

Result<Shape> mergeShapes(const Shape& a, const Shape& b) {
    if (!a.hasKnownRank()) {
        return b;
    }
    if (!b.hasKnownRank()) {
        return a;
    }
    bool agree = a.rank() == b.rank();
    Shape merged = a;
    for (size_t axis = 0; agree && axis < a.rank(); ++axis) {
        if (a[axis] == kUnknownDimension) {
            merged[axis] = b[axis];
        } else {
            agree = b[axis] == kUnknownDimension || a[axis] == b[axis];
        }
    }
    if (!agree) {
        return invalidArgument("shape " + a.toString() + " contradicts " + b.toString());
    }
    return merged;
}

Status inferShapes(const Node& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    const auto infer = [&]<typename Descriptor>(const Descriptor& descriptor) -> Status {
        if constexpr (std::is_same_v<Descriptor, std::monostate>) {
            return internalError("the node has no kind");
        } else {
            HALYARD_RETURN_IF_ERROR(
                    checkSignature(signatureOf(node.descriptor), inputs, outputs.size()));
            return inferShapes(descriptor, inputs, outputs);
        }
    };
    return failureOf(node, std::visit(infer, node.descriptor));
}

Result<size_t> resolveAxis(int32_t axis, size_t rank) {
    const auto extent = static_cast<int32_t>(rank);
    if (axis < -extent || axis >= extent) {
        return invalidArgument("axis " + std::to_string(axis) + " is not one of a tensor of rank " +
                               std::to_string(rank));
    }
    return static_cast<size_t>(axis < 0 ? axis + extent : axis);
}

}  // namespace halyard::engine
