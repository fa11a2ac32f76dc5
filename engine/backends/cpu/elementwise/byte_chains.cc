// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/elementwise/byte_chains.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "engine/backends/cpu/elementwise/byte_lookup.h"
#include "engine/backends/cpu/kernels/byte_types.h"
#include "engine/backends/cpu/kernels/chunks.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/plan/kernel_call.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::cpu {
namespace {

// An error function that is spelled out takes some 26.
constexpr size_t kMostNodes = 40;
// What a function computes once is read by few.
constexpr size_t kMostReaders = 16;

bool isElementwise(NodeKind kind) {
    switch (kind) {
        case NodeKind::Activate:
        case NodeKind::Binary:
        case NodeKind::Dequantize:
        case NodeKind::Quantize:
        case NodeKind::Unary:
            return true;
        default:
            return false;
    }
}

bool isNumber(const Tensor& tensor) {
    const Result<size_t> bytes = tensor.type.byteSize();
    return tensor.isConstant() && bytes.ok() && *bytes == elementSize(tensor.type.type);
}

}  // namespace

ByteChains::ByteChains(const Graph& graph, const Partition& partition)
    : mGraph(graph), mPartition(partition) {
    for (size_t i = 0; i < partition.nodes.size(); ++i) {
        for (const TensorId input : node(i).inputs) {
            if (input != kNoTensor && !graph.tensor(input).isConstant()) {
                std::vector<size_t>& readers = mReaders[input].nodes;
                if (readers.empty() || readers.back() != i) {
                    readers.push_back(i);
                }
            }
        }
    }
    for (const TensorId output : partition.outputs) {
        mReaders[output].outside = true;
    }
}

const ByteChains::Readers* ByteChains::readersOf(TensorId tensor) const {
    const auto found = mReaders.find(tensor);
    return found == mReaders.end() ? nullptr : &found->second;
}

bool ByteChains::isMember(const Chain& chain, TensorId tensor) const {
    return tensor == chain.x || std::ranges::any_of(chain.nodes, [&](size_t position) {
               return node(position).outputs[0] == tensor;
           });
}

bool ByteChains::joins(const Chain& chain, size_t position) const {
    const Node& reader = node(position);
    const DataType type = mGraph.tensor(reader.outputs[0]).type.type;
    return isElementwise(reader.kind()) && (isFloat(type) || isOfBytes(type)) &&
           std::ranges::all_of(reader.inputs, [&](TensorId input) {
               return input != kNoTensor &&
                      (isMember(chain, input) || isNumber(mGraph.tensor(input)));
           });
}

void ByteChains::append(Chain& chain, size_t position) const {
    chain.nodes.push_back(position);
    std::erase(chain.readers, position);
    chain.isClosed = chain.readers.empty();
}

std::optional<size_t> ByteChains::nextOf(Chain& chain) const {
    const Readers* const readers = readersOf(node(chain.nodes.back()).outputs[0]);
    if (readers == nullptr || readers->outside || readers->nodes.size() > kMostReaders) {
        return std::nullopt;
    }
    std::vector<size_t> all;
    std::ranges::set_union(chain.readers, readers->nodes, std::back_inserter(all));
    chain.readers = std::move(all);
    return chain.readers.size() > kMostReaders ? std::nullopt
                                               : std::optional(chain.readers.front());
}

std::optional<ByteTable> ByteChains::tableOf(const Chain& chain) const {
    constexpr size_t kValues = 256;
    struct Operand {
        TensorType type;
        std::vector<float> elements;  // or smaller ones, in their place
    };
    std::unordered_map<TensorId, Operand> operands;
    const auto add = [&](TensorId id) -> Operand& {
        Operand& operand = operands[id];
        operand.type = mGraph.tensor(id).type;
        operand.type.shape = {static_cast<int32_t>(kValues)};
        operand.elements.resize(kValues);
        return operand;
    };
    ByteTable table{};
    std::iota(table.begin(), table.end(), uint8_t{0});
    std::ranges::copy(table, reinterpret_cast<uint8_t*>(add(chain.x).elements.data()));
    for (const size_t position : chain.nodes) {
        const Node& each = node(position);
        Operand& result = add(each.outputs[0]);
        std::vector<TensorType> numbers(each.inputs.size());
        std::vector<ConstTensorView> inputs;
        for (size_t i = 0; i < each.inputs.size(); ++i) {
            const Tensor& tensor = mGraph.tensor(each.inputs[i]);
            if (tensor.isConstant()) {
                numbers[i] = tensor.type;
                numbers[i].shape = {1};
                inputs.push_back({.type = &numbers[i], .data = tensor.constant.bytes.data()});
            } else {
                const Operand& operand = operands.at(each.inputs[i]);
                inputs.push_back({.type = &operand.type, .data = operand.elements.data()});
            }
        }
        TensorView outputs[] = {{.type = &result.type, .data = result.elements.data()}};
        KernelCall call({.inputs = inputs, .outputs = outputs, .memory = nullptr, .constants = {}});
        const Kernel kernel = ref::findKernel(each);
        if (kernel.run == nullptr || !kernel.run(each, call).ok()) {
            return std::nullopt;
        }
    }
    const Operand& last = operands.at(node(chain.nodes.back()).outputs[0]);
    std::copy_n(reinterpret_cast<const uint8_t*>(last.elements.data()), kValues, table.begin());
    return table;
}

std::optional<FusedStep> ByteChains::from(size_t first, const std::vector<bool>& taken,
                                          InstructionSet set) const {
    const Node& head = node(first);
    if (!isElementwise(head.kind())) {
        return std::nullopt;
    }
    const auto read = std::ranges::find_if(head.inputs, [&](TensorId input) {
        return input != kNoTensor && !mGraph.tensor(input).isConstant();
    });
    if (read == head.inputs.end() || !isOfBytes(mGraph.tensor(*read).type.type)) {
        return std::nullopt;
    }
    Chain chain = {.x = *read, .nodes = {}, .readers = {}};
    size_t closed = 0;
    for (std::optional<size_t> next = first; next.has_value() && !taken[*next] &&
                                             joins(chain, *next) && chain.nodes.size() < kMostNodes;
         next = nextOf(chain)) {
        append(chain, *next);
        if (chain.isClosed && isOfBytes(mGraph.tensor(node(*next).outputs[0]).type.type)) {
            closed = chain.nodes.size();
        }
    }
    chain.nodes.resize(closed);
    if (closed == 0 || (closed == 1 && head.kind() != NodeKind::Binary)) {
        return std::nullopt;
    }
    const std::optional<ByteTable> table = tableOf(chain);
    if (!table.has_value()) {
        return std::nullopt;
    }
    const auto x = static_cast<size_t>(read - head.inputs.begin());
    return FusedStep{.nodes = chain.nodes,
                     .compile = [table = *table, x, set](const KernelArguments& arguments)
                             -> Result<std::unique_ptr<const StepKernel>> {
                         std::string name = kernelName(arguments, toString(set));
                         for (const Node* other : arguments.others) {
                             name.append(" + ").append(toString(other->kind()));
                         }
                         name += " lookup";
                         auto run = [table, x, form = lookUpBytes(set)](KernelCall& call) {
                             const auto* from = call.input(x).as<uint8_t>();
                             auto* to = call.output(0).as<uint8_t>();
                             return forEachChunk(call, kChunk / 8,
                                                 [&](int64_t begin, int64_t count) {
                                                     form(table, from + begin, to + begin, count);
                                                 });
                         };
                         return std::unique_ptr<const StepKernel>(
                                 std::make_unique<PlainKernel<decltype(run)>>(
                                         std::move(name), std::move(run), false));
                     }};
}

}  // namespace halyard::engine::cpu
