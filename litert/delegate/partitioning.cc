// SPDX-License-Identifier: Apache-2.0

#include "litert/delegate/partitioning.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace halyard::litert {
namespace {

constexpr std::string_view kReference = "CpuRef";
// Each round leaves operators to the host that a partition of the round before could not have.
constexpr size_t kMostRounds = 64;

std::vector<uint32_t> takenOf(const Partitioning& found) {
    std::vector<uint32_t> taken;
    for (uint32_t i = 0; i < found.reasons.size(); ++i) {
        if (found.reasons[i].empty()) {
            taken.push_back(i);
        }
    }
    return taken;
}

// All that is taken as if it were one partition, with every output that something else might read:
// to ask backends about where the host does not say how it cuts its graph.
PartitionRequest oneOfAll(const ContextModel& model, std::vector<uint32_t> taken) {
    PartitionRequest request;
    const std::vector<tflite::Operator>& operators = model.model.subgraphs.front().operators;
    for (const uint32_t op : taken) {
        std::ranges::copy_if(operators[op].outputs, std::back_inserter(request.outputs),
                             [](int32_t tensor) { return tensor != tflite::kOmitted; });
    }
    request.operators = std::move(taken);
    return request;
}

// Nothing where the host does not say.
Result<std::optional<std::vector<PartitionRequest>>> preview(TfLiteContext* context,
                                                             const ContextModel& model,
                                                             const std::vector<uint32_t>& taken) {
    if (context->PreviewDelegatePartitioning == nullptr) {
        return std::optional<std::vector<PartitionRequest>>();
    }
    std::vector<int32_t> nodes;
    for (const uint32_t op : taken) {
        nodes.push_back(model.nodes[op]);
    }
    const OwnedArray array = arrayOf(nodes);
    TfLiteDelegateParams* params = nullptr;  // the host's, until it is asked again
    int count = 0;
    if (array == nullptr ||
        context->PreviewDelegatePartitioning(context, array.get(), &params, &count) != kTfLiteOk ||
        count < 0 || count > kMostEntries || (params == nullptr && count > 0)) {
        return std::optional<std::vector<PartitionRequest>>();
    }
    std::vector<PartitionRequest> requests;
    for (const TfLiteDelegateParams& each : std::span(params, static_cast<size_t>(count))) {
        HALYARD_ASSIGN_OR_RETURN(PartitionRequest request, requestOf(each, model));
        requests.push_back(std::move(request));
    }
    return std::optional(std::move(requests));
}

class Chooser {
  public:
    Chooser(const tflite::Importer& importer, const Runtime& runtime,
            const std::shared_ptr<ThreadPool>& threads, Partitioning& found)
        : mImporter(importer), mRuntime(runtime), mThreads(threads), mFound(found) {}

    // False: operators of it were left to the host.
    bool take(const PartitionRequest& request) {
        const auto known = std::ranges::find(mCompiled, request, &CompiledPartition::request);
        if (known != mCompiled.end()) {
            mFound.partitions.push_back(*known);
            return true;
        }
        Result<tflite::ImportedGraph> imported =
                mImporter.build(request.operators, request.inputs, request.outputs);
        if (!imported.ok()) {
            return leave(request, imported.status());
        }
        if (const auto unknown = operatorsOfUnknownShape(imported->graph); !unknown.empty()) {
            for (const uint32_t op : unknown) {
                leave(op,
                      "only a run tells the shape of its output, and the runtime wants it before");
            }
            return false;
        }
        Result<PartitionProgram> program =
                compileImported(mRuntime, mThreads, *std::move(imported));
        if (!program.ok()) {
            return leave(request, program.status());
        }
        if (!mRuntime.wantsReference() && leaveReferenceNodes(*program->program)) {
            return false;
        }
        mFound.partitions.push_back({.request = request, .program = *std::move(program)});
        return true;
    }
    // Before a new round: what was compiled is of use where it is asked for again.
    void begin() { mCompiled = std::exchange(mFound.partitions, {}); }

  private:
    void leave(uint32_t op, const std::string& reason) {
        if (op < mFound.reasons.size() && mFound.reasons[op].empty()) {
            mFound.reasons[op] = reason;
        }
    }
    // The operator that the failure is about; all of the partition where it is about none.
    bool leave(const PartitionRequest& request, const Status& failure) {
        const std::string reason(failure.message());
        const std::optional<uint32_t> op = failure.operation();
        if (op.has_value() && std::ranges::binary_search(request.operators, *op)) {
            leave(*op, reason);
        } else {
            std::ranges::for_each(request.operators, [&](uint32_t each) { leave(each, reason); });
        }
        return false;
    }
    // Those that none of the backends that were asked for runs. Whether there are any.
    bool leaveReferenceNodes(const engine::Program& program) {
        bool areAny = false;
        for (const engine::NodePlacement& placed : program.placement()) {
            if (placed.backend != kReference) {
                continue;
            }
            std::string reason;
            for (const engine::NodePlacement::Refusal& refusal : placed.refusals) {
                reason.append(reason.empty() ? "" : "; ");
                reason.append(refusal.backend).append(" ").append(refusal.reason);
            }
            for (const uint32_t op : placed.sources) {
                leave(op, reason.empty() ? "no backend but CpuRef runs it" : reason);
                areAny = true;
            }
        }
        return areAny;
    }

    const tflite::Importer& mImporter;
    const Runtime& mRuntime;
    const std::shared_ptr<ThreadPool>& mThreads;
    Partitioning& mFound;
    std::vector<CompiledPartition> mCompiled;
};

// Whether there are any.
bool leaveSmallPartitions(Partitioning& found, size_t minNodes) {
    bool areAny = false;
    for (const CompiledPartition& each : found.partitions) {
        const size_t count = each.request.operators.size();
        if (count >= minNodes) {
            continue;
        }
        for (const uint32_t op : each.request.operators) {
            found.reasons[op] = "its partition has " + std::to_string(count) +
                                (count == 1 ? " operator" : " operators") + ", and min_nodes is " +
                                std::to_string(minNodes);
        }
        areAny = true;
    }
    return areAny;
}

}  // namespace

void FreeArray::operator()(TfLiteIntArray* array) const {
    std::free(array);
}

OwnedArray arrayOf(const std::vector<int32_t>& numbers) {
    OwnedArray array(static_cast<TfLiteIntArray*>(
            std::malloc(sizeof(TfLiteIntArray) + numbers.size() * sizeof(int32_t))));
    if (array != nullptr) {
        array->size = static_cast<int32_t>(numbers.size());
        std::ranges::copy(numbers, array->data);
    }
    return array;
}

Result<PartitionRequest> requestOf(const TfLiteDelegateParams& params, const ContextModel& model) {
    const size_t tensors = model.model.subgraphs.front().tensors.size();
    const auto copy = [&](const TfLiteIntArray* from, std::vector<int32_t>& to) -> Status {
        if (from == nullptr) {
            return {};
        }
        if (from->size < 0 || from->size > kMostEntries) {
            return invalidArgument("a partition has a list of " + std::to_string(from->size) +
                                   " entries");
        }
        for (const int32_t tensor : std::span(from->data, static_cast<size_t>(from->size))) {
            if (tensor == tflite::kOmitted) {
                continue;
            }
            if (tensor < 0 || static_cast<size_t>(tensor) >= tensors) {
                return invalidArgument("a partition names tensor " + std::to_string(tensor));
            }
            to.push_back(tensor);
        }
        return {};
    };
    PartitionRequest request;
    HALYARD_RETURN_IF_ERROR(copy(params.input_tensors, request.inputs));
    HALYARD_RETURN_IF_ERROR(copy(params.output_tensors, request.outputs));
    const TfLiteIntArray* const nodes = params.nodes_to_replace;
    if (nodes == nullptr || nodes->size <= 0 || nodes->size > kMostEntries) {
        return invalidArgument("a partition has no operators");
    }
    for (const int32_t node : std::span(nodes->data, static_cast<size_t>(nodes->size))) {
        const auto found = std::ranges::find(model.nodes, node);
        if (found == model.nodes.end()) {
            return invalidArgument("a partition has node " + std::to_string(node) +
                                   ", which is not in the plan");
        }
        request.operators.push_back(static_cast<uint32_t>(found - model.nodes.begin()));
    }
    std::ranges::sort(request.operators);
    return request;
}

Partitioning choosePartitions(TfLiteContext* context, const ContextModel& model,
                              const tflite::Importer& importer, const Runtime& runtime,
                              const std::shared_ptr<ThreadPool>& threads, size_t minNodes) {
    Partitioning found;
    for (size_t i = 0; i < importer.operatorCount(); ++i) {
        found.reasons.push_back(importer.reason(i));
    }
    Chooser chooser(importer, runtime, threads, found);
    std::string failure = "partitions change without an end";
    for (size_t round = 0; round < kMostRounds; ++round) {
        chooser.begin();
        std::vector<uint32_t> taken = takenOf(found);
        if (taken.empty()) {
            return found;
        }
        auto requests = preview(context, model, taken);
        if (!requests.ok()) {
            failure = requests.status().message();
            break;
        }
        const bool isTold = requests->has_value();
        if (!isTold) {
            *requests = {oneOfAll(model, std::move(taken))};
        }
        bool isStable = true;
        for (const PartitionRequest& request : **requests) {
            isStable = chooser.take(request) && isStable;
        }
        if (isStable && isTold && leaveSmallPartitions(found, minNodes)) {
            isStable = false;
        }
        if (isStable) {
            if (!isTold && minNodes > 1) {
                found.notes.emplace_back(
                        "the runtime does not tell how it cuts its graph: min_nodes is not kept");
            }
            return found;
        }
    }
    found.partitions.clear();
    for (std::string& reason : found.reasons) {
        reason = reason.empty() ? failure : reason;
    }
    return found;
}

}  // namespace halyard::litert
