// SPDX-License-Identifier: Apache-2.0
//
// Building and running programs in few words, for tests.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/plan/program.h"

namespace halyard::engine {

inline std::shared_ptr<const Program> buildOrDie(Graph graph, const BackendList& backends,
                                                 std::shared_ptr<ThreadPool> threads = nullptr) {
    return Program::build(std::move(graph), backends, std::move(threads)).value();
}

template <typename T>
InputBinding bindInput(std::span<const T> elements, Shape shape) {
    return {.bytes = {reinterpret_cast<const uint8_t*>(elements.data()), elements.size_bytes()},
            .shape = shape,
            .present = true,
            .isPrivate = false};
}

template <typename T>
InputBinding bindInput(const std::vector<T>& elements) {
    return bindInput(std::span<const T>(elements), {static_cast<int32_t>(elements.size())});
}

inline OutputBinding bindOutput(std::span<float> elements) {
    return {.bytes = {reinterpret_cast<uint8_t*>(elements.data()), elements.size_bytes()},
            .shape = Shape::unknownRank(),
            .present = true};
}

inline OutputBinding unwanted() {
    return {.bytes = {}, .shape = Shape::unknownRank(), .present = false};
}

// Runs without a deadline.
inline Status runOnce(Execution& execution, const std::vector<InputBinding>& inputs,
                      const std::vector<OutputBinding>& outputs,
                      ExecutionReport* report = nullptr) {
    return execution.run(inputs, outputs, {}, report);
}

using Floats = std::vector<float>;

}  // namespace halyard::engine
