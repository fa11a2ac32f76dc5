// SPDX-License-Identifier: Apache-2.0

#include "litert/delegate/delegate.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/log.h"
#include "importers/tflite/importer.h"
#include "litert/delegate/context_reader.h"
#include "litert/delegate/kernel.h"
#include "litert/delegate/partitioning.h"
#include "litert/delegate/report.h"

namespace halyard::litert {
namespace {

constexpr int32_t kDelegateOperator = 51;

// A graph that is being delegated, for the kernels that the host makes meanwhile.
struct Preparation {
    const ContextModel& model;
    const tflite::Importer& importer;
    const tflite::ImportOptions& options;
    Partitioning& partitioning;
    KernelSurroundings surroundings;
};

struct State {
    DelegateOptions options;
    std::shared_ptr<const Runtime> runtime;
    std::shared_ptr<Report> report;
    std::shared_ptr<ProfileReport> profile;
    std::mutex mutex;
    std::map<const TfLiteContext*, Preparation*> preparations;  // under the mutex
};

// What hosts hold: the interface first.
struct Handle {
    TfLiteDelegate interface = {};
    std::shared_ptr<State> state;
};

TfLiteStatus report(TfLiteContext* context, const Status& status) {
    context->ReportError(context, "Halyard: %s", std::string(status.message()).c_str());
    return kTfLiteError;
}

// ---- The kernel's functions ---------------------------------------------------------------------

Result<std::unique_ptr<Kernel>> makeKernel(TfLiteContext* context,
                                           const TfLiteDelegateParams* params) {
    if (params == nullptr || params->delegate == nullptr || params->delegate->data_ == nullptr) {
        return invalidArgument("a kernel is made without a delegate");
    }
    State& state = *static_cast<Handle*>(params->delegate->data_)->state;
    Preparation* preparation = nullptr;
    {
        const std::scoped_lock lock(state.mutex);
        const auto found = state.preparations.find(context);
        preparation = found == state.preparations.end() ? nullptr : found->second;
    }
    if (preparation == nullptr) {
        return invalidArgument("a kernel is made while no graph is prepared");
    }
    HALYARD_ASSIGN_OR_RETURN(PartitionRequest request, requestOf(*params, preparation->model));
    std::vector<CompiledPartition>& compiled = preparation->partitioning.partitions;
    const auto found = std::ranges::find(compiled, request, &CompiledPartition::request);
    std::optional<PartitionProgram> program;
    if (found != compiled.end()) {
        program = found->program;
    }
    PartitionSource source(preparation->model, preparation->importer, std::move(request),
                           preparation->options);
    std::vector<std::vector<int32_t>> shapes;
    for (const int32_t tensor : source.given()) {
        shapes.push_back(preparation->model.model.subgraphs.front().tensors[tensor].shape);
    }
    return std::make_unique<Kernel>(preparation->surroundings, std::move(source),
                                    std::move(program), std::move(shapes));
}

void* initKernel(TfLiteContext* context, const char* buffer, size_t /*length*/) {
    Result<std::unique_ptr<Kernel>> kernel =
            makeKernel(context, reinterpret_cast<const TfLiteDelegateParams*>(buffer));
    if (!kernel.ok()) {
        report(context, kernel.status());
        return nullptr;
    }
    return kernel->release();
}

void freeKernel(TfLiteContext* /*context*/, void* data) {
    if (auto* const kernel = static_cast<Kernel*>(data)) {
        // Kept until what the kernel holds is gone, with the backends that it came from.
        const auto runtime = kernel->sharedRuntime();
        const LogScope scope(&runtime->lines());
        delete kernel;
    }
}

template <typename Work>
TfLiteStatus withKernel(TfLiteContext* context, const TfLiteNode* node, Work work) {
    auto* const kernel = static_cast<Kernel*>(node->user_data);
    if (kernel == nullptr) {
        return report(context, invalidArgument("there is no kernel for these operators"));
    }
    const LogScope scope(&kernel->sharedRuntime()->lines());
    const Status status = work(*kernel);
    return status.ok() ? kTfLiteOk : report(context, status);
}

TfLiteStatus prepareKernel(TfLiteContext* context, TfLiteNode* node) {
    return withKernel(context, node, [&](Kernel& kernel) { return kernel.prepare(context); });
}

TfLiteStatus invokeKernel(TfLiteContext* context, TfLiteNode* node) {
    return withKernel(context, node, [&](Kernel& kernel) { return kernel.invoke(context); });
}

TfLiteRegistration registration() {
    TfLiteRegistration kind = {};
    kind.init = &initKernel;
    kind.free = &freeKernel;
    kind.prepare = &prepareKernel;
    kind.invoke = &invokeKernel;
    kind.builtin_code = kDelegateOperator;
    kind.custom_name = "HalyardDelegate";
    kind.version = 1;
    return kind;
}

// ---- The report ---------------------------------------------------------------------------------

std::string shownTensor(const tflite::Subgraph& graph, int32_t tensor) {
    const std::string& name = graph.tensors[tensor].name;
    return name.empty() ? "tensor " + std::to_string(tensor) : name;
}

// What operators read of others, and leave to them.
void describeTensors(const tflite::Subgraph& graph, const std::vector<uint32_t>& operators,
                     ReportedPart& part) {
    std::set<int32_t> computed;
    std::set<int32_t> read;
    for (const uint32_t op : operators) {
        for (const int32_t tensor : graph.operators[op].inputs) {
            if (tensor != tflite::kOmitted && !graph.tensors[tensor].isConstant() &&
                !computed.contains(tensor) && read.insert(tensor).second) {
                part.inputs.push_back(shownTensor(graph, tensor));
            }
        }
        computed.insert(graph.operators[op].outputs.begin(), graph.operators[op].outputs.end());
    }
    std::set<int32_t> readInside;
    std::set<int32_t> readOutside;
    for (uint32_t op = 0; op < graph.operators.size(); ++op) {
        const bool isInside = std::ranges::binary_search(operators, op);
        for (const int32_t tensor : graph.operators[op].inputs) {
            (isInside ? readInside : readOutside).insert(tensor);
        }
    }
    for (const int32_t tensor : computed) {
        if (tensor != tflite::kOmitted &&
            (readOutside.contains(tensor) || !readInside.contains(tensor))) {
            part.outputs.push_back(shownTensor(graph, tensor));
        }
    }
}

ReportedPart describe(const tflite::Subgraph& graph, const std::vector<uint32_t>& operators) {
    ReportedPart part;
    part.firstOperator = operators.front();
    for (const uint32_t op : operators) {
        const tflite::Operator& each = graph.operators[op];
        part.operators.push_back(each.customName.empty() ? tflite::nameOfOperator(each.code)
                                                         : each.customName);
    }
    describeTensors(graph, operators, part);
    return part;
}

ReportedGraph describe(const TfLiteContext* context, const ContextModel& model,
                       const Partitioning& partitioning, const Runtime& runtime) {
    const tflite::Subgraph& graph = model.model.subgraphs.front();
    ReportedGraph described{.context = context,
                            .operators = graph.operators.size(),
                            .taken = 0,
                            .backends = {},
                            .parts = {},
                            .left = {},
                            .notes = partitioning.notes};
    for (const engine::Backend* const backend : runtime.backends()) {
        described.backends.emplace_back(backend->name());
        if (!backend->withheld().empty()) {
            described.notes.push_back(std::string(backend->name()) + ": " +
                                      std::string(backend->withheld()));
        }
    }
    for (const CompiledPartition& each : partitioning.partitions) {
        ReportedPart& part = described.parts.emplace_back(describe(graph, each.request.operators));
        part.isTaken = true;
        for (const engine::NodePlacement& placed : each.program.program->placement()) {
            ++part.nodes[placed.backend];
        }
    }
    std::vector<uint32_t> left;
    for (uint32_t op = 0; op < graph.operators.size(); ++op) {
        const std::string& reason = partitioning.reasons[op];
        if (reason.empty()) {
            ++described.taken;
        } else {
            described.left.push_back({.label = graph.label(op), .reason = reason});
            left.push_back(op);
        }
        if (!left.empty() && (reason.empty() || op + 1 == graph.operators.size())) {
            described.parts.push_back(describe(graph, std::exchange(left, {})));
        }
    }
    std::ranges::stable_sort(described.parts, {}, &ReportedPart::firstOperator);
    return described;
}

// ---- The delegate's function --------------------------------------------------------------------

size_t threadsOf(const State& state, const TfLiteContext& context) {
    // -1: the interpreter was not told any.
    return state.options.threads.value_or(
            static_cast<size_t>(std::clamp(context.recommended_num_threads, 1, 1024)));
}

// What is not understood is the host's, with a warning: a graph that is not delegated runs.
Status delegateGraph(State& state, TfLiteContext* context, TfLiteDelegate* delegate,
                     TfLiteStatus& replaced) {
    HALYARD_ASSIGN_OR_RETURN(const ContextModel model, readContext(context));
    const tflite::ImportOptions options = {.relaxed = context->allow_fp32_relax_to_fp16,
                                           .controlFlow = false};
    HALYARD_ASSIGN_OR_RETURN(const tflite::Importer importer,
                             tflite::Importer::create(model.model, 0, options));
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<ThreadPool> threads,
                             makeThreads(threadsOf(state, *context)));
    Partitioning partitioning = choosePartitions(context, model, importer, *state.runtime, threads,
                                                 state.options.minNodes);
    ReportedGraph described = describe(context, model, partitioning, *state.runtime);
    log(LogLevel::INFO,
        "takes " + std::to_string(described.taken) + " of " + std::to_string(described.operators) +
                " operators in " + std::to_string(partitioning.partitions.size()) +
                (partitioning.partitions.size() == 1 ? " partition" : " partitions"));
    for (const ReportedGraph::Left& left : described.left) {
        log(LogLevel::VERBOSE, left.label + " is left: " + left.reason);
    }
    std::vector<int32_t> nodes;
    for (size_t op = 0; op < partitioning.reasons.size(); ++op) {
        if (partitioning.reasons[op].empty()) {
            nodes.push_back(model.nodes[op]);
        }
    }
    if (state.report != nullptr) {
        state.report->set(std::move(described));
    }
    if (nodes.empty()) {
        return {};
    }
    Preparation preparation{.model = model,
                            .importer = importer,
                            .options = options,
                            .partitioning = partitioning,
                            .surroundings = {.runtime = state.runtime,
                                             .threads = std::move(threads),
                                             .report = state.report,
                                             .profile = state.profile,
                                             .context = context}};
    const OwnedArray array = arrayOf(nodes);
    if (array == nullptr) {
        return {StatusCode::RESOURCE_EXHAUSTED, "there is no memory for a list of operators"};
    }
    {
        const std::scoped_lock lock(state.mutex);
        state.preparations[context] = &preparation;
    }
    replaced = context->ReplaceNodeSubsetsWithDelegateKernels(context, registration(), array.get(),
                                                              delegate);
    const std::scoped_lock lock(state.mutex);
    state.preparations.erase(context);
    return {};
}

TfLiteStatus prepareDelegate(TfLiteContext* context, TfLiteDelegate* delegate) {
    if (context == nullptr || delegate == nullptr || delegate->data_ == nullptr) {
        return kTfLiteDelegateError;
    }
    const std::shared_ptr<State> state = static_cast<Handle*>(delegate->data_)->state;
    const LogScope scope(&state->runtime->lines());
    TfLiteStatus replaced = kTfLiteOk;
    const Status status = delegateGraph(*state, context, delegate, replaced);
    if (!status.ok()) {
        log(LogLevel::WARNING, "no operator is taken: " + std::string(status.message()));
    }
    return replaced;
}

}  // namespace

Result<TfLiteDelegate*> makeDelegate(const DelegateOptions& options) {
    auto state = std::make_shared<State>();
    state->options = options;
    HALYARD_ASSIGN_OR_RETURN(state->runtime, Runtime::create(options.runtime));
    if (!options.report.empty()) {
        state->report = std::make_shared<Report>(options.report);
    }
    if (!options.profile.empty()) {
        state->profile = std::make_shared<ProfileReport>(options.profile);
    }
    auto handle = std::make_unique<Handle>();
    handle->state = std::move(state);
    handle->interface.data_ = handle.get();
    handle->interface.Prepare = &prepareDelegate;
    handle->interface.flags = kTfLiteDelegateFlagsAllowDynamicTensors;
    return &handle.release()->interface;
}

void endDelegate(TfLiteDelegate* delegate) {
    if (delegate != nullptr) {
        auto* const handle = static_cast<Handle*>(delegate->data_);
        const std::shared_ptr<const Runtime> runtime = handle->state->runtime;
        const LogScope scope(&runtime->lines());
        delete handle;
    }
}

}  // namespace halyard::litert
