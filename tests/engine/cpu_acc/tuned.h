// SPDX-License-Identifier: Apache-2.0
//
// Runs one node on CpuAcc, as the planner would, and compares it with CpuRef: on every instruction
// set, with one thread and with several. Inputs end at an inaccessible page.

#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/aligned_buffer.h"
#include "engine/base/thread_pool.h"
#include "engine/plan/backend.h"
#include "tests/engine/allocation_count.h"
#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::cpu_test {

using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

// A copy of some bytes that ends with a page, before one that can't be read.
class PageEnd {
  public:
    explicit PageEnd(const std::vector<uint8_t>& bytes) {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        const size_t readable = (bytes.size() + page) / page * page;
        mSize = readable + page;
        void* const block =
                mmap(nullptr, mSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(block, MAP_FAILED);
        mBlock = static_cast<uint8_t*>(block);
        EXPECT_EQ(mprotect(mBlock + readable, page, PROT_NONE), 0);
        mData = mBlock + readable - bytes.size();
        if (!bytes.empty()) {
            std::memcpy(mData, bytes.data(), bytes.size());
        }
    }
    ~PageEnd() {
        if (mBlock != nullptr) {
            munmap(mBlock, mSize);
        }
    }
    PageEnd(PageEnd&& other) noexcept
        : mBlock(std::exchange(other.mBlock, nullptr)), mSize(other.mSize), mData(other.mData) {}
    PageEnd& operator=(PageEnd&&) = delete;

    uint8_t* data() { return mData; }

  private:
    uint8_t* mBlock = nullptr;
    size_t mSize = 0;
    uint8_t* mData = nullptr;
};

// How a node is put before the backend.
struct Setting {
    cpu::InstructionSet set = cpu::InstructionSet::PORTABLE;
    size_t threads = 1;
    bool controlInputsAreConstant = true;
    bool shapesAreKnown = true;
    uint64_t constantInputs = 0;          // a bit for each input that the graph has the values of
    const StopCondition* stop = nullptr;  // asked in one run, after which there is no other
};

// UNSUPPORTED if CpuAcc does not take the node. `outputs` are types whose shapes don't count.
inline Result<std::vector<Values>> evaluateTuned(const NodeDescriptor& descriptor,
                                                 const std::vector<std::optional<Values>>& inputs,
                                                 const std::vector<TensorType>& outputs,
                                                 const Setting& setting) {
    const NodeSignature signature = signatureOf(descriptor);
    auto graph = std::make_shared<Graph>();
    Node node = {
            .descriptor = descriptor, .inputs = {}, .outputs = {}, .label = "node", .sources = {}};
    Partition partition = {.nodes = {0}, .inputs = {}, .outputs = {}};
    std::vector<PageEnd> memory;
    std::vector<ConstTensorView> views;
    std::vector<const TensorType*> types;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].has_value()) {
            node.inputs.push_back(kNoTensor);
            continue;
        }
        const Values& values = *inputs[i];
        const bool isConstant = (setting.constantInputs >> i & 1) != 0;
        if (isConstant || (signature.isControlInput(i) && setting.controlInputsAreConstant)) {
            node.inputs.push_back(
                    graph->addConstant(values.type, {.owner = nullptr, .bytes = values.bytes})
                            .value());
            continue;
        }
        TensorType type = values.type;
        for (size_t axis = 0; !setting.shapesAreKnown && axis < type.shape.rank(); ++axis) {
            type.shape[axis] = kUnknownDimension;
        }
        node.inputs.push_back(graph->addTensor(type));
        partition.inputs.push_back(node.inputs.back());
        memory.emplace_back(values.bytes);
        views.push_back({.type = &values.type, .data = memory.back().data()});
        types.push_back(&values.type);
    }
    for (TensorType type : outputs) {
        type.shape = Shape::unknownRank();
        node.outputs.push_back(graph->addTensor(type));
        partition.outputs.push_back(node.outputs.back());
    }
    graph->addNode(node);
    const std::unique_ptr<const Backend> backend = makeCpuAcc(setting.set);
    HALYARD_RETURN_IF_ERROR(backend->supports(*graph, 0));

    ThreadPool threads(setting.threads);
    ConstantNumbers().number(*graph);
    ConstantStore store;
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<CompiledPartition> compiled,
                             backend->compile({.graph = graph,
                                               .partition = partition,
                                               .constants = store,
                                               .memory = nullptr,
                                               .threads = &threads}));
    HALYARD_ASSIGN_OR_RETURN(const AlignedBuffer constants, store.fill(nullptr, {}));
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<const SpecializedPartition> shaped,
                             compiled->specialize(types, {}));
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<PartitionState> state, compiled->makeState({}));
    const std::vector<TensorType> found(shaped->outputTypes().begin(), shaped->outputTypes().end());
    ref_test::OutputMemory results(found);
    HALYARD_RETURN_IF_ERROR(results.prepare());
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer workspace,
                             AlignedBuffer::allocate(std::max<size_t>(shaped->workspaceBytes(), 1),
                                                     kTensorAlignment));
    ThreadLease lease = ThreadLease::take(&threads);
    const RunArguments run = {.inputs = views,
                              .outputs = results.views(),
                              .allocator = &results,
                              .workspace = workspace.bytes().first(shaped->workspaceBytes()),
                              .constants = constants.bytes(),
                              .state = state.get(),
                              .threads = &lease,
                              .checkpoint = Checkpoint().unless(setting.stop),
                              .memory = nullptr,
                              .deviceMemory = nullptr,
                              .track = {}};
    HALYARD_RETURN_IF_ERROR(shaped->run(run));
    // With shapes known beforehand, a run needs no memory.
    const bool known = std::ranges::all_of(
            found, [](const TensorType& type) { return type.shape.isFullyKnown(); });
    if (known && setting.stop == nullptr) {
        const size_t before = allocationCount();
        HALYARD_RETURN_IF_ERROR(shaped->run(run));
        EXPECT_EQ(allocationCount(), before) << "while it ran";
    }
    return results.take();
}

// Equal bit for bit, or close where elements are floats: in relation to the element, or to `least`
// where that is larger.
inline testing::AssertionResult sameValues(const Values& actual, const Values& expected,
                                           double tolerance, double least = 1e-3) {
    if (!(actual.type.shape == expected.type.shape)) {
        return testing::AssertionFailure()
               << actual.type.toString() << ", not " << expected.type.toString();
    }
    const std::vector<double> a = ref_test::stored(actual);
    const std::vector<double> e = ref_test::stored(expected);
    for (size_t i = 0; i < e.size(); ++i) {
        const bool same = a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]));
        const bool close = isFloat(expected.type.type) && std::isfinite(e[i]) &&
                           std::abs(a[i] - e[i]) <= tolerance * (least + std::abs(e[i]));
        if (!same && !close) {
            return testing::AssertionFailure()
                   << "element " << i << " of " << expected.type.toString() << " is " << a[i]
                   << ", not " << e[i];
        }
    }
    return testing::AssertionSuccess();
}

// Of a float's results, in relation to the result.
inline double toleranceOf(DataType type) {
    return type == DataType::FLOAT16 ? 2e-3 : 2e-6;
}

// Whether CpuAcc does as CpuRef does, in every setting: both refuse, or both give the same. With a
// tolerance of its own the results are sums, whose terms are about 1 and may cancel out.
inline testing::AssertionResult agrees(const NodeDescriptor& node,
                                       const std::vector<std::optional<Values>>& inputs,
                                       const std::vector<TensorType>& outputs,
                                       std::optional<double> tolerance = std::nullopt,
                                       uint64_t constantInputs = 0) {
    const Result<std::vector<Values>> expected = ref_test::evaluateAll(node, inputs, outputs);
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        for (int variant = 0; variant < 3; ++variant) {
            const Setting setting = {.set = set,
                                     .threads = variant == 0 ? size_t{1} : size_t{3},
                                     .controlInputsAreConstant = variant != 1,
                                     .shapesAreKnown = variant == 0,
                                     .constantInputs = constantInputs};
            const std::string where = std::string(cpu::toString(set)) + ", " +
                                      std::to_string(setting.threads) + " threads, variant " +
                                      std::to_string(variant) + ": ";
            const Result<std::vector<Values>> actual =
                    evaluateTuned(node, inputs, outputs, setting);
            if (actual.ok() != expected.ok()) {
                return testing::AssertionFailure()
                       << where << (actual.ok() ? expected : actual).status().toString();
            }
            for (size_t i = 0; actual.ok() && i < expected->size(); ++i) {
                const DataType type = (*expected)[i].type.type;
                const testing::AssertionResult same = sameValues(
                        (*actual)[i], (*expected)[i], tolerance.value_or(toleranceOf(type)),
                        tolerance.has_value() ? 1.0 : 1e-3);
                if (!same) {
                    return testing::AssertionFailure() << where << same.message();
                }
            }
        }
    }
    return testing::AssertionSuccess();
}

// A type with random quantisation where it has any, and a random shape.
inline TensorType randomType(RandomValues& random, DataType type, Shape shape,
                             float scale = 0.02F) {
    TensorType result = isQuantized(type) ? random.quantization(type, scale) : typeOf(type, {});
    result.shape = shape;
    return result;
}

// Elements in [-1, 1], or anything that the type can store.
inline Values randomValues(RandomValues& random, const TensorType& type) {
    if (type.type != DataType::INT32) {
        return random.values(type);
    }
    std::vector<int32_t> elements(static_cast<size_t>(*type.shape.elementCount()));
    for (int32_t& element : elements) {
        element = random.integer(minValue(type.type), maxValue(type.type));
    }
    return ref_test::ints(type.shape, elements);
}

inline Shape randomShape(RandomValues& random, size_t rank, int32_t least, int32_t most) {
    std::vector<int32_t> extents(rank);
    for (int32_t& extent : extents) {
        extent = random.integer(least, most);
    }
    return Shape(std::span<const int32_t>(extents));
}

}  // namespace halyard::engine::cpu_test
