// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/compile.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "driver/charged_work.h"
#include "driver/device_state.h"
#include "driver/model/footprint.h"
#include "driver/model/pools.h"
#include "driver/ops/constants.h"
#include "driver/prepare/graph_dump.h"
#include "driver/prepare/support.h"
#include "engine/base/checkpoint.h"
#include "engine/base/log.h"
#include "engine/passes/optimize.h"
#include "engine/plan/program.h"

namespace halyard::driver {

namespace {

// The passes make the same graph cheaper; that it prepares is known from the graph as it was
// lowered, which every answer about support rests on. So what becomes of it may never ask for more:
// where it does, the lowered graph is built.
bool asksForMore(const Status& status) {
    return status.code() == StatusCode::RESOURCE_EXHAUSTED ||
           status.code() == StatusCode::UNSUPPORTED;
}

// A rule of the verifier's holds no longer: a pass can make shapes known that contradict each
// other, which is for a run to fail with.
bool isContradiction(const Status& passes) {
    return passes.code() == StatusCode::INTERNAL;
}

// The graph after the passes, analysed; nothing where they leave it as it is.
Result<std::optional<engine::AnalyzedGraph>> optimized(const DeviceState& state, const Model& model,
                                                       engine::Graph graph,
                                                       const engine::BuildOptions& options,
                                                       GraphDump* dump) {
    engine::OptimizeOptions passes = {.precision = state.options.precision};
    if (dump != nullptr) {
        passes.observer = [dump](std::string_view pass, const engine::Graph& before,
                                 const engine::Graph& after) {
            dump->notePass(pass, before, after);
        };
    }
    HALYARD_ASSIGN_OR_RETURN(const bool changed,
                             engine::optimize(graph, passes, options.memory, options.checkpoint));
    if (dump != nullptr) {
        dump->writeOptimized(graph);
    }
    if (!changed) {
        return std::optional<engine::AnalyzedGraph>();
    }
    HALYARD_ASSIGN_OR_RETURN(engine::AnalyzedGraph analyzed,
                             engine::analyze(std::move(graph), state.backendList, options.memory,
                                             options.checkpoint, state.placement.rulesFor(model)));
    return std::optional(std::move(analyzed));
}

Result<std::shared_ptr<const engine::Program>> buildAnalyzed(DeviceState& state, const Model& model,
                                                             engine::AnalyzedGraph analyzed,
                                                             const engine::BuildOptions& options) {
    std::optional<GraphDump> dump = GraphDump::begin(state);
    if (dump.has_value()) {
        dump->writeLowered(analyzed.graph);
    }
    if (state.options.optimize) {
        Result<std::optional<engine::AnalyzedGraph>> better = optimized(
                state, model, analyzed.graph, options, dump.has_value() ? &*dump : nullptr);
        Status failure = better.status();
        if (failure.ok() && better->has_value()) {
            Result<std::shared_ptr<const engine::Program>> program =
                    engine::Program::build(std::move(**better), state.backendList, options);
            if (program.ok()) {
                return program;
            }
            failure = program.status();
        }
        if (!failure.ok()) {
            if (!asksForMore(failure) && !isContradiction(better.status())) {
                return failure;
            }
            log(LogLevel::INFO,
                "a model runs without the optimiser's passes: " + failure.toString());
        }
    }
    return engine::Program::build(std::move(analyzed), state.backendList, options);
}

Result<std::shared_ptr<const engine::Program>> buildProgram(DeviceState& state,
                                                            const Client& client,
                                                            const Model& model,
                                                            const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkpoint.check("before the model was looked at"));
    HALYARD_RETURN_IF_ERROR(usePools(model, &client.account()));
    const Constants constants(model, client.account().memory);
    HALYARD_ASSIGN_OR_RETURN(engine::AnalyzedGraph analyzed,
                             analyzeModel(state, model, constants, checkpoint));
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const engine::Program> program,
                             buildAnalyzed(state, model, std::move(analyzed),
                                           {.threads = state.threads,
                                            .memory = client.account().memory,
                                            .checkpoint = checkpoint,
                                            .compile = {.fastMath = state.options.fastMath}}));
    for (size_t i = 0; i < model.pools.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(checkIntact(*model.pools[i], "model", i));
    }
    return program;
}

}  // namespace

Result<std::shared_ptr<PreparedModel>> compileModel(std::shared_ptr<DeviceState> state,
                                                    const Model& model,
                                                    const PrepareOptions& options) {
    const std::shared_ptr<Client> client =
            options.client == nullptr ? state->clients.own() : options.client;
    PreparedModel::Holdings holdings;
    HALYARD_ASSIGN_OR_RETURN(holdings.place, Reservation::create(client->account().models, 1));
    HALYARD_ASSIGN_OR_RETURN(holdings.memory, Reservation::create(client->account().memory,
                                                                  preparedFootprintOf(model)));
    const TimeLimit limit = state->timeLimit(options.deadline);
    const ChargedWork work(*state, *client);
    const Checkpoint checkpoint(limit.deadline(), &client->ended());
    Result<std::shared_ptr<const engine::Program>> program =
            buildProgram(*state, *client, model, checkpoint.unless(work.condition()));
    if (!program.ok()) {
        return limit.explain(program.status());
    }
    return std::make_shared<PreparedModel>(std::move(state), client, std::move(holdings),
                                           boundaryOf(model.main), model.pools, std::move(*program),
                                           options.priority);
}

}  // namespace halyard::driver
