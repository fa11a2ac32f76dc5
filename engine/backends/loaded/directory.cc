// SPDX-License-Identifier: Apache-2.0
//
// Which files of a folder are backends.

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/backends/loaded/library.h"
#include "engine/backends/loaded/loaded_backend.h"
#include "engine/base/log.h"
#include "engine/base/trusted_path.h"

namespace halyard::engine {
namespace {

// The names of its libraries, in order.
Result<std::vector<std::string>> librariesIn(const std::string& directory) {
    const std::unique_ptr<DIR, int (*)(DIR*)> opened(opendir(directory.c_str()), &closedir);
    if (opened == nullptr) {
        return invalidArgument(std::strerror(errno));
    }
    std::vector<std::string> names;
    while (const dirent* const entry = readdir(opened.get())) {
        if (std::string name = entry->d_name; name.ends_with(".so")) {
            names.push_back(std::move(name));
        }
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace

Result<std::vector<std::unique_ptr<const Backend>>> loadBackends(
        const std::string& directory, const std::set<std::string>& taken) {
    if (!directory.starts_with('/')) {
        return invalidArgument(directory + ": the path of a folder of backends has to be absolute");
    }
    if (!Library::canOpenAny()) {
        return unsupported(directory +
                           ": this program is linked statically, and can't load backends");
    }
    HALYARD_ASSIGN_OR_RETURN(const std::string folder, trustedPath(directory));
    Result<std::vector<std::string>> names = librariesIn(folder);
    if (!names.ok()) {
        return names.status().withContext(folder);
    }
    std::set<std::string> seen = taken;
    std::vector<std::unique_ptr<const Backend>> backends;
    for (const std::string& name : *names) {
        const std::string path = folder + "/" + name;
        Result<std::unique_ptr<const Backend>> backend = loadBackend(path);
        if (!backend.ok()) {
            log(LogLevel::WARNING,
                "a backend is left out: " + std::string(backend.status().message()));
        } else if (!seen.emplace((*backend)->name()).second) {
            log(LogLevel::WARNING, "a backend is left out: " + path +
                                           ": there is already one "
                                           "that is called " +
                                           std::string((*backend)->name()));
        } else {
            log(LogLevel::INFO, "backend " + std::string((*backend)->name()) + " of " + path);
            backends.push_back(std::move(*backend));
        }
    }
    return backends;
}

}  // namespace halyard::engine
