// SPDX-License-Identifier: Apache-2.0

#include "harness/device/cases/canonical_model.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "hal/memory/shared_memory.h"

namespace halyard::runner {

namespace {

constexpr uint64_t kAlignment = 64;

Result<driver::SharedMemory> shareBytes(std::span<const uint8_t> bytes) {
    HALYARD_ASSIGN_OR_RETURN(hal::ExportedMemory shared,
                             hal::createSharedMemory(std::max<size_t>(bytes.size(), 1)));
    HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> mapped, shared.memory->map());
    std::copy(bytes.begin(), bytes.end(), mapped.begin());
    return shared.memory;
}

std::span<const uint8_t> bytesOf(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

driver::Operand canonicalOperand(const pb::Operand& operand) {
    driver::Operand result;
    result.type = static_cast<driver::OperandType>(operand.type());
    result.dimensions.assign(operand.dimensions().begin(), operand.dimensions().end());
    result.scale = operand.scale();
    result.zeroPoint = operand.zero_point();
    result.lifetime = static_cast<driver::OperandLifeTime>(operand.lifetime());
    result.location = {.poolIndex = operand.location().pool_index(),
                       .offset = operand.location().offset(),
                       .length = operand.location().length(),
                       .padding = operand.location().padding()};
    if (operand.has_channel_quant()) {
        const pb::SymmPerChannelQuantParams& params = operand.channel_quant();
        result.extraParams = driver::SymmPerChannelQuantParams{
                .scales = {params.scales().begin(), params.scales().end()},
                .channelDim = params.channel_dim()};
    } else if (operand.has_extension()) {
        const std::span<const uint8_t> bytes = bytesOf(operand.extension());
        result.extraParams = std::vector<uint8_t>(bytes.begin(), bytes.end());
    }
    return result;
}

driver::Subgraph canonicalSubgraph(const pb::Subgraph& subgraph) {
    driver::Subgraph result;
    for (const pb::Operand& operand : subgraph.operands()) {
        result.operands.push_back(canonicalOperand(operand));
    }
    for (const pb::Operation& operation : subgraph.operations()) {
        result.operations.push_back(
                {.type = static_cast<driver::OperationType>(operation.type()),
                 .inputs = {operation.inputs().begin(), operation.inputs().end()},
                 .outputs = {operation.outputs().begin(), operation.outputs().end()}});
        for (const uint32_t input : operation.inputs()) {
            if (input < result.operands.size()) {
                ++result.operands[input].numberOfConsumers;
            }
        }
    }
    result.inputIndexes.assign(subgraph.input_indexes().begin(), subgraph.input_indexes().end());
    result.outputIndexes.assign(subgraph.output_indexes().begin(), subgraph.output_indexes().end());
    return result;
}

// Gives one argument its place behind the others of its pool, whose size so far is `end`.
Result<driver::DataLocation> place(size_t pool, uint64_t length, uint64_t& end) {
    const uint64_t offset = (end + kAlignment - 1) / kAlignment * kAlignment;
    constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
    if (length > kMost || offset > kMost - length) {
        return invalidArgument("the arguments do not fit a pool of 4 GiB");
    }
    end = offset + length;
    return driver::DataLocation{.poolIndex = static_cast<uint32_t>(pool),
                                .offset = offset,
                                .length = length,
                                .padding = 0};
}

}  // namespace

Result<driver::Model> toCanonical(const pb::Model& model) {
    driver::Model result;
    result.main = canonicalSubgraph(model.main());
    for (const pb::Subgraph& subgraph : model.referenced()) {
        result.referenced.push_back(canonicalSubgraph(subgraph));
    }
    const std::span<const uint8_t> values = bytesOf(model.operand_values());
    result.operandValues =
            std::make_shared<const std::vector<uint8_t>>(values.begin(), values.end());
    for (const std::string& pool : model.pools()) {
        HALYARD_ASSIGN_OR_RETURN(driver::SharedMemory shared, shareBytes(bytesOf(pool)));
        result.pools.push_back(std::move(shared));
    }
    result.relaxComputationFloat32toFloat16 = model.relax_computation_float32_to_float16();
    for (const pb::ExtensionNameAndPrefix& extension : model.extension_name_to_prefix()) {
        if (extension.prefix() > std::numeric_limits<uint16_t>::max()) {
            return invalidArgument("extension " + extension.name() + ": the prefix has 16 bits");
        }
        result.extensionNameToPrefix.push_back(
                {extension.name(), static_cast<uint16_t>(extension.prefix())});
    }
    return result;
}

Result<driver::Request> toCanonical(const pb::Example& example) {
    driver::Request result;
    std::vector<uint64_t> ends(2);
    for (const pb::InputValue& input : example.inputs()) {
        driver::RequestArgument& argument = result.inputs.emplace_back();
        argument.hasNoValue = input.has_no_value();
        argument.dimensions.assign(input.dimensions().begin(), input.dimensions().end());
        if (!argument.hasNoValue) {
            HALYARD_ASSIGN_OR_RETURN(argument.location, place(0, input.data().size(), ends[0]));
        }
    }
    for (const pb::OutputBuffer& output : example.outputs()) {
        driver::RequestArgument& argument = result.outputs.emplace_back();
        argument.dimensions.assign(output.dimensions().begin(), output.dimensions().end());
        HALYARD_ASSIGN_OR_RETURN(argument.location,
                                 place(kOutputPool, output.byte_size(), ends[kOutputPool]));
    }
    std::vector<driver::SharedMemory> pools;
    for (const uint64_t end : ends) {
        HALYARD_ASSIGN_OR_RETURN(hal::ExportedMemory shared,
                                 hal::createSharedMemory(std::max<uint64_t>(end, 1)));
        pools.push_back(shared.memory);
        result.pools.emplace_back(std::move(shared.memory));
    }
    HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> inputs, pools[0]->map());
    for (size_t i = 0; i < result.inputs.size(); ++i) {
        const std::string& data = example.inputs(static_cast<int>(i)).data();
        if (!result.inputs[i].hasNoValue && !data.empty()) {
            memcpy(inputs.data() + result.inputs[i].location.offset, data.data(), data.size());
        }
    }
    // An output that the target forgets must not look like a result of zeros.
    HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> outputs, pools[kOutputPool]->map());
    std::fill(outputs.begin(), outputs.end(), uint8_t{0xa5});
    return result;
}

Result<driver::HalVersion> toCanonical(pb::HalVersion version) {
    switch (version) {
        case pb::HAL_VERSION_1_0:
            return driver::HalVersion::V1_0;
        case pb::HAL_VERSION_1_1:
            return driver::HalVersion::V1_1;
        case pb::HAL_VERSION_1_2:
            return driver::HalVersion::V1_2;
        case pb::HAL_VERSION_1_3:
            return driver::HalVersion::V1_3;
        case pb::HAL_VERSION_AIDL_1:
            return driver::HalVersion::AIDL_V1;
        case pb::HAL_VERSION_AIDL_2:
            return driver::HalVersion::AIDL_V2;
        case pb::HAL_VERSION_AIDL_3:
            return driver::HalVersion::AIDL_V3;
        case pb::HAL_VERSION_AIDL_4:
            return driver::HalVersion::AIDL_V4;
        default:
            return invalidArgument("no such HAL version");
    }
}

pb::HalVersion toMessage(driver::HalVersion version) {
    switch (version) {
        case driver::HalVersion::V1_0:
            return pb::HAL_VERSION_1_0;
        case driver::HalVersion::V1_1:
            return pb::HAL_VERSION_1_1;
        case driver::HalVersion::V1_2:
            return pb::HAL_VERSION_1_2;
        case driver::HalVersion::V1_3:
            return pb::HAL_VERSION_1_3;
        case driver::HalVersion::AIDL_V1:
            return pb::HAL_VERSION_AIDL_1;
        case driver::HalVersion::AIDL_V2:
            return pb::HAL_VERSION_AIDL_2;
        case driver::HalVersion::AIDL_V3:
            return pb::HAL_VERSION_AIDL_3;
        case driver::HalVersion::AIDL_V4:
            return pb::HAL_VERSION_AIDL_4;
    }
    return pb::HAL_VERSION_UNSPECIFIED;
}

}  // namespace halyard::runner
