// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/compile.h"

#include <cstddef>
#include <utility>

#include "driver/device_state.h"
#include "driver/model/footprint.h"
#include "driver/model/pools.h"
#include "driver/ops/constants.h"
#include "driver/prepare/support.h"
#include "engine/base/checkpoint.h"
#include "engine/plan/program.h"

namespace halyard::driver {

namespace {

Result<std::shared_ptr<const engine::Program>> buildProgram(const DeviceState& state,
                                                            const Client& client,
                                                            const Model& model,
                                                            const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkpoint.check("before the model was looked at"));
    HALYARD_RETURN_IF_ERROR(usePools(model, &client.account()));
    const Constants constants(model, client.account().memory);
    HALYARD_ASSIGN_OR_RETURN(engine::AnalyzedGraph analyzed,
                             analyzeModel(state, model, constants, checkpoint));
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const engine::Program> program,
                             engine::Program::build(std::move(analyzed), state.backendList,
                                                    {.threads = state.threads,
                                                     .memory = client.account().memory,
                                                     .checkpoint = checkpoint}));
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
    const Checkpoint checkpoint(limit.deadline(), &client->ended());
    Result<std::shared_ptr<const engine::Program>> program =
            buildProgram(*state, *client, model, checkpoint);
    if (!program.ok()) {
        return limit.explain(program.status());
    }
    return std::make_shared<PreparedModel>(std::move(state), client, std::move(holdings),
                                           boundaryOf(model.main), model.pools, std::move(*program),
                                           options.priority);
}

}  // namespace halyard::driver
