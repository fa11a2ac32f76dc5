// SPDX-License-Identifier: Apache-2.0

#include "driver/model/validate_request.h"

#include <algorithm>

#include "driver/model/validate.h"
#include "engine/base/checked_math.h"

namespace halyard::driver {
namespace {

enum class Role : uint8_t { INPUT, OUTPUT };

Status validatePools(const Request& request, HalVersion version) {
    for (size_t i = 0; i < request.pools.size(); ++i) {
        const std::string what = "pool " + std::to_string(i);
        const auto* memory = std::get_if<SharedMemory>(&request.pools[i]);
        if (memory == nullptr) {
            return invalidArgument(what + " names buffer token " +
                                   std::to_string(std::get<uint32_t>(request.pools[i])) +
                                   ", and no buffer is allocated");
        }
        HALYARD_RETURN_IF_ERROR(validatePoolName(*memory, version, what));
    }
    return {};
}

Status validateLocation(const Request& request, const DataLocation& location) {
    if (location.poolIndex >= request.pools.size()) {
        return invalidArgument("there is no pool " + std::to_string(location.poolIndex));
    }
    const auto* memory = std::get_if<SharedMemory>(&request.pools[location.poolIndex]);
    const size_t size = memory == nullptr ? 0 : (*memory)->size();
    if (!rangeFits<size_t>(location.offset, location.length, size)) {
        return invalidArgument("it lies outside pool " + std::to_string(location.poolIndex));
    }
    return {};
}

Status validateDimensions(const Operand& operand, const RequestArgument& argument, Role role,
                          HalVersion version) {
    const std::vector<uint32_t>& model = operand.dimensions;
    const std::vector<uint32_t>& given = argument.dimensions;
    const OperandTypeInfo* info = findOperandType(operand.type);
    const bool scalar = info != nullptr && !info->isTensor();
    if (scalar) {
        return given.empty() ? Status() : invalidArgument("a scalar has no dimensions");
    }
    if (!given.empty() && !model.empty()) {
        if (given.size() != model.size()) {
            return invalidArgument("rank " + std::to_string(given.size()) +
                                   " where the model says " + std::to_string(model.size()));
        }
        for (size_t axis = 0; axis < given.size(); ++axis) {
            if (given[axis] != 0 && model[axis] != 0 && given[axis] != model[axis]) {
                return invalidArgument("dimension " + std::to_string(axis) + " is " +
                                       std::to_string(given[axis]) + " where the model says " +
                                       std::to_string(model[axis]));
            }
        }
    }
    if (info == nullptr || (role == Role::OUTPUT && version >= HalVersion::V1_2)) {
        return {};
    }
    const std::vector<uint32_t> merged = mergedDimensions(operand, argument);
    if (merged.empty() || std::ranges::find(merged, 0U) != merged.end()) {
        return invalidArgument("its dimensions are not fully specified");
    }
    return {};
}

Status validateArgument(const Request& request, const Operand& operand,
                        const RequestArgument& argument, Role role, HalVersion version) {
    if (argument.hasNoValue) {
        if (argument.location != DataLocation() || !argument.dimensions.empty()) {
            return invalidArgument("an argument without a value has no location or dimensions");
        }
        return {};
    }
    HALYARD_RETURN_IF_ERROR(validateLocation(request, argument.location));
    return validateDimensions(operand, argument, role, version);
}

Status validateArguments(const Request& request, const std::vector<Operand>& operands,
                         const std::vector<RequestArgument>& arguments, Role role,
                         HalVersion version) {
    const std::string what = role == Role::INPUT ? "input" : "output";
    if (arguments.size() != operands.size()) {
        return invalidArgument("the model has " + std::to_string(operands.size()) + " " + what +
                               "s and the request " + std::to_string(arguments.size()));
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(validateArgument(request, operands[i], arguments[i], role, version)
                                        .withContext(what + " " + std::to_string(i)));
    }
    return {};
}

}  // namespace

ModelBoundary boundaryOf(const Subgraph& subgraph) {
    ModelBoundary boundary;
    for (const uint32_t index : subgraph.inputIndexes) {
        boundary.inputs.push_back(subgraph.operands[index]);
    }
    for (const uint32_t index : subgraph.outputIndexes) {
        boundary.outputs.push_back(subgraph.operands[index]);
    }
    return boundary;
}

std::vector<uint32_t> mergedDimensions(const Operand& operand, const RequestArgument& argument) {
    std::vector<uint32_t> merged = operand.dimensions;
    if (merged.empty()) {
        return argument.dimensions;
    }
    for (size_t axis = 0; axis < argument.dimensions.size() && axis < merged.size(); ++axis) {
        if (merged[axis] == 0) {
            merged[axis] = argument.dimensions[axis];
        }
    }
    return merged;
}

Status validateRequest(const Request& request, const ModelBoundary& boundary, HalVersion version) {
    HALYARD_RETURN_IF_ERROR(validatePools(request, version));
    HALYARD_RETURN_IF_ERROR(
            validateArguments(request, boundary.inputs, request.inputs, Role::INPUT, version));
    return validateArguments(request, boundary.outputs, request.outputs, Role::OUTPUT, version);
}

}  // namespace halyard::driver
