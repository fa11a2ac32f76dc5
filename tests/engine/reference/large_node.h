// SPDX-License-Identifier: Apache-2.0
//
// Nodes that are large enough to be stopped in their middle. What they compute does not matter.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {

// Their bytes come when they are needed.
inline Values zeros(DataType type, Shape shape, float scale = 1.0F, int32_t zeroPoint = 0) {
    return {.type = isQuantized(type) ? typeOf(type, shape, scale, zeroPoint) : typeOf(type, shape),
            .bytes = {}};
}
inline Values f32(Shape shape) {
    return zeros(DataType::FLOAT32, shape);
}
inline Values f16(Shape shape) {
    return zeros(DataType::FLOAT16, shape);
}
inline Values q8(Shape shape) {
    return zeros(DataType::QUANT8_ASYMM, shape);
}
inline Values i32(Shape shape) {
    return zeros(DataType::INT32, shape);
}
inline Values b8(Shape shape) {
    return zeros(DataType::BOOL8, shape);
}

struct LargeNode {
    std::string name;
    NodeDescriptor node;
    std::vector<std::optional<Values>> inputs;
    std::vector<TensorType> outputs = {};  // empty: one, of FLOAT32
    // The fewest polls of the checkpoint, where a test counts that; 0: as the test says.
    size_t fewestLooks = 0;
    uint64_t constants = 0;  // a bit for each input that is a constant where a backend packs them

    // As many as the node's kind has, each with its bytes.
    std::vector<std::optional<Values>> allInputs() const {
        std::vector<std::optional<Values>> all = inputs;
        for (std::optional<Values>& input : all) {
            if (input.has_value()) {
                input->bytes.resize(*input->type.byteSize());
            }
        }
        all.resize(std::max(all.size(), signatureOf(node).inputs.size()));
        return all;
    }
    std::vector<TensorType> allOutputs() const {
        return outputs.empty() ? std::vector{f32({}).type} : outputs;
    }
};

inline void PrintTo(const LargeNode& each, std::ostream* stream) {
    *stream << each.name;
}

// The names of their kinds.
template <typename Nodes>
std::set<std::string_view> kindsOf(const Nodes& nodes) {
    std::set<std::string_view> kinds;
    for (const LargeNode& each : nodes) {
        kinds.insert(toString(static_cast<NodeKind>(each.node.index())));
    }
    return kinds;
}

}  // namespace halyard::engine::ref_test
