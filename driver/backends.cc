// SPDX-License-Identifier: Apache-2.0

#include "driver/backends.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "driver/options.h"
#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/loaded/loaded_backend.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/log.h"
#include "engine/plan/assignment.h"

namespace halyard::driver {
namespace {

struct BackendRow {
    std::string_view name;
    // Null: this build has no such backend.
    Result<std::unique_ptr<const engine::Backend>> (*make)(const Options& options);
};

constexpr std::string_view kLastResort = "CpuRef";

Result<std::unique_ptr<const engine::Backend>> makeCpuRef(const Options& /*options*/) {
    return engine::makeCpuRef();
}

Result<std::unique_ptr<const engine::Backend>> makeCpuAcc(const Options& options) {
    if (options.cpuFeatures.empty()) {
        return engine::makeCpuAcc();
    }
    HALYARD_ASSIGN_OR_RETURN(const engine::cpu::InstructionSet set,
                             engine::cpu::parseInstructionSet(options.cpuFeatures));
    return engine::makeCpuAcc(set);
}

constexpr std::array kBackends = {
        BackendRow{kLastResort, makeCpuRef},
        BackendRow{"CpuAcc", makeCpuAcc},
        BackendRow{"GpuAcc", nullptr},
};

std::string listOfNames() {
    std::string names;
    for (const BackendRow& row : kBackends) {
        names.append(names.empty() ? "" : ", ").append(row.name);
    }
    return names;
}

}  // namespace

std::vector<std::string_view> knownBackends() {
    std::vector<std::string_view> names;
    names.reserve(kBackends.size());
    for (const BackendRow& row : kBackends) {
        names.push_back(row.name);
    }
    return names;
}

Result<std::vector<std::unique_ptr<const engine::Backend>>> makeBackends(const Options& options) {
    const std::string& directory = options.backendDirectory;
    std::vector<std::unique_ptr<const engine::Backend>> loaded;
    if (!directory.empty()) {
        std::set<std::string> taken = {std::string(engine::kPlannerName)};
        for (const BackendRow& row : kBackends) {
            taken.emplace(row.name);
        }
        HALYARD_ASSIGN_OR_RETURN(loaded, engine::loadBackends(directory, taken));
    }
    std::vector<std::string_view> wanted;
    for (const std::string& name : options.backends) {
        if (std::ranges::find(wanted, name) == wanted.end()) {
            wanted.push_back(name);
        }
    }
    if (std::ranges::find(wanted, kLastResort) == wanted.end()) {
        wanted.push_back(kLastResort);
    }
    std::vector<std::unique_ptr<const engine::Backend>> backends;
    for (const std::string_view name : wanted) {
        const auto library = std::ranges::find_if(loaded, [&](const auto& backend) {
            return backend != nullptr && backend->name() == name;
        });
        if (library != loaded.end()) {
            backends.push_back(std::move(*library));
            continue;
        }
        const auto* row = std::ranges::find(kBackends, name, &BackendRow::name);
        if (row == kBackends.end()) {
            std::string known = listOfNames();
            for (const std::unique_ptr<const engine::Backend>& other : loaded) {
                known += other == nullptr ? "" : ", " + std::string(other->name());
            }
            return invalidArgument("there is no backend \"" + std::string(name) +
                                   "\"; the known ones are " + known);
        }
        if (row->make == nullptr) {
            log(LogLevel::WARNING, "backend " + std::string(name) +
                                           " is not part of this build; the next one is used");
            continue;
        }
        HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<const engine::Backend> backend,
                                 row->make(options));
        backends.push_back(std::move(backend));
    }
    return backends;
}

}  // namespace halyard::driver
