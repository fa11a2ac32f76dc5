// SPDX-License-Identifier: Apache-2.0

#include "engine/compile/backends.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/loaded/loaded_backend.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/log.h"

#ifndef HALYARD_WITHOUT_GPU
#include "engine/backends/gpu/gpu_acc.h"
#endif

namespace halyard::engine {
namespace {

using Options = std::span<const BackendOption>;

struct BackendRow {
    std::string_view name;
    // UNAVAILABLE: not on this machine.
    Result<std::unique_ptr<const Backend>> (*open)(Options options, const ProcessRights& rights);
    std::string_view options;  // that it takes, with commas between; empty: none
};

constexpr std::string_view kLastResort = "CpuRef";

Result<std::unique_ptr<const Backend>> openCpuRef(Options /*options*/,
                                                  const ProcessRights& /*rights*/) {
    return makeCpuRef();
}

Result<std::unique_ptr<const Backend>> openCpuAcc(Options options, const ProcessRights& rights) {
    const cpu::Tiles tiles = rights.asksForTiles ? cpu::Tiles::ASK : cpu::Tiles::LEAVE;
    if (options.empty()) {
        return makeCpuAcc(cpu::bestInstructionSet(tiles),
                          rights.asksForTiles ? "" : cpu::withheldInstructionSet());
    }
    HALYARD_ASSIGN_OR_RETURN(const cpu::InstructionSet set,
                             cpu::parseInstructionSet(options.front().value, tiles));
    return makeCpuAcc(set);
}

#ifndef HALYARD_WITHOUT_GPU
// Which of the words it is, in their order.
Result<size_t> wordOf(const BackendOption& option, std::span<const std::string_view> words) {
    const auto found = std::ranges::find(words, option.value);
    if (found != words.end()) {
        return static_cast<size_t>(found - words.begin());
    }
    std::string known;
    for (const std::string_view word : words) {
        known.append(known.empty() ? "" : ", ").append(word);
    }
    return invalidArgument("GpuAcc's " + option.name + " is one of " + known + ", not \"" +
                           option.value + "\"");
}

Status take(const BackendOption& option, GpuSettings& settings) {
    constexpr std::array<std::string_view, 2> kCompilers = {"apart", "inside"};
    constexpr std::array<std::string_view, 2> kModes = {"use", "update"};
    constexpr std::array<std::string_view, 3> kLevels = {"rapid", "normal", "exhaustive"};
    constexpr std::array<std::string_view, 2> kKinds = {"own", "gpu"};
    if (option.name == "device") {
        settings.choice.device = option.value;
    } else if (option.name == "library") {
        settings.choice.library = option.value;
    } else if (option.name == "cuda") {
        settings.choice.nativeDriver = option.value;
    } else if (option.name == "command-buffer") {
        constexpr std::array<std::string_view, 2> kSwitch = {"off", "on"};
        HALYARD_ASSIGN_OR_RETURN(const size_t isOn, wordOf(option, kSwitch));
        settings.choice.keepsCommandBuffer = isOn == 1;
    } else if (option.name == "kind") {
        HALYARD_ASSIGN_OR_RETURN(const size_t kind, wordOf(option, kKinds));
        settings.choice.asGpu = kind == 1;
    } else if (option.name == "profiling") {
        if (option.value != "on" && option.value != "off") {
            return invalidArgument("GpuAcc's profiling is \"on\" or \"off\", not \"" +
                                   option.value + "\"");
        }
        settings.profiles = option.value == "on";
    } else if (option.name == "tuning-file") {
        settings.tuning.file = option.value;
    } else if (option.name == "tuning-mode") {
        HALYARD_ASSIGN_OR_RETURN(const size_t mode, wordOf(option, kModes));
        settings.tuning.mode = static_cast<gpu::TuningMode>(mode);
    } else if (option.name == "tuning-level") {
        HALYARD_ASSIGN_OR_RETURN(const size_t level, wordOf(option, kLevels));
        settings.tuning.level = static_cast<gpu::TuningLevel>(level);
    } else {
        HALYARD_ASSIGN_OR_RETURN(const size_t compiler, wordOf(option, kCompilers));
        settings.compilesApart = compiler == 0;
    }
    return {};
}

Result<std::unique_ptr<const Backend>> openGpuAcc(Options options, const ProcessRights& rights) {
    GpuSettings settings;
    settings.compilesApart = rights.startsProcesses;
    for (const BackendOption& option : options) {
        HALYARD_RETURN_IF_ERROR(take(option, settings));
    }
    if (settings.compilesApart && !rights.startsProcesses) {
        return invalidArgument("GpuAcc's compiler=apart takes processes, which may not be started");
    }
    if (settings.tuning.mode == gpu::TuningMode::UPDATE && settings.tuning.file.empty()) {
        return invalidArgument("GpuAcc's tuning-mode=update needs a tuning-file");
    }
    return makeGpuAcc(settings);
}
#endif

constexpr std::array kBackends = {
        BackendRow{.name = kLastResort, .open = openCpuRef, .options = ""},
        BackendRow{.name = "CpuAcc", .open = openCpuAcc, .options = "features"},
#ifndef HALYARD_WITHOUT_GPU
        BackendRow{.name = "GpuAcc",
                   .open = openGpuAcc,
                   .options =
                           "command-buffer,compiler,cuda,device,kind,library,profiling,tuning-file,"
                           "tuning-level,tuning-mode"},
#endif
};

bool isAmong(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const size_t end = std::min(list.find(','), list.size());
        if (list.substr(0, end) == name) {
            return true;
        }
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

Status checkOptions(const BackendChoice& choice, std::string_view taken) {
    for (const BackendOption& option : choice.options) {
        if (!isAmong(taken, option.name)) {
            return invalidArgument(
                    "backend " + choice.name + " has no option " + option.name +
                    (taken.empty() ? "; it takes none" : "; it takes " + std::string(taken)));
        }
    }
    return {};
}

// Each backend once, the last resort among them.
Result<std::vector<BackendChoice>> withLastResort(std::span<const BackendChoice> choices) {
    std::vector<BackendChoice> wanted;
    for (const BackendChoice& choice : choices) {
        const auto same = std::ranges::find(wanted, choice.name, &BackendChoice::name);
        if (same == wanted.end()) {
            wanted.push_back(choice);
        } else if (!(*same == choice)) {
            return invalidArgument("backend " + choice.name +
                                   " is chosen twice, with different options");
        }
    }
    if (std::ranges::find(wanted, kLastResort, &BackendChoice::name) == wanted.end()) {
        wanted.push_back({.name = std::string(kLastResort), .options = {}});
    }
    return wanted;
}

Result<OwnedBackends> openLibraries(const std::string& directory) {
    if (directory.empty()) {
        return OwnedBackends();
    }
    std::set<std::string> taken = {std::string(kPlannerName)};
    for (const BackendRow& row : kBackends) {
        taken.emplace(row.name);
    }
    return loadBackends(directory, taken);
}

Status unknown(const std::string& name, const OwnedBackends& libraries) {
    std::string known;
    const auto add = [&known](std::string_view other) {
        known.append(known.empty() ? "" : ", ").append(other);
    };
    std::ranges::for_each(kBackends, add, &BackendRow::name);
    for (const std::unique_ptr<const Backend>& library : libraries) {
        if (library != nullptr) {
            add(library->name());
        }
    }
    return invalidArgument("there is no backend \"" + name + "\"; the known ones are " + known);
}

}  // namespace

BackendList listOf(const OwnedBackends& backends) {
    BackendList list;
    for (const std::unique_ptr<const Backend>& backend : backends) {
        list.push_back(backend.get());
    }
    return list;
}

std::vector<std::string_view> knownBackends() {
    std::vector<std::string_view> names;
    for (const BackendRow& row : kBackends) {
        names.push_back(row.name);
    }
    return names;
}

Result<OwnedBackends> openBackends(std::span<const BackendChoice> choices,
                                   const std::string& directory, const ProcessRights& rights) {
    HALYARD_ASSIGN_OR_RETURN(OwnedBackends libraries, openLibraries(directory));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<BackendChoice> wanted, withLastResort(choices));
    OwnedBackends backends;
    for (const BackendChoice& choice : wanted) {
        const auto library = std::ranges::find_if(libraries, [&](const auto& backend) {
            return backend != nullptr && backend->name() == choice.name;
        });
        if (library != libraries.end()) {
            HALYARD_RETURN_IF_ERROR(checkOptions(choice, ""));
            backends.push_back(std::move(*library));
            continue;
        }
        const auto* row = std::ranges::find(kBackends, choice.name, &BackendRow::name);
        if (row == kBackends.end()) {
            return unknown(choice.name, libraries);
        }
        HALYARD_RETURN_IF_ERROR(checkOptions(choice, row->options));
        Result<std::unique_ptr<const Backend>> backend = row->open(choice.options, rights);
        if (backend.status().code() == StatusCode::UNAVAILABLE) {
            log(LogLevel::WARNING, "backend " + choice.name + " is not used: " +
                                           std::string(backend.status().message()));
            continue;
        }
        HALYARD_RETURN_IF_ERROR(backend.status());
        backends.push_back(*std::move(backend));
    }
    return backends;
}

}  // namespace halyard::engine
