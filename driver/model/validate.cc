// SPDX-License-Identifier: Apache-2.0

#include "driver/model/validate.h"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::driver {
namespace {

// Every operand and operation of an extension is looked up among them, before the client has a
// slot.
constexpr size_t kMostExtensions = 256;

Status validateExtensions(const Model& model, HalVersion version) {
    if (!model.extensionNameToPrefix.empty() && version < HalVersion::V1_2) {
        return invalidArgument("extensions exist only from HAL 1.2");
    }
    if (model.extensionNameToPrefix.size() > kMostExtensions) {
        return unsupported("a model of " + std::to_string(model.extensionNameToPrefix.size()) +
                           " extensions; the limit is " + std::to_string(kMostExtensions));
    }
    std::set<std::string_view> names;
    std::set<uint16_t> prefixes;
    for (const ExtensionNameAndPrefix& extension : model.extensionNameToPrefix) {
        if (!names.insert(extension.name).second) {
            return invalidArgument("extension " + extension.name + " is declared twice");
        }
        if (!prefixes.insert(extension.prefix).second) {
            return invalidArgument("extension prefix " + std::to_string(extension.prefix) +
                                   " is declared twice");
        }
    }
    return {};
}

// With verdicts all of it is looked at, however much fails before.
Status validateSubgraph(const Model& model, const Subgraph& subgraph, HalVersion version,
                        Verdicts* verdicts) {
    if (subgraph.operands.empty()) {
        return invalidArgument("there are no operands");
    }
    if (subgraph.operations.empty()) {
        return invalidArgument("there are no operations");
    }
    const Status operands = validateOperands(model, subgraph, version, verdicts);
    if (!operands.ok() && verdicts == nullptr) {
        return operands;
    }
    const Status graph = validateGraph(model, subgraph, version, verdicts);
    return operands.ok() ? graph : operands;
}

Status validateReferenced(const Model& model, HalVersion version, Verdicts* verdicts) {
    Status first;
    std::vector<Status> failures(model.referenced.size());
    for (size_t i = 0; i < model.referenced.size(); ++i) {
        failures[i] = validateSubgraph(model, model.referenced[i], version, nullptr)
                              .withContext("subgraph " + std::to_string(i));
        if (first.ok()) {
            first = failures[i];
        }
        if (!first.ok() && verdicts == nullptr) {
            return first;
        }
    }
    if (!first.ok()) {
        verdicts->addToReferrers(failures);
    }
    return first;
}

}  // namespace

Status validatePoolName(const SharedMemory& pool, HalVersion version, size_t index) {
    const auto what = [index] { return "pool " + std::to_string(index); };
    if (pool == nullptr || !pool->valid()) {
        return invalidArgument(what() + " has no handle");
    }
    const std::string_view name = pool->name();
    if (name == "ashmem" || name == "mmap_fd") {
        return {};
    }
    if (name != "hardware_buffer_blob" && name != "hardware_buffer") {
        return invalidArgument(what() + " has the unknown memory name \"" + std::string(name) +
                               "\"");
    }
    if (version < HalVersion::V1_2) {
        return invalidArgument(what() + ": hardware buffers exist only from HAL 1.2");
    }
    return {};
}

Status validateModel(const Model& model, HalVersion version, Verdicts* verdicts) {
    if (model.operandValues == nullptr) {
        return invalidArgument("the model has no operandValues");
    }
    if (!model.referenced.empty() && version < HalVersion::V1_3) {
        return invalidArgument("referenced subgraphs exist only from HAL 1.3");
    }
    HALYARD_RETURN_IF_ERROR(validateExtensions(model, version));
    for (size_t i = 0; i < model.pools.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(validatePoolName(model.pools[i], version, i));
    }
    const Status own = validateSubgraph(model, model.main, version, verdicts);
    if (!own.ok() && verdicts == nullptr) {
        return own;
    }
    const Status referenced = validateReferenced(model, version, verdicts);
    HALYARD_RETURN_IF_ERROR(own);
    HALYARD_RETURN_IF_ERROR(referenced);
    return validateReferences(model);
}

Status validatePreference(ExecutionPreference preference) {
    if (nameOf(preference).empty()) {
        return invalidArgument("execution preference " +
                               std::to_string(static_cast<int32_t>(preference)) + " is unknown");
    }
    return {};
}

Status validatePriority(Priority priority) {
    if (nameOf(priority).empty()) {
        return invalidArgument("priority " + std::to_string(static_cast<int32_t>(priority)) +
                               " is unknown");
    }
    return {};
}

}  // namespace halyard::driver
