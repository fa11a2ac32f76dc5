// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/kernels/epilogue.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {
namespace {

// Elements that all stages see before the next: a few kilobytes.
constexpr int64_t kChunk = 1 << 11;

}  // namespace

Epilogue Epilogue::of(const Graph& graph, TensorId result, std::span<const Node* const> nodes,
                      size_t inputs, InstructionSet set) {
    Epilogue epilogue;
    TensorId last = result;
    epilogue.mElementBytes = elementSize(graph.tensor(last).type.type);
    for (const Node* node : nodes) {
        const TensorType& output = graph.tensor(node->outputs[0]).type;
        if (const auto* activate = std::get_if<Activate>(&node->descriptor)) {
            epilogue.mStages.push_back(stageOf(*activate, graph.tensor(last).type, output, set));
        } else if (const auto* binary = std::get_if<Binary>(&node->descriptor)) {
            const TensorType& a = graph.tensor(node->inputs[0]).type;
            const TensorType& b = graph.tensor(node->inputs[1]).type;
            const bool replacesFirst = node->inputs[0] == last;
            epilogue.mAddend = inputs++;
            epilogue.mStages.push_back(stageOf(*binary, a, b, output, replacesFirst, set));
            // Either order has the same sum.
            epilogue.mAddition = nodes.size() == 1 ? byteAdditionOf(*binary, replacesFirst ? a : b,
                                                                    replacesFirst ? b : a, output)
                                                   : std::nullopt;
        }
        epilogue.mName.append(" + ").append(toString(node->kind()));
        last = node->outputs[0];
    }
    return epilogue;
}

void Epilogue::applyTo(std::byte* elements, const std::byte* added, int64_t count) const {
    for (int64_t i = 0; i < count; i += kChunk) {
        const ptrdiff_t at = i * static_cast<ptrdiff_t>(mElementBytes);
        for (const EpilogueStage& stage : mStages) {
            stage(elements + at, added == nullptr ? nullptr : added + at,
                  std::min(kChunk, count - i));
        }
    }
}

void Epilogue::apply(const KernelCall& call, const EpilogueRows& rows) const {
    if (empty()) {
        return;
    }
    const auto size = static_cast<ptrdiff_t>(mElementBytes);
    std::byte* const to = call.output(0).as<std::byte>();
    const std::byte* const added = addend(call);
    const auto applyAt = [&](ptrdiff_t begin, int64_t count) {
        applyTo(to + begin * size, added == nullptr ? nullptr : added + begin * size, count);
    };
    const bool linesAreWhole = rows.row == rows.columns;
    for (int64_t line = 0; line < rows.lines; ++line) {
        const ptrdiff_t begin = rows.begin + line * rows.line;
        if (linesAreWhole) {
            applyAt(begin, rows.rows * rows.columns);
            continue;
        }
        for (int64_t row = 0; row < rows.rows; ++row) {
            applyAt(begin + row * rows.row, rows.columns);
        }
    }
}

}  // namespace halyard::engine::cpu
