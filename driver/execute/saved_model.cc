// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/saved_model.h"

#include <cstddef>
#include <string_view>
#include <variant>

#include "driver/execute/device_state.h"
#include "driver/model/versions.h"
#include "engine/base/byte_format.h"

namespace halyard::driver {
namespace {

constexpr uint32_t kVersion = 1;
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

}  // namespace halyard::driver
