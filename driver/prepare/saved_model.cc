// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/saved_model.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "driver/clients/charged_work.h"
#include "driver/execute/device_state.h"
#include "engine/base/byte_format.h"
#include "engine/base/section_file.h"
#include "engine/plan/program.h"

namespace halyard::driver {
namespace {

constexpr uint32_t kVersion = 1;
// Bytes of heap that a byte of a program's descriptions becomes, at most.
constexpr size_t kHeapPerByte = 16;

// Bytes that an operand without dimensions is written as.
constexpr size_t kLeastOperand = 17;

enum class Extra : uint8_t { NONE, CHANNELS, EXTENSION };

void put(ByteWriter& to, const Operand& operand) {
    to.put(static_cast<uint32_t>(operand.type));
    to.putList<uint32_t>(operand.dimensions);
    to.put(operand.scale);
    to.put(operand.zeroPoint);
    if (const auto* channels = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
        to.put(static_cast<uint8_t>(Extra::CHANNELS));
        to.putList<float>(channels->scales);
        to.put(channels->channelDim);
    } else if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&operand.extraParams)) {
        to.put(static_cast<uint8_t>(Extra::EXTENSION));
        to.putList<uint8_t>(*bytes);
    } else {
        to.put(static_cast<uint8_t>(Extra::NONE));
    }
}

Status get(ByteReader& from, Operand& operand) {
    uint32_t type = 0;
    uint8_t extra = 0;
    HALYARD_RETURN_IF_ERROR(from.get(type));
    operand.type = static_cast<OperandType>(type);
    HALYARD_RETURN_IF_ERROR(from.getList(operand.dimensions));
    HALYARD_RETURN_IF_ERROR(from.get(operand.scale));
    HALYARD_RETURN_IF_ERROR(from.get(operand.zeroPoint));
    HALYARD_RETURN_IF_ERROR(from.get(extra));
    switch (static_cast<Extra>(extra)) {
        case Extra::NONE:
            return {};
        case Extra::CHANNELS: {
            auto& channels = operand.extraParams.emplace<SymmPerChannelQuantParams>();
            HALYARD_RETURN_IF_ERROR(from.getList(channels.scales));
            return from.get(channels.channelDim);
        }
        case Extra::EXTENSION:
            return from.getList(operand.extraParams.emplace<std::vector<uint8_t>>());
    }
    return invalidArgument("an operand has parameters that there are not");
}

void put(ByteWriter& to, const std::vector<Operand>& operands) {
    to.putCount(operands.size());
    for (const Operand& operand : operands) {
        put(to, operand);
    }
}

Status get(ByteReader& from, std::vector<Operand>& operands, OperandLifeTime lifetime) {
    HALYARD_ASSIGN_OR_RETURN(const size_t count, from.getCount());
    operands.reserve(from.roomFor(count, kLeastOperand));
    for (size_t i = 0; i < count; ++i) {
        Operand& operand = operands.emplace_back();
        operand.lifetime = lifetime;
        HALYARD_RETURN_IF_ERROR(get(from, operand));
        if (findOperandType(operand.type) == nullptr) {
            return invalidArgument("an operand has the type " + describe(operand.type));
        }
    }
    return {};
}

// A saved model that is being looked at.
struct Source {
    std::shared_ptr<const void> owner;
    std::span<const uint8_t> bytes;
    PoolUses pools;  // none: the bytes are as they were written, and nobody else can write to them
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
    // What is bound to be taken, whatever the file says, before anything is made of it.
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

std::string settingsOf(const DeviceState& state) {
    const Options& options = state.options;
    std::string text;
    const auto add = [&](std::string_view name, std::string_view value) {
        text.append(text.empty() ? "" : "; ").append(name).append(" ").append(value);
    };
    for (const std::string& backend : options.backends) {
        add("backend", backend);
    }
    for (const std::string& backend : options.requiredBackends) {
        add("required", backend);
    }
    add("features", options.cpuFeatures);
    add("hints", state.placement.describeHints());
    add("partitions", std::to_string(options.maxPartitions));
    add("nodes", std::to_string(options.minNodesPerPartition));
    add("precision", std::to_string(static_cast<int>(options.precision)));
    add("optimized", std::to_string(static_cast<int>(options.optimize)));
    add("fast", std::to_string(static_cast<int>(options.fastMath)));
    for (const OperationType type : options.unsupportedOperations) {
        add("without", describe(type));
    }
    return text;
}

std::vector<uint8_t> toBytes(const SavedModel& saved) {
    ByteWriter to;
    to.put(kVersion);
    to.putText(saved.settings);
    to.put(saved.footprint);
    put(to, saved.boundary.inputs);
    put(to, saved.boundary.outputs);
    return to.take();
}

Result<SavedModel> savedModelFrom(std::span<const uint8_t> bytes) {
    ByteReader from(bytes, "the model's boundary");
    uint32_t version = 0;
    HALYARD_RETURN_IF_ERROR(from.get(version));
    if (version != kVersion) {
        return unsupported("version " + std::to_string(version) + " of a model");
    }
    SavedModel saved;
    HALYARD_RETURN_IF_ERROR(from.getText(saved.settings));
    HALYARD_RETURN_IF_ERROR(from.get(saved.footprint));
    HALYARD_RETURN_IF_ERROR(get(from, saved.boundary.inputs, OperandLifeTime::SUBGRAPH_INPUT));
    HALYARD_RETURN_IF_ERROR(get(from, saved.boundary.outputs, OperandLifeTime::SUBGRAPH_OUTPUT));
    HALYARD_RETURN_IF_ERROR(from.finish());
    return saved;
}

Result<std::shared_ptr<PreparedModel>> loadModel(std::shared_ptr<DeviceState> state,
                                                 const Memory& file,
                                                 const PrepareOptions& options) {
    const std::shared_ptr<Client> client =
            options.client == nullptr ? state->clients.own() : options.client;
    const TimeLimit limit = state->timeLimit(options.deadline);
    const ChargedWork work(*state, *client);
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
