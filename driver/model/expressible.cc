// SPDX-License-Identifier: Apache-2.0

#include "driver/model/expressible.h"

#include <cstddef>
#include <string>
#include <variant>

namespace halyard::driver {
namespace {

std::string suffixOf(HalVersion version) {
    return " can't be sent through HAL " + std::string(toString(version));
}

// Each subgraph.
template <typename Check>
Status checkEach(const Model& model, const Check& check) {
    HALYARD_RETURN_IF_ERROR(check(model.main));
    for (const Subgraph& subgraph : model.referenced) {
        HALYARD_RETURN_IF_ERROR(check(subgraph));
    }
    return {};
}

Status checkExtraParams(const Subgraph& subgraph, HalVersion version) {
    for (size_t i = 0; i < subgraph.operands.size(); ++i) {
        if (!std::holds_alternative<std::monostate>(subgraph.operands[i].extraParams) &&
            version < HalVersion::V1_2) {
            return invalidArgument("operand " + std::to_string(i) + ": extra parameters of " +
                                   describe(subgraph.operands[i].type) + suffixOf(version));
        }
    }
    return {};
}

Status checkCodes(const Subgraph& subgraph, HalVersion version) {
    for (size_t i = 0; i < subgraph.operands.size(); ++i) {
        const OperandType code = subgraph.operands[i].type;
        const OperandTypeInfo* type = findOperandType(code);
        const bool extension = extensionPrefix(code).has_value();
        if ((extension && version < HalVersion::V1_2) ||
            (type != nullptr && !type->isIn(version))) {
            return invalidArgument("operand " + std::to_string(i) + ": type " + describe(code) +
                                   suffixOf(version));
        }
    }
    for (size_t i = 0; i < subgraph.operations.size(); ++i) {
        const OperationType type = subgraph.operations[i].type;
        const bool extension = extensionPrefix(type).has_value();
        if ((extension && version < HalVersion::V1_2) ||
            (introducedIn(type).has_value() && !knows(version, type))) {
            return invalidArgument(labelOf(subgraph.operations[i], i) + suffixOf(version));
        }
    }
    return {};
}

}  // namespace

Status checkSayable(const Model& model, HalVersion version) {
    if (!model.referenced.empty() && version < HalVersion::V1_3) {
        return invalidArgument("referenced subgraphs" + suffixOf(version));
    }
    if (!model.extensionNameToPrefix.empty() && version < HalVersion::V1_2) {
        return invalidArgument("extensions" + suffixOf(version));
    }
    if (model.relaxComputationFloat32toFloat16 && version < HalVersion::V1_1) {
        return invalidArgument("relaxed floats" + suffixOf(version));
    }
    return checkEach(model, [version](const Subgraph& subgraph) {
        return checkExtraParams(subgraph, version);
    });
}

Status checkExpressible(const Model& model, HalVersion version) {
    HALYARD_RETURN_IF_ERROR(checkSayable(model, version));
    return checkEach(model,
                     [version](const Subgraph& subgraph) { return checkCodes(subgraph, version); });
}

}  // namespace halyard::driver
