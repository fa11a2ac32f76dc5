// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/support.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "driver/ops/model_lowering.h"
#include "engine/graph/graph.h"
#include "engine/graph/verifier.h"
#include "engine/plan/program.h"

namespace halyard::driver {
namespace {

// No computed tensor may outgrow the memory of an execution, wherever it comes to lie.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
Status checkSizes(const engine::Graph& graph, const Budget& memory) {
    for (const engine::Node& node : graph.nodes()) {
        for (const engine::TensorId id : node.outputs) {
            const engine::TensorType& type = graph.tensor(id).type;
            if (!type.shape.isFullyKnown()) {
                continue;
            }
            const Result<size_t> bytes = type.byteSize();
            if (!bytes.ok()) {
                return failureOf(node, bytes.status());
            }
            if (const Status admitted = memory.admits(*bytes); !admitted.ok()) {
                return failureOf(node, admitted.withContext("its output " + type.toString()));
            }
        }
        for (const engine::NestedGraph* nested : engine::nestedGraphs(node)) {
            if (const Status sizes = checkSizes(*nested->graph, memory); !sizes.ok()) {
                return failureOf(node, sizes);
            }
        }
    }
    return {};
}

// Bytes of all tensors side by side.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
uint64_t totalBytes(const engine::Graph& graph) {
    uint64_t bytes = 0;
    for (const engine::Tensor& tensor : graph.tensors()) {
        if (tensor.type.shape.isFullyKnown()) {
            const Result<size_t> size = tensor.type.byteSize();
            bytes += size.ok() ? *size : 0;
        }
    }
    for (const engine::Node& node : graph.nodes()) {
        for (const engine::NestedGraph* nested : engine::nestedGraphs(node)) {
            bytes += totalBytes(*nested->graph);
        }
    }
    return bytes;
}

// Whether the graph's plan fits the memory. Only the plan itself tells, and making it is as much
// work as preparing, so it is made only where tensors are extraordinarily large: where all of them
// side by side might outgrow it, with room for what backends add. They may unpack constants into
// the arena.
Status checkPlan(const DeviceState& state, const ModelLowering& lowering,
                 engine::AnalyzedGraph analyzed) {
    const std::shared_ptr<Budget>& memory = lowering.constants().budget();
    constexpr uint64_t kMargin = 4;
    if (totalBytes(analyzed.graph) <= memory->limit() / kMargin) {
        return {};
    }
    return breaking(Rule::PREPARATION,
                    engine::Program::build(std::move(analyzed), state.backendList,
                                           {.threads = state.threads,
                                            .memory = memory,
                                            .checkpoint = lowering.checkpoint()})
                            .status());
}

// `graph`: of the lowering's.
Result<engine::AnalyzedGraph> analyzeGraph(const DeviceState& state, ModelLowering& lowering,
                                           engine::Graph graph) {
    Result<engine::AnalyzedGraph> analyzed =
            engine::analyze(std::move(graph), state.backendList, lowering.copies(),
                            lowering.checkpoint(), state.placement.rulesFor(lowering.model()));
    if (!analyzed.ok()) {
        const bool contradicts = analyzed.status().code() == StatusCode::INVALID_ARGUMENT;
        return breaking(contradicts ? Rule::SHAPES : Rule::FORM, analyzed.status());
    }
    HALYARD_RETURN_IF_ERROR(
            breaking(Rule::MEMORY, checkSizes(analyzed->graph, *lowering.constants().budget())));
    HALYARD_RETURN_IF_ERROR(breaking(Rule::NO_BACKEND, analyzed->placed()));
    return analyzed;
}

// Whether a graph of the model's prepares.
Status checkGraph(const DeviceState& state, ModelLowering& lowering, Result<engine::Graph> graph) {
    HALYARD_RETURN_IF_ERROR(graph.status());
    HALYARD_ASSIGN_OR_RETURN(engine::AnalyzedGraph analyzed,
                             analyzeGraph(state, lowering, std::move(*graph)));
    return checkPlan(state, lowering, std::move(analyzed));
}

Status checkWhole(const DeviceState& state, ModelLowering& lowering) {
    return checkGraph(state, lowering, lowering.whole());
}

// Once it is time to stop, no graph that fails has said anything about the model.
Status checkTime(const ModelLowering& lowering) {
    return lowering.checkpoint().check("while operations were looked at");
}

// Nodes of the graphs inside, each as often as it is referred to; more than `limit` count no
// further.
// NOLINTNEXTLINE(misc-no-recursion): lowering has bounded the depth
size_t nestedNodes(const engine::Graph& graph, size_t limit) {
    size_t count = 0;
    for (const engine::Node& node : graph.nodes()) {
        for (const engine::NestedGraph* nested : engine::nestedGraphs(node)) {
            count += nested->graph->nodes().size();
            if (count <= limit) {
                count += nestedNodes(*nested->graph, limit - count);
            }
            if (count > limit) {
                return count;
            }
        }
    }
    return count;
}

// Verdicts of refused operations, where they are asked for.
class Refusals {
  public:
    explicit Refusals(Verdicts* verdicts) : mVerdicts(verdicts) {}

    bool has(size_t operation) const { return mVerdicts != nullptr && mVerdicts->has(operation); }
    void add(size_t operation, const Status& failure) const {
        if (mVerdicts != nullptr) {
            mVerdicts->add(operation, failure);
        }
    }
    // Of an operation that prepares alone.
    void addContradiction(size_t operation, const Status& failure) const {
        if (mVerdicts != nullptr) {
            mVerdicts->add(operation,
                           breaking(Rule::CONTRADICTION,
                                    unsupported("it contradicts what is before it: " +
                                                mVerdicts->reasonOf(operation, failure))));
        }
    }
    void addNotExamined(size_t operation, const std::string& why) const {
        add(operation, breaking(Rule::NOT_EXAMINED, unsupported("it was not looked at: " + why)));
    }

  private:
    Verdicts* mVerdicts;
};

// The operations that prepare alone, by ascending index.
Result<std::vector<size_t>> findSupported(const DeviceState& state, ModelLowering& lowering,
                                          const Refusals& refusals) {
    size_t allowance = 2 * engine::kMaxNestedNodes;
    std::vector<size_t> supported;
    for (size_t i = 0; i < lowering.model().main.operations.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(checkTime(lowering));
        if (refusals.has(i)) {
            continue;
        }
        Result<engine::Graph> graph = lowering.operation(i);
        if (!graph.ok()) {
            HALYARD_RETURN_IF_ERROR(checkTime(lowering));
            refusals.add(i, breaking(Rule::FORM, graph.status()));
            continue;
        }
        const size_t nested = nestedNodes(*graph, allowance);
        if (nested > allowance) {
            refusals.addNotExamined(i, "the graphs inside have too many nodes");
            continue;
        }
        allowance -= nested;
        const Status prepares = checkGraph(state, lowering, std::move(graph));
        HALYARD_RETURN_IF_ERROR(checkTime(lowering));
        if (prepares.ok()) {
            supported.push_back(i);
        } else {
            refusals.add(i, prepares);
        }
    }
    HALYARD_RETURN_IF_ERROR(checkTime(lowering));
    return supported;
}

// Leaves out operations that the ones before contradict: in shapes, in the memory that they take.
// Each of them prepares alone.
Status leaveOutContradictions(const DeviceState& state, ModelLowering& lowering,
                              const Refusals& refusals, std::vector<size_t>& operations) {
    constexpr size_t kMostContradictions = 4;
    const auto prepares = [&](size_t count) {
        const std::vector<size_t> first(operations.begin(),
                                        operations.begin() + static_cast<std::ptrdiff_t>(count));
        return checkGraph(state, lowering, lowering.operations(first));
    };
    size_t good = std::min<size_t>(operations.size(), 1);  // so many prepare
    size_t step = operations.size() - good;                // that may be added at once
    size_t found = 0;
    while (good < operations.size()) {
        step = std::min(step, operations.size() - good);
        const Status together = prepares(good + step);
        HALYARD_RETURN_IF_ERROR(checkTime(lowering));
        if (together.ok()) {
            good += step;
            step *= 2;
        } else if (step > 1) {
            step /= 2;
        } else if (found++ < kMostContradictions) {
            refusals.addContradiction(operations[good], together);
            operations.erase(operations.begin() + static_cast<std::ptrdiff_t>(good));
        } else {
            for (size_t i = good; i < operations.size(); ++i) {
                refusals.addNotExamined(operations[i], "too many before it contradict each other");
            }
            operations.resize(good);
        }
    }
    return {};
}

}  // namespace

Result<engine::AnalyzedGraph> analyzeModel(const DeviceState& state, const Model& model,
                                           const Constants& constants,
                                           const Checkpoint& checkpoint) {
    ModelLowering lowering(model, constants, state.options.unsupportedOperations, checkpoint);
    Result<engine::Graph> graph = lowering.whole();
    Result<engine::AnalyzedGraph> analyzed =
            graph.ok() ? analyzeGraph(state, lowering, std::move(*graph)) : graph.status();
    HALYARD_RETURN_IF_ERROR(checkpoint.check("while the model was analysed"));
    if (analyzed.status().code() == StatusCode::INVALID_ARGUMENT) {
        return analyzed.status().withCode(StatusCode::UNSUPPORTED);
    }
    return analyzed;
}

Result<std::vector<bool>> supportedOperations(const DeviceState& state, const Client& client,
                                              const Model& model, PoolUses pools,
                                              const Checkpoint& checkpoint, Verdicts* verdicts) {
    HALYARD_RETURN_IF_ERROR(checkpoint.check("before the model was looked at"));
    const Constants constants(model, std::move(pools), client.account().memory);
    ModelLowering lowering(model, constants, state.options.unsupportedOperations, checkpoint);
    const size_t count = model.main.operations.size();
    const bool known = verdicts != nullptr && !verdicts->empty();
    const bool whole = !known && checkWhole(state, lowering).ok();
    HALYARD_RETURN_IF_ERROR(checkTime(lowering));
    if (whole) {
        return std::vector<bool>(count, true);
    }
    const Refusals refusals(verdicts);
    HALYARD_ASSIGN_OR_RETURN(std::vector<size_t> operations,
                             findSupported(state, lowering, refusals));
    HALYARD_RETURN_IF_ERROR(leaveOutContradictions(state, lowering, refusals, operations));
    std::vector<bool> supported(count, false);
    if (operations.size() < count) {
        for (const size_t operation : operations) {
            supported[operation] = true;
        }
    }
    return supported;
}

}  // namespace halyard::driver
