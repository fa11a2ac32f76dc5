// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/conversion.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "hal/aidl/boot_time.h"
#include "hal/aidl/memory.h"

namespace halyard::hal::aidl {
namespace {

// ---- Numbers ------------------------------------------------------------------------------------

Status isNegative(std::string_view what, int64_t value) {
    return invalidArgument(std::string(what) + " is " + std::to_string(value) +
                           ", and must not be negative");
}

std::vector<int32_t> encodeNumbers(const std::vector<uint32_t>& numbers) {
    return {numbers.begin(), numbers.end()};
}

Result<uint64_t> decodeBytes(int64_t value, std::string_view what) {
    if (value < 0) {
        return isNegative(what, value);
    }
    if (value > std::numeric_limits<uint32_t>::max()) {
        return invalidArgument(std::string(what) + " is " + std::to_string(value) +
                               ", and must fit 32 bits");
    }
    return static_cast<uint64_t>(value);
}

Result<driver::DataLocation> decode(const nn::DataLocation& wire) {
    driver::DataLocation location;
    if (wire.poolIndex < 0) {
        return isNegative("poolIndex", wire.poolIndex);
    }
    location.poolIndex = static_cast<uint32_t>(wire.poolIndex);
    HALYARD_ASSIGN_OR_RETURN(location.offset, decodeBytes(wire.offset, "offset"));
    HALYARD_ASSIGN_OR_RETURN(location.length, decodeBytes(wire.length, "length"));
    HALYARD_ASSIGN_OR_RETURN(location.padding, decodeBytes(wire.padding, "padding"));
    return location;
}

nn::DataLocation encode(const driver::DataLocation& location) {
    return {.poolIndex = static_cast<int32_t>(location.poolIndex),
            .offset = static_cast<int64_t>(location.offset),
            .length = static_cast<int64_t>(location.length),
            .padding = static_cast<int64_t>(location.padding)};
}

// ---- Models -------------------------------------------------------------------------------------

Result<driver::ExtraParams> decode(const std::optional<nn::OperandExtraParams>& wire) {
    if (!wire.has_value()) {
        return driver::ExtraParams();
    }
    if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&wire->value)) {
        return driver::ExtraParams(*bytes);
    }
    const auto& channels = std::get<nn::SymmPerChannelQuantParams>(wire->value);
    if (channels.channelDim < 0) {
        return isNegative("channelDim", channels.channelDim);
    }
    return driver::ExtraParams(driver::SymmPerChannelQuantParams{
            .scales = channels.scales, .channelDim = static_cast<uint32_t>(channels.channelDim)});
}

std::optional<nn::OperandExtraParams> encode(const driver::ExtraParams& params) {
    std::optional<nn::OperandExtraParams> wire;
    if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&params)) {
        wire.emplace().value = *bytes;
    } else if (const auto* channels = std::get_if<driver::SymmPerChannelQuantParams>(&params)) {
        wire.emplace().value = nn::SymmPerChannelQuantParams{
                .scales = channels->scales,
                .channelDim = static_cast<int32_t>(channels->channelDim)};
    }
    return wire;
}

Result<driver::Operand> decode(const nn::Operand& wire) {
    driver::Operand operand;
    operand.type = wire.type;
    HALYARD_ASSIGN_OR_RETURN(operand.dimensions, decodeNumbers(wire.dimensions, "a dimension"));
    operand.scale = wire.scale;
    operand.zeroPoint = wire.zeroPoint;
    operand.lifetime = wire.lifetime;
    HALYARD_ASSIGN_OR_RETURN(operand.location, decode(wire.location));
    HALYARD_ASSIGN_OR_RETURN(operand.extraParams, decode(wire.extraParams));
    return operand;
}

Result<driver::Operation> decode(const nn::Operation& wire) {
    driver::Operation operation;
    operation.type = wire.type;
    HALYARD_ASSIGN_OR_RETURN(operation.inputs, decodeNumbers(wire.inputs, "an input"));
    HALYARD_ASSIGN_OR_RETURN(operation.outputs, decodeNumbers(wire.outputs, "an output"));
    return operation;
}

// AIDL does not count them.
void countConsumers(driver::Subgraph& subgraph) {
    for (const driver::Operation& operation : subgraph.operations) {
        for (const uint32_t input : operation.inputs) {
            if (input < subgraph.operands.size()) {
                ++subgraph.operands[input].numberOfConsumers;
            }
        }
    }
}

// The elements that decodeEach() and encodeEach() convert.
Result<driver::Operand> decode(const nn::Operand& wire);
Result<driver::Operation> decode(const nn::Operation& wire);
Result<driver::Subgraph> decode(const nn::Subgraph& wire);
Result<driver::RequestArgument> decode(const nn::RequestArgument& wire);
nn::Operand encode(const driver::Operand& operand);
nn::Operation encode(const driver::Operation& operation);
nn::Subgraph encode(const driver::Subgraph& subgraph);
nn::ExtensionNameAndPrefix encode(const driver::ExtensionNameAndPrefix& entry);
nn::RequestArgument encode(const driver::RequestArgument& argument);
nn::TokenValuePair encode(const driver::ExtensionHints::TokenValuePair& pair);

// Elements that have a decode() of their own; `what`: "operand".
template <typename T>
auto decodeEach(const std::vector<T>& wire, std::string_view what)
        -> Result<std::vector<std::decay_t<decltype(*decode(wire[0]))>>> {
    std::vector<std::decay_t<decltype(*decode(wire[0]))>> elements;
    elements.reserve(wire.size());
    for (size_t i = 0; i < wire.size(); ++i) {
        auto element = decode(wire[i]);
        if (!element.ok()) {
            return element.status().withContext(std::string(what) + " " + std::to_string(i));
        }
        elements.push_back(*std::move(element));
    }
    return elements;
}

template <typename Range>
auto encodeEach(const Range& elements) {
    std::vector<decltype(encode(*elements.begin()))> wire;
    wire.reserve(elements.size());
    for (const auto& element : elements) {
        wire.push_back(encode(element));
    }
    return wire;
}

Result<driver::Subgraph> decode(const nn::Subgraph& wire) {
    driver::Subgraph subgraph;
    HALYARD_ASSIGN_OR_RETURN(subgraph.operands, decodeEach(wire.operands, "operand"));
    HALYARD_ASSIGN_OR_RETURN(subgraph.operations, decodeEach(wire.operations, "operation"));
    HALYARD_ASSIGN_OR_RETURN(subgraph.inputIndexes,
                             decodeNumbers(wire.inputIndexes, "an input index"));
    HALYARD_ASSIGN_OR_RETURN(subgraph.outputIndexes,
                             decodeNumbers(wire.outputIndexes, "an output index"));
    countConsumers(subgraph);
    return subgraph;
}

nn::Operand encode(const driver::Operand& operand) {
    return {.type = operand.type,
            .dimensions = encodeNumbers(operand.dimensions),
            .scale = operand.scale,
            .zeroPoint = operand.zeroPoint,
            .lifetime = operand.lifetime,
            .location = encode(operand.location),
            .extraParams = encode(operand.extraParams)};
}

nn::Operation encode(const driver::Operation& operation) {
    return {.type = operation.type,
            .inputs = encodeNumbers(operation.inputs),
            .outputs = encodeNumbers(operation.outputs)};
}

nn::Subgraph encode(const driver::Subgraph& subgraph) {
    return {.operands = encodeEach(subgraph.operands),
            .operations = encodeEach(subgraph.operations),
            .inputIndexes = encodeNumbers(subgraph.inputIndexes),
            .outputIndexes = encodeNumbers(subgraph.outputIndexes)};
}

std::vector<driver::ExtensionNameAndPrefix> decodePrefixes(
        std::span<const nn::ExtensionNameAndPrefix> wire) {
    std::vector<driver::ExtensionNameAndPrefix> prefixes;
    for (const nn::ExtensionNameAndPrefix& entry : wire) {
        prefixes.push_back({.name = entry.name, .prefix = entry.prefix});
    }
    return prefixes;
}

nn::ExtensionNameAndPrefix encode(const driver::ExtensionNameAndPrefix& entry) {
    return {.name = entry.name, .prefix = entry.prefix};
}

Result<driver::RequestArgument> decode(const nn::RequestArgument& wire) {
    driver::RequestArgument argument;
    argument.hasNoValue = wire.hasNoValue;
    HALYARD_ASSIGN_OR_RETURN(argument.location, decode(wire.location));
    HALYARD_ASSIGN_OR_RETURN(argument.dimensions, decodeNumbers(wire.dimensions, "a dimension"));
    return argument;
}

nn::RequestArgument encode(const driver::RequestArgument& argument) {
    return {.hasNoValue = argument.hasNoValue,
            .location = encode(argument.location),
            .dimensions = encodeNumbers(argument.dimensions)};
}

nn::TokenValuePair encode(const driver::ExtensionHints::TokenValuePair& pair) {
    return {.token = static_cast<int32_t>(pair.token), .value = pair.value};
}

}  // namespace

Result<std::vector<uint32_t>> decodeNumbers(const std::vector<int32_t>& wire,
                                            std::string_view what) {
    for (const int32_t value : wire) {
        if (value < 0) {
            return isNegative(what, value);
        }
    }
    return std::vector<uint32_t>(wire.begin(), wire.end());
}

// ---- Calls --------------------------------------------------------------------------------------

driver::ExtensionHints decodeHints(std::span<const nn::TokenValuePair> hints,
                                   std::span<const nn::ExtensionNameAndPrefix> prefixes) {
    driver::ExtensionHints decoded;
    for (const nn::TokenValuePair& hint : hints) {
        decoded.pairs.push_back({.token = static_cast<uint32_t>(hint.token), .value = hint.value});
    }
    decoded.extensionNameToPrefix = decodePrefixes(prefixes);
    return decoded;
}

Result<driver::ExecuteOptions> decodeOptions(bool measureTiming, int64_t deadline,
                                             int64_t loopTimeout) {
    driver::ExecuteOptions options;
    options.measureTiming = measureTiming;
    HALYARD_ASSIGN_OR_RETURN(options.deadline, decodeDeadline(deadline));
    HALYARD_ASSIGN_OR_RETURN(const driver::Duration loops,
                             decodeDuration(loopTimeout, "loopTimeoutDurationNs"));
    options.loopTimeout = loops.value_or(driver::kDefaultLoopTimeout);
    return options;
}

Result<driver::ExecuteOptions> decodeOptions(const nn::ExecutionConfig& config, int64_t deadline) {
    HALYARD_ASSIGN_OR_RETURN(
            driver::ExecuteOptions options,
            decodeOptions(config.measureTiming, deadline, config.loopTimeoutDurationNs));
    options.hints = decodeHints(config.executionHints, config.extensionNameToPrefix);
    return options;
}

nn::ExecutionConfig encodeConfig(const driver::ExecuteOptions& options) {
    return {.measureTiming = options.measureTiming,
            .loopTimeoutDurationNs = encodeDuration(options.loopTimeout),
            .executionHints = encodeEach(options.hints.pairs),
            .extensionNameToPrefix = encodeEach(options.hints.extensionNameToPrefix)};
}

Result<driver::Model> decode(const nn::Model& wire) {
    driver::Model model;
    HALYARD_ASSIGN_OR_RETURN(model.main, decode(wire.main));
    HALYARD_ASSIGN_OR_RETURN(model.referenced, decodeEach(wire.referenced, "subgraph"));
    model.operandValues = std::make_shared<const std::vector<uint8_t>>(wire.operandValues);
    for (size_t i = 0; i < wire.pools.size(); ++i) {
        Result<driver::SharedMemory> pool = importMemory(wire.pools[i]);
        if (!pool.ok()) {
            return pool.status().withContext("pool " + std::to_string(i));
        }
        model.pools.push_back(*std::move(pool));
    }
    model.relaxComputationFloat32toFloat16 = wire.relaxComputationFloat32toFloat16;
    model.extensionNameToPrefix = decodePrefixes(wire.extensionNameToPrefix);
    return model;
}

nn::Model encode(const driver::Model& model) {
    nn::Model wire;
    wire.main = encode(model.main);
    wire.referenced = encodeEach(model.referenced);
    wire.operandValues = *model.operandValues;
    for (const driver::SharedMemory& pool : model.pools) {
        wire.pools.push_back(exportMemory(*pool));
    }
    wire.relaxComputationFloat32toFloat16 = model.relaxComputationFloat32toFloat16;
    wire.extensionNameToPrefix = encodeEach(model.extensionNameToPrefix);
    return wire;
}

Result<driver::Request> decodeArguments(const nn::Request& wire) {
    driver::Request request;
    HALYARD_ASSIGN_OR_RETURN(request.inputs, decodeEach(wire.inputs, "input"));
    HALYARD_ASSIGN_OR_RETURN(request.outputs, decodeEach(wire.outputs, "output"));
    return request;
}

Result<driver::RequestPool> decode(const nn::RequestMemoryPool& wire,
                                   const ImportOptions& options) {
    if (const auto* memory = std::get_if<nn::Memory>(&wire.value)) {
        HALYARD_ASSIGN_OR_RETURN(driver::SharedMemory imported, importMemory(*memory, options));
        return driver::RequestPool(std::move(imported));
    }
    const int32_t token = std::get<int32_t>(wire.value);
    if (token <= 0) {
        return invalidArgument("the token is " + std::to_string(token) +
                               ", and must be more than 0");
    }
    return driver::RequestPool(static_cast<uint32_t>(token));
}

Result<driver::Request> decode(const nn::Request& wire) {
    HALYARD_ASSIGN_OR_RETURN(driver::Request request, decodeArguments(wire));
    for (size_t i = 0; i < wire.pools.size(); ++i) {
        Result<driver::RequestPool> pool = decode(wire.pools[i], ImportOptions());
        if (!pool.ok()) {
            return pool.status().withContext("pool " + std::to_string(i));
        }
        request.pools.push_back(*std::move(pool));
    }
    return request;
}

nn::Request encode(const driver::Request& request) {
    nn::Request wire;
    wire.inputs = encodeEach(request.inputs);
    wire.outputs = encodeEach(request.outputs);
    for (const driver::RequestPool& pool : request.pools) {
        nn::RequestMemoryPool& entry = wire.pools.emplace_back();
        if (const auto* token = std::get_if<uint32_t>(&pool)) {
            entry.value = static_cast<int32_t>(*token);
        } else {
            entry.value = exportMemory(*std::get<driver::SharedMemory>(pool));
        }
    }
    return wire;
}

// ---- Answers ------------------------------------------------------------------------------------

namespace {

driver::PerformanceInfo decode(const nn::PerformanceInfo& wire) {
    return {.execTime = wire.execTime, .powerUsage = wire.powerUsage};
}

nn::PerformanceInfo encode(const driver::PerformanceInfo& info) {
    return {.execTime = info.execTime, .powerUsage = info.powerUsage};
}

}  // namespace

driver::Capabilities decode(const nn::Capabilities& wire) {
    driver::Capabilities capabilities;
    capabilities.relaxedFloat32toFloat16PerformanceScalar =
            decode(wire.relaxedFloat32toFloat16PerformanceScalar);
    capabilities.relaxedFloat32toFloat16PerformanceTensor =
            decode(wire.relaxedFloat32toFloat16PerformanceTensor);
    for (const nn::OperandPerformance& entry : wire.operandPerformance) {
        capabilities.operandPerformance.push_back({.type = entry.type, .info = decode(entry.info)});
    }
    capabilities.ifPerformance = decode(wire.ifPerformance);
    capabilities.whilePerformance = decode(wire.whilePerformance);
    return capabilities;
}

nn::Capabilities encode(const driver::Capabilities& capabilities) {
    nn::Capabilities wire;
    wire.relaxedFloat32toFloat16PerformanceScalar =
            encode(capabilities.relaxedFloat32toFloat16PerformanceScalar);
    wire.relaxedFloat32toFloat16PerformanceTensor =
            encode(capabilities.relaxedFloat32toFloat16PerformanceTensor);
    for (const driver::OperandPerformance& entry : capabilities.operandPerformance) {
        wire.operandPerformance.push_back({.type = entry.type, .info = encode(entry.info)});
    }
    wire.ifPerformance = encode(capabilities.ifPerformance);
    wire.whilePerformance = encode(capabilities.whilePerformance);
    return wire;
}

Result<driver::Extension> decode(const nn::Extension& wire) {
    driver::Extension extension{.name = wire.name, .operandTypes = {}};
    for (const nn::ExtensionOperandTypeInformation& type : wire.operandTypes) {
        if (type.byteSize < 0) {
            return isNegative("byteSize", type.byteSize);
        }
        extension.operandTypes.push_back({.type = type.type,
                                          .isTensor = type.isTensor,
                                          .byteSize = static_cast<uint32_t>(type.byteSize)});
    }
    return extension;
}

nn::Extension encode(const driver::Extension& extension) {
    nn::Extension wire{.name = extension.name, .operandTypes = {}};
    for (const driver::Extension::OperandTypeInformation& type : extension.operandTypes) {
        wire.operandTypes.push_back({.type = type.type,
                                     .isTensor = type.isTensor,
                                     .byteSize = static_cast<int32_t>(type.byteSize)});
    }
    return wire;
}

driver::Timing decode(const nn::Timing& wire) {
    const auto known = [](int64_t duration) {
        return duration < 0 ? driver::Duration()
                            : driver::Duration(std::chrono::nanoseconds(duration));
    };
    return {.timeOnDevice = known(wire.timeOnDeviceNs), .timeInDriver = known(wire.timeInDriverNs)};
}

nn::Timing encode(const driver::Timing& timing) {
    return {.timeOnDeviceNs = encodeDuration(timing.timeOnDevice),
            .timeInDriverNs = encodeDuration(timing.timeInDriver)};
}

driver::ExecutionResult decode(const nn::ExecutionResult& wire) {
    driver::ExecutionResult result;
    if (!wire.outputSufficientSize) {
        result.status = {StatusCode::OUTPUT_TOO_SMALL,
                         "the service says that an output is too small"};
    }
    for (const nn::OutputShape& shape : wire.outputShapes) {
        result.outputShapes.push_back(
                {.dimensions = {shape.dimensions.begin(), shape.dimensions.end()},
                 .isSufficient = shape.isSufficient});
    }
    result.timing = decode(wire.timing);
    return result;
}

nn::ExecutionResult encode(const driver::ExecutionResult& result) {
    nn::ExecutionResult wire;
    wire.outputSufficientSize = result.status.ok();
    for (const driver::OutputShape& shape : result.outputShapes) {
        wire.outputShapes.push_back({.dimensions = encodeNumbers(shape.dimensions),
                                     .isSufficient = shape.isSufficient});
    }
    wire.timing = encode(result.timing);
    return wire;
}

}  // namespace halyard::hal::aidl
