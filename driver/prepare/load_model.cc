// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/load_model.h"

#include <cstddef>
#include <utility>

#include "driver/clients/charged_work.h"
#include "driver/execute/device_state.h"
#include "driver/execute/saved_model.h"
#include "driver/model/pools.h"
#include "engine/base/section_file.h"
#include "engine/plan/program.h"

namespace halyard::driver {
namespace {

// Bytes of heap that a byte of a program's descriptions becomes, at most.
constexpr size_t kHeapPerByte = 16;

// A saved model that is being looked at.
struct Source {
    std::shared_ptr<const void> owner;
    std::span<const uint8_t> bytes;
    PoolUses pools;  // none: the bytes are as they were written, and private
    engine::SavedBytes trust = engine::SavedBytes::SHARED;
};

Result<std::shared_ptr<PreparedModel>> load(const std::shared_ptr<DeviceState>& state,
                                            const std::shared_ptr<Client>& client, Source source,
                                            PreparedModel::Holdings holdings, Priority priority,
                                            const Checkpoint& checkpoint) {
    const std::shared_ptr<Budget>& memory = client->account().memory;
    HALYARD_ASSIGN_OR_RETURN(
            const SectionFile opened,
            SectionFile::open(std::move(source.owner), source.bytes, memory, nullptr, checkpoint,
                              source.pools.empty() ? SectionFile::Bytes::CHECKED
                                                   : SectionFile::Bytes::OF_ANYBODY));
    // The least that any file takes, reserved before anything is made of it.
    const size_t least = kHeapPerByte * opened.descriptionBytes();
    HALYARD_ASSIGN_OR_RETURN(holdings.memory, Reservation::create(memory, least));
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> said, opened.description("model"));
    HALYARD_ASSIGN_OR_RETURN(SavedModel saved, savedModelFrom(said));
    if (saved.settings != settingsOf(*state)) {
        return unsupported("the model was prepared with other options: " + saved.settings);
    }
    if (saved.footprint > least) {
        holdings.memory = Reservation();
        HALYARD_ASSIGN_OR_RETURN(holdings.memory, Reservation::create(memory, saved.footprint));
    }
    HALYARD_ASSIGN_OR_RETURN(
            std::shared_ptr<const engine::Program> program,
            engine::Program::load(opened, source.trust, state->backendList,
                                  {.threads = state->threads,
                                   .memory = memory,
                                   .deviceMemory = client->account().deviceMemory,
                                   .checkpoint = checkpoint,
                                   .compile = {.fastMath = state->options.fastMath}}));
    if (program->graph().inputs().size() != saved.boundary.inputs.size() ||
        program->graph().outputs().size() != saved.boundary.outputs.size()) {
        return invalidArgument("the model and its program have other inputs and outputs");
    }
    for (size_t i = 0; i < source.pools.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(checkIntact(source.pools[i], "model", i));
    }
    return std::make_shared<PreparedModel>(state, client, std::move(holdings),
                                           std::move(saved.boundary), std::move(source.pools),
                                           std::move(program), priority);
}

// Takes a place among the client's models.
Result<PreparedModel::Holdings> holdingsFor(const Client& client) {
    PreparedModel::Holdings holdings;
    HALYARD_ASSIGN_OR_RETURN(holdings.place, Reservation::create(client.account().models, 1));
    return holdings;
}

Result<std::shared_ptr<PreparedModel>> load(const std::shared_ptr<DeviceState>& state,
                                            const std::shared_ptr<Client>& client,
                                            const Memory& file, const PrepareOptions& options,
                                            const Checkpoint& checkpoint) {
    HALYARD_ASSIGN_OR_RETURN(PreparedModel::Holdings holdings, holdingsFor(*client));
    HALYARD_ASSIGN_OR_RETURN(const MemoryUse use, file.useWhole(&client->account()));
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, use.bytes(0, file.size()));
    return load(state, client, {.owner = use.mapping(), .bytes = bytes, .pools = {use}},
                std::move(holdings), options.priority, checkpoint);
}

}  // namespace

Result<std::shared_ptr<PreparedModel>> loadModel(std::shared_ptr<DeviceState> state,
                                                 const Memory& file,
                                                 const PrepareOptions& options) {
    const std::shared_ptr<Client> client =
            options.client == nullptr ? state->clients.own() : options.client;
    const TimeLimit limit = state->timeLimit(options.deadline);
    const ChargedWork work(state->processors, *client);
    const Checkpoint checkpoint(limit.deadline(), &client->ended());
    Result<std::shared_ptr<PreparedModel>> model =
            load(state, client, file, options, checkpoint.unless(work.condition()));
    if (!model.ok()) {
        return limit.explain(model.status());
    }
    return model;
}

Result<std::shared_ptr<PreparedModel>> loadPrivateModel(const std::shared_ptr<DeviceState>& state,
                                                        const std::shared_ptr<Client>& client,
                                                        PrivateBytes file, Priority priority,
                                                        const Checkpoint& checkpoint) {
    HALYARD_ASSIGN_OR_RETURN(PreparedModel::Holdings holdings, holdingsFor(*client));
    return load(
            state, client,
            {.owner = std::move(file.owner),
             .bytes = file.bytes,
             .pools = {},
             .trust = file.authentic ? engine::SavedBytes::AUTHENTIC : engine::SavedBytes::PRIVATE},
            std::move(holdings), priority, checkpoint);
}

}  // namespace halyard::driver
