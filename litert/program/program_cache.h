// SPDX-License-Identifier: Apache-2.0
//
// ProgramCache: a folder of compiled programs, a file for each, named by all that it depends on.
// Programs hold code of devices: only a folder that no other user can write to is used.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/plan/placement.h"
#include "engine/plan/program.h"

namespace halyard::litert {

// Immutable, thread-safe, and shared by processes: a file is written under a name of its own, and
// then renamed.
class ProgramCache {
  public:
    // Files that a folder may hold: where there are more, the oldest go.
    static constexpr size_t kMostPrograms = 256;

    // Makes the folder where there is none, for this user alone. INVALID_ARGUMENT where it can't be
    // had, or others may change what is in it (engine/base/trusted_path.h).
    static Result<std::unique_ptr<const ProgramCache>> open(const std::string& folder);

    // Null where none is kept, or, with a warning, where what is kept is damaged or of another
    // build: it is to be built anew. Fully read once, to check it.
    std::shared_ptr<const engine::Program> load(const std::string& key,
                                                const engine::BackendList& backends,
                                                const engine::BuildOptions& options) const;
    // Replaces what the key had. Where it fails, with a warning, nothing is left behind.
    void store(const std::string& key, const engine::Program& program) const;

  private:
    explicit ProgramCache(std::string folder) : mFolder(std::move(folder)) {}
    std::string fileOf(const std::string& key) const;
    Status write(const std::string& path, const engine::Program& program) const;
    void removeOldest() const;

    const std::string mFolder;
};

// 32 digits over the graph with the bytes of its constants, the backends with their versions and
// options, how they are to compile, and this build of the library.
std::string programKey(const engine::Graph& graph, const engine::BackendList& backends,
                       const engine::CompileOptions& options);

}  // namespace halyard::litert
