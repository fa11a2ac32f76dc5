// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/compile.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "driver/clients/charged_work.h"
#include "driver/execute/device_state.h"
#include "driver/model/footprint.h"
#include "driver/model/pools.h"
#include "driver/ops/constants.h"
#include "driver/prepare/graph_dump.h"
#include "driver/prepare/support.h"
#include "driver/trace/trace_contract.h"
#include "engine/base/checkpoint.h"
#include "engine/compile/compile.h"
#include "engine/plan/program.h"

namespace halyard::driver {

namespace {

Result<std::shared_ptr<const engine::Program>> buildProgram(DeviceState& state,
                                                            const Client& client,
                                                            const Model& model,
                                                            const PoolUses& pools,
                                                            const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkpoint.check("before the model was looked at"));
    const Constants constants(model, pools, client.account().memory);
    HALYARD_ASSIGN_OR_RETURN(engine::AnalyzedGraph analyzed,
                             analyzeModel(state, model, constants, checkpoint));
    std::optional<GraphDump> dump = GraphDump::begin(state);
    HALYARD_ASSIGN_OR_RETURN(
            std::shared_ptr<const engine::Program> program,
            engine::compile(std::move(analyzed), state.backendList,
                            {.optimize = state.options.optimize,
                             .precision = state.options.precision,
                             .placement = state.placement.rulesFor(model),
                             .observer = dump.has_value() ? &*dump : nullptr,
                             .build = {.threads = state.threads,
                                       .memory = client.account().memory,
                                       .deviceMemory = client.account().deviceMemory,
                                       .checkpoint = checkpoint,
                                       .compile = {.fastMath = state.options.fastMath}}}));
    for (size_t i = 0; i < pools.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(checkIntact(pools[i], "model", i));
    }
    return program;
}

}  // namespace

Result<std::shared_ptr<PreparedModel>> compileModel(std::shared_ptr<DeviceState> state,
                                                    const Model& model, PoolUses pools,
                                                    const PrepareOptions& options) {
    const std::shared_ptr<Client> client =
            options.client == nullptr ? state->clients.own() : options.client;
    const MarkedSlice slice(state->marker.get(),
                            driverSlice(TracePhase::COMPILATION, "prepareModel"));
    PreparedModel::Holdings holdings;
    HALYARD_ASSIGN_OR_RETURN(holdings.place, Reservation::create(client->account().models, 1));
    HALYARD_ASSIGN_OR_RETURN(holdings.memory, Reservation::create(client->account().memory,
                                                                  preparedFootprintOf(model)));
    const TimeLimit limit = state->timeLimit(options.deadline);
    const ChargedWork work(state->processors, *client);
    const Checkpoint checkpoint(limit.deadline(), &client->ended());
    Result<std::shared_ptr<const engine::Program>> program =
            buildProgram(*state, *client, model, pools, checkpoint.unless(work.condition()));
    if (!program.ok()) {
        return limit.explain(program.status());
    }
    return std::make_shared<PreparedModel>(std::move(state), client, std::move(holdings),
                                           boundaryOf(model.main), std::move(pools),
                                           std::move(*program), options.priority);
}

}  // namespace halyard::driver
