// SPDX-License-Identifier: Apache-2.0

#include "driver/options/placement_policy.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>

#include "driver/options/backend_hints.h"
#include "engine/base/log.h"
#include "engine/compile/backends.h"

namespace halyard::driver {
namespace {

std::optional<engine::BackendIndex> indexOf(const std::vector<std::string>& backends,
                                            const std::string& name) {
    const auto found = std::ranges::find(backends, name);
    if (found == backends.end()) {
        return std::nullopt;
    }
    return static_cast<engine::BackendIndex>(found - backends.begin());
}

bool isKnown(const std::string& name) {
    const std::vector<std::string_view> known = engine::knownBackends();
    return std::ranges::find(known, std::string_view(name)) != known.end();
}

std::string listOf(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) {
        list.append(list.empty() ? "" : ", ").append(name);
    }
    return list;
}

Status unknown(const std::string& name, const std::vector<std::string>& backends) {
    return invalidArgument("no backend \"" + name + "\" is in use; those are " + listOf(backends));
}

}  // namespace

Result<PlacementPolicy> PlacementPolicy::create(const Options& options,
                                                const std::vector<std::string>& backends) {
    PlacementPolicy policy;
    policy.mRules.maxPartitions = options.maxPartitions;
    policy.mRules.minNodesPerPartition = options.minNodesPerPartition;
    for (const std::string& name : options.requiredBackends) {
        const std::optional<engine::BackendIndex> index = indexOf(backends, name);
        if (!index.has_value()) {
            return unknown(name, backends).withContext("--require-backend");
        }
        policy.mRules.only.insert(*index);
    }
    if (options.backendHintFile.empty()) {
        return policy;
    }
    HALYARD_ASSIGN_OR_RETURN(const std::vector<BackendHint> hints,
                             readBackendHints(options.backendHintFile));
    for (const BackendHint& hint : hints) {
        const std::string where = options.backendHintFile + ": line " + std::to_string(hint.line);
        const std::optional<engine::BackendIndex> index = indexOf(backends, hint.backend);
        if (!index.has_value() && isKnown(hint.backend)) {
            log(LogLevel::WARNING,
                where + ": backend " + hint.backend + " is not in use; the hint is left out");
            continue;
        }
        if (!index.has_value()) {
            return unknown(hint.backend, backends).withContext(where);
        }
        if (!policy.mRules.only.empty() && !policy.mRules.only.contains(*index)) {
            return invalidArgument("backend " + hint.backend + " is none of those required (" +
                                   listOf(options.requiredBackends) + ")")
                    .withContext(where);
        }
        if (const auto* type = std::get_if<OperationType>(&hint.operation)) {
            policy.mHintByType.emplace(*type, *index);
        } else {
            policy.mHintByIndex.emplace(std::get<uint32_t>(hint.operation), *index);
        }
    }
    return policy;
}

std::string PlacementPolicy::describeHints() const {
    std::string text;
    const auto add = [&text](const std::string& operation, engine::BackendIndex backend) {
        text.append(text.empty() ? "" : ", ").append(operation).append(" ");
        text.append(std::to_string(backend));
    };
    for (const auto& [operation, backend] : mHintByIndex) {
        add(std::to_string(operation), backend);
    }
    for (const auto& [type, backend] : mHintByType) {
        add(describe(type), backend);
    }
    return text;
}

engine::PlacementRules PlacementPolicy::rulesFor(const Model& model) const {
    engine::PlacementRules rules = mRules;
    if (mHintByIndex.empty() && mHintByType.empty()) {
        return rules;
    }
    rules.hintFor = [this, &model](uint32_t operation) -> std::optional<engine::BackendIndex> {
        if (const auto hint = mHintByIndex.find(operation); hint != mHintByIndex.end()) {
            return hint->second;
        }
        if (operation >= model.main.operations.size()) {
            return std::nullopt;
        }
        const auto hint = mHintByType.find(model.main.operations[operation].type);
        return hint == mHintByType.end() ? std::nullopt : std::optional(hint->second);
    };
    return rules;
}

}  // namespace halyard::driver
