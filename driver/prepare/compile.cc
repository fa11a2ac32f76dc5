// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/compile.h"

#include <cstddef>
#include <utility>

#include "driver/device_state.h"
#include "driver/ops/constants.h"
#include "driver/prepare/support.h"
#include "engine/base/checkpoint.h"
#include "engine/plan/program.h"

namespace halyard::driver {

Result<std::shared_ptr<PreparedModel>> compileModel(std::shared_ptr<DeviceState> state,
                                                    const Model& model,
                                                    const PrepareOptions& options) {
    const Checkpoint checkpoint(options.deadline);
    HALYARD_RETURN_IF_ERROR(checkpoint.check("before the model was looked at"));
    HALYARD_ASSIGN_OR_RETURN(
            engine::AnalyzedGraph analyzed,
            analyzeModel(*state, model, Constants(model, state->memory), checkpoint));
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const engine::Program> program,
                             engine::Program::build(std::move(analyzed), state->backendList,
                                                    {.threads = state->threads,
                                                     .memory = state->memory,
                                                     .checkpoint = checkpoint}));
    for (size_t i = 0; i < model.pools.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(checkIntact(*model.pools[i], "model", i));
    }
    return std::make_shared<PreparedModel>(std::move(state), boundaryOf(model.main), model.pools,
                                           std::move(program), options.priority);
}

}  // namespace halyard::driver
