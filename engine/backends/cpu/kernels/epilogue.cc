// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/kernels/epilogue.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {
namespace {

// A few kilobytes; fewer where a constant has an element for each.
constexpr int64_t kChunk = 1 << 11;
constexpr int64_t kConstantChunk = 1 << 9;
// Of as many channels a constant is repeated: each stage holds some kilobytes at most, however many
// read one constant.
constexpr int64_t kMostRepeated = kConstantChunk;

// Of a constant that is repeated along the channels: one, or as many as those. 0: it is no such.
int64_t repeatedChannels(const TensorType& constant, const TensorType& elements) {
    const Shape& shape = constant.shape;
    if (!shape.isFullyKnown() || !elements.shape.hasKnownRank() || elements.shape.rank() == 0 ||
        shape.rank() > elements.shape.rank()) {
        return 0;
    }
    const int32_t channels = elements.shape[elements.shape.rank() - 1];
    const int64_t count = countOf(shape);
    const bool isOne = count == 1;
    const bool isForEach =
            shape.rank() > 0 && count == channels && shape[shape.rank() - 1] == count;
    return channels > 0 && (isOne || isForEach) ? count : 0;
}

}  // namespace

bool isByChannelConstant(const Graph& graph, const Node& node, TensorId result) {
    const auto* const binary = std::get_if<Binary>(&node.descriptor);
    // A power takes so long that threads better share it out anew.
    if (binary == nullptr || binary->function == Binary::Function::POW) {
        return false;
    }
    const Tensor& other = graph.tensor(node.inputs[node.inputs[0] == result ? 1 : 0]);
    return other.isConstant() && other.type.type == graph.tensor(result).type.type &&
           repeatedChannels(other.type, graph.tensor(result).type) > 0;
}

Epilogue::Stage Epilogue::constantStage(const Graph& graph, const Node& node, TensorId result,
                                        size_t input, InstructionSet set) {
    const bool replacesFirst = node.inputs[0] == result;
    const Tensor& constant = graph.tensor(node.inputs[replacesFirst ? 1 : 0]);
    Stage stage = {
            .apply = stageOf(*std::get_if<Binary>(&node.descriptor),
                             graph.tensor(node.inputs[0]).type, graph.tensor(node.inputs[1]).type,
                             graph.tensor(node.outputs[0]).type, replacesFirst, set),
            .channels = repeatedChannels(constant.type, graph.tensor(result).type),
            .input = input};
    if (stage.channels <= kMostRepeated) {
        const size_t size = elementSize(constant.type.type);
        const std::span<const uint8_t> bytes = constant.constant.bytes;
        stage.repeated.resize(static_cast<size_t>(stage.channels + kConstantChunk) * size);
        for (size_t i = 0; i < stage.repeated.size(); ++i) {
            stage.repeated[i] = std::byte{bytes[i % bytes.size()]};
        }
    }
    return stage;
}

Epilogue Epilogue::of(const Graph& graph, TensorId result, std::span<const Node* const> nodes,
                      size_t inputs, InstructionSet set) {
    Epilogue epilogue;
    TensorId last = result;
    epilogue.mElementBytes = elementSize(graph.tensor(last).type.type);
    epilogue.mChunk = kChunk;
    for (const Node* node : nodes) {
        const TensorType& output = graph.tensor(node->outputs[0]).type;
        if (const auto* activate = std::get_if<Activate>(&node->descriptor)) {
            epilogue.mStages.push_back(
                    {.apply = stageOf(*activate, graph.tensor(last).type, output, set)});
        } else if (isByChannelConstant(graph, *node, last)) {
            epilogue.mStages.push_back(constantStage(graph, *node, last, inputs++, set));
            epilogue.mChunk = kConstantChunk;
        } else if (const auto* binary = std::get_if<Binary>(&node->descriptor)) {
            const TensorType& a = graph.tensor(node->inputs[0]).type;
            const TensorType& b = graph.tensor(node->inputs[1]).type;
            const bool replacesFirst = node->inputs[0] == last;
            epilogue.mAddend = inputs++;
            epilogue.mStages.push_back(
                    {.apply = stageOf(*binary, a, b, output, replacesFirst, set)});
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

void Epilogue::applyConstant(const Stage& stage, std::byte* elements, ptrdiff_t begin,
                             int64_t count, const KernelCall* call) const {
    const auto size = static_cast<ptrdiff_t>(mElementBytes);
    int64_t channel = begin % stage.channels;
    if (!stage.repeated.empty()) {
        stage.apply(elements, stage.repeated.data() + channel * size, count);
        return;
    }
    const auto* const constant = call->input(stage.input).as<std::byte>();
    for (int64_t i = 0; i < count;) {
        const int64_t part = std::min(count - i, stage.channels - channel);
        stage.apply(elements + i * size, constant + channel * size, part);
        i += part;
        channel = 0;
    }
}

void Epilogue::applyTo(std::byte* elements, const std::byte* added, ptrdiff_t begin, int64_t count,
                       const KernelCall* call) const {
    const auto size = static_cast<ptrdiff_t>(mElementBytes);
    for (int64_t i = 0; i < count; i += mChunk) {
        const int64_t part = std::min(mChunk, count - i);
        std::byte* const chunk = elements + i * size;
        for (const Stage& stage : mStages) {
            if (stage.channels > 0) {
                applyConstant(stage, chunk, begin + i, part, call);
            } else {
                stage.apply(chunk, added == nullptr ? nullptr : added + i * size, part);
            }
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
        applyTo(to + begin * size, added == nullptr ? nullptr : added + begin * size, begin, count,
                &call);
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
