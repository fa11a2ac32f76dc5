// SPDX-License-Identifier: Apache-2.0

#include "driver/model/validate_request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "driver/model/validate.h"
#include "engine/base/checked_math.h"

namespace halyard::driver {
namespace {

enum class Role : uint8_t { INPUT, OUTPUT };

Status validatePools(const Request& request, HalVersion version) {
    for (size_t i = 0; i < request.pools.size(); ++i) {
        const auto* memory = std::get_if<SharedMemory>(&request.pools[i]);
        if (memory == nullptr) {
            const uint32_t token = std::get<uint32_t>(request.pools[i]);
            if (version < HalVersion::V1_3 || token == 0) {
                return invalidArgument("pool " + std::to_string(i) + " names buffer token " +
                                       std::to_string(token) +
                                       (token == 0 ? ", which no buffer has"
                                                   : ", and there are no buffers before 1.3"));
            }
            continue;
        }
        HALYARD_RETURN_IF_ERROR(validatePoolName(*memory, version, i));
    }
    return {};
}

Status validateLocation(const Request& request, const DataLocation& location) {
    if (location.poolIndex >= request.pools.size()) {
        return invalidArgument("there is no pool " + std::to_string(location.poolIndex));
    }
    const auto* memory = std::get_if<SharedMemory>(&request.pools[location.poolIndex]);
    const size_t size = memory == nullptr ? 0 : (*memory)->size();
    if (!fits(location, size)) {
        return invalidArgument("it lies outside pool " + std::to_string(location.poolIndex));
    }
    return {};
}

// A buffer knows its own dimensions, and how many bytes they take.
bool isInBuffer(const Request& request, const RequestArgument& argument) {
    return std::holds_alternative<uint32_t>(request.pools[argument.location.poolIndex]);
}

// One extent, of which the model and the request each say something or nothing.
Result<int32_t> resolveExtent(size_t axis, uint32_t model, uint32_t given) {
    if (given != 0 && model != 0 && given != model) {
        return invalidArgument("dimension " + std::to_string(axis) + " is " +
                               std::to_string(given) + " where the model says " +
                               std::to_string(model));
    }
    const uint32_t extent = model != 0 ? model : given;
    if (extent > static_cast<uint32_t>(std::numeric_limits<int32_t>::max())) {
        return unsupported("dimension " + std::to_string(extent) + " is above 2^31 - 1");
    }
    return extent == 0 ? engine::kUnknownDimension : static_cast<int32_t>(extent);
}

Result<engine::Shape> resolveShape(const Operand& operand, const RequestArgument& argument) {
    const std::vector<uint32_t>& model = operand.dimensions;
    const std::vector<uint32_t>& given = argument.dimensions;
    const OperandTypeInfo* info = findOperandType(operand.type);
    if (info != nullptr && !info->isTensor()) {
        if (!given.empty()) {
            return invalidArgument("a scalar has no dimensions");
        }
        return engine::Shape();
    }
    const size_t rank = std::max(model.size(), given.size());
    if (!given.empty() && !model.empty() && given.size() != model.size()) {
        return invalidArgument("rank " + std::to_string(given.size()) + " where the model says " +
                               std::to_string(model.size()));
    }
    if (rank == 0) {
        return engine::Shape::unknownRank();
    }
    if (rank > engine::kMaxRank) {
        return unsupported("rank " + std::to_string(rank) + " is above " +
                           std::to_string(engine::kMaxRank));
    }
    std::array<int32_t, engine::kMaxRank> extents;
    for (size_t axis = 0; axis < rank; ++axis) {
        HALYARD_ASSIGN_OR_RETURN(extents[axis], resolveExtent(axis, model.empty() ? 0 : model[axis],
                                                              given.empty() ? 0 : given[axis]));
    }
    return engine::Shape(std::span(extents).first(rank));
}

Result<engine::Shape> resolveArgument(const Request& request, const Operand& operand,
                                      const RequestArgument& argument, Role role,
                                      HalVersion version) {
    if (argument.hasNoValue) {
        if (argument.location != DataLocation() || !argument.dimensions.empty()) {
            return invalidArgument("an argument without a value has no location or dimensions");
        }
        return engine::Shape::unknownRank();
    }
    HALYARD_RETURN_IF_ERROR(validateLocation(request, argument.location));
    HALYARD_ASSIGN_OR_RETURN(const engine::Shape shape, resolveShape(operand, argument));
    const bool mayBeOpen = (role == Role::OUTPUT && version >= HalVersion::V1_2) ||
                           findOperandType(operand.type) == nullptr ||
                           isInBuffer(request, argument);
    if (!mayBeOpen && !shape.isFullyKnown()) {
        return invalidArgument("its dimensions are not fully specified");
    }
    return shape;
}

// Bytes that the elements of a valid input take. Room beyond them is ignored.
Result<uint64_t> inputSize(const Request& request, const Operand& operand,
                           const RequestArgument& argument, const engine::Shape& shape) {
    const OperandTypeInfo* info = findOperandType(operand.type);
    if (argument.hasNoValue || info == nullptr || isInBuffer(request, argument)) {
        return uint64_t{0};
    }
    HALYARD_ASSIGN_OR_RETURN(const int64_t count, shape.elementCount());
    return static_cast<uint64_t>(count) * info->elementSize;
}

bool hasOutputInBuffer(const Request& request) {
    return std::ranges::any_of(request.outputs, [&](const RequestArgument& output) {
        return !output.hasNoValue && output.location.poolIndex < request.pools.size() &&
               isInBuffer(request, output);
    });
}

Status checkCount(std::string_view role, size_t expected, size_t given) {
    if (given == expected) {
        return {};
    }
    return invalidArgument("the model has " + std::to_string(expected) + " " + std::string(role) +
                           "s and the request " + std::to_string(given));
}

Status resolveInput(const Request& request, const Operand& operand, const RequestArgument& argument,
                    HalVersion version, RequestShapes& shapes) {
    HALYARD_ASSIGN_OR_RETURN(const engine::Shape shape,
                             resolveArgument(request, operand, argument, Role::INPUT, version));
    HALYARD_ASSIGN_OR_RETURN(uint64_t bytes, inputSize(request, operand, argument, shape));
    if (argument.location.length < bytes) {
        if (!hasOutputInBuffer(request)) {
            return invalidArgument("it has " + std::to_string(argument.location.length) +
                                   " bytes where the operand takes " + std::to_string(bytes));
        }
        shapes.shortInput = shapes.inputs.size();
        bytes = 0;
    }
    shapes.inputs.push_back(shape);
    shapes.inputBytes.push_back(static_cast<size_t>(bytes));
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

Status resolveRequest(const Request& request, const ModelBoundary& boundary, HalVersion version,
                      RequestShapes& shapes) {
    HALYARD_RETURN_IF_ERROR(validatePools(request, version));
    HALYARD_RETURN_IF_ERROR(checkCount("input", boundary.inputs.size(), request.inputs.size()));
    HALYARD_RETURN_IF_ERROR(checkCount("output", boundary.outputs.size(), request.outputs.size()));
    shapes.inputs.clear();
    shapes.inputBytes.clear();
    shapes.shortInput.reset();
    for (size_t i = 0; i < request.inputs.size(); ++i) {
        const Status resolved =
                resolveInput(request, boundary.inputs[i], request.inputs[i], version, shapes);
        if (!resolved.ok()) {
            return resolved.withContext("input " + std::to_string(i));
        }
    }
    shapes.outputs.clear();
    for (size_t i = 0; i < request.outputs.size(); ++i) {
        const Result<engine::Shape> shape = resolveArgument(
                request, boundary.outputs[i], request.outputs[i], Role::OUTPUT, version);
        if (!shape.ok()) {
            return shape.status().withContext("output " + std::to_string(i));
        }
        shapes.outputs.push_back(*shape);
    }
    return {};
}

}  // namespace halyard::driver
