// SPDX-License-Identifier: Apache-2.0

#include "driver/model/expressible.h"

#include <cstddef>
#include <string>
#include <variant>

namespace halyard::driver {
namespace {

Status checkSubgraph(const Subgraph& subgraph, HalVersion version) {
    const std::string suffix = " can't be sent through HAL " + std::string(toString(version));
    for (size_t i = 0; i < subgraph.operands.size(); ++i) {
        const Operand& operand = subgraph.operands[i];
        std::string what = "operand " + std::to_string(i);
        const OperandTypeInfo* type = findOperandType(operand.type);
        const bool extension = extensionPrefix(operand.type).has_value();
        if ((extension && version < HalVersion::V1_2) ||
            (type != nullptr && !type->isIn(version))) {
            return invalidArgument(what.append(": type ").append(describe(operand.type)) + suffix);
        }
        if (!std::holds_alternative<std::monostate>(operand.extraParams) &&
            version < HalVersion::V1_2) {
            return invalidArgument(what.append(": extra parameters") + suffix);
        }
    }
    for (size_t i = 0; i < subgraph.operations.size(); ++i) {
        const OperationType type = subgraph.operations[i].type;
        const bool extension = extensionPrefix(type).has_value();
        if ((extension && version < HalVersion::V1_2) ||
            (introducedIn(type).has_value() && !knows(version, type))) {
            return invalidArgument(labelOf(subgraph.operations[i], i) + suffix);
        }
    }
    return {};
}

}  // namespace

Status checkExpressible(const Model& model, HalVersion version) {
    const std::string suffix = " can't be sent through HAL " + std::string(toString(version));
    if (!model.referenced.empty() && version < HalVersion::V1_3) {
        return invalidArgument("referenced subgraphs" + suffix);
    }
    if (!model.extensionNameToPrefix.empty() && version < HalVersion::V1_2) {
        return invalidArgument("extensions" + suffix);
    }
    if (model.relaxComputationFloat32toFloat16 && version < HalVersion::V1_1) {
        return invalidArgument("relaxed floats" + suffix);
    }
    HALYARD_RETURN_IF_ERROR(checkSubgraph(model.main, version));
    for (const Subgraph& subgraph : model.referenced) {
        HALYARD_RETURN_IF_ERROR(checkSubgraph(subgraph, version));
    }
    return {};
}

}  // namespace halyard::driver
