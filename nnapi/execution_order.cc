// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <optional>
#include <queue>
#include <string>

#include "nnapi/model.h"

namespace halyard::nnapi {

Answer executionOrder(std::span<const driver::Operation> operations, size_t operands,
                      std::vector<uint32_t>& order) {
    std::vector<std::optional<uint32_t>> writers(operands);
    for (uint32_t i = 0; i < operations.size(); ++i) {
        for (const uint32_t output : operations[i].outputs) {
            if (writers[output].has_value()) {
                return badData("operations " + std::to_string(*writers[output]) + " and " +
                               std::to_string(i) + " both write operand " + std::to_string(output));
            }
            writers[output] = i;
        }
    }
    std::vector<size_t> waitsFor(operations.size());
    std::vector<std::vector<uint32_t>> readers(operations.size());
    for (uint32_t i = 0; i < operations.size(); ++i) {
        for (const uint32_t input : operations[i].inputs) {
            if (writers[input].has_value()) {
                readers[*writers[input]].push_back(i);
                ++waitsFor[i];
            }
        }
    }
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t i = 0; i < operations.size(); ++i) {
        if (waitsFor[i] == 0) {
            ready.push(i);
        }
    }
    order.clear();
    while (!ready.empty()) {
        const uint32_t next = ready.top();
        ready.pop();
        order.push_back(next);
        for (const uint32_t reader : readers[next]) {
            if (--waitsFor[reader] == 0) {
                ready.push(reader);
            }
        }
    }
    for (uint32_t i = 0; i < operations.size(); ++i) {
        if (waitsFor[i] > 0) {
            return badData(labelOf(operations[i], i) + " is part of a cycle, or behind one");
        }
    }
    return {};
}

}  // namespace halyard::nnapi
