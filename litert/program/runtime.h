// SPDX-License-Identifier: Apache-2.0
//
// Runtime: what LiteRT's doors (delegate/, vendor/) share: backends, where log lines go, the folder
// of kept programs. compilePartition() makes an engine graph a program with it.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "engine/compile/backends.h"
#include "engine/plan/program.h"
#include "litert/program/program_cache.h"

namespace halyard::litert {

struct RuntimeOptions {
    std::string backends = "CpuAcc";  // "GpuAcc,CpuAcc:features=avx2", in order of preference
    std::string cacheFolder;          // of kept programs; empty: none are
    bool fastMath = false;            // results may leave the official tolerance
    // What of it is said on stderr; nothing: silent.
    std::optional<LogLevel> log = LogLevel::WARNING;
    engine::ProcessRights rights = {.asksForTiles = false, .startsProcesses = false};
};

// Immutable and thread-safe; outlives the programs that are compiled with it. Its lines go to
// stderr, as the host's runtime writes its own: "WARNING: halyard: text".
class Runtime {
  public:
    // INVALID_ARGUMENT as parseBackends(), openBackends() and ProgramCache::open() say.
    static Result<std::shared_ptr<const Runtime>> create(const RuntimeOptions& options);
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    // For LogScope; as long as the runtime.
    const LogTarget& lines() const { return mLines; }
    const engine::BackendList& backends() const { return mList; }
    // Whether CpuRef was asked for: else it is there as the catch-all alone.
    bool wantsReference() const { return mWantsReference; }
    bool fastMath() const { return mFastMath; }
    const ProgramCache* cache() const { return mCache.get(); }  // null: none

  private:
    Runtime() = default;

    LogTarget mLines;
    engine::OwnedBackends mOwned;
    engine::BackendList mList;
    std::unique_ptr<const ProgramCache> mCache;
    bool mWantsReference = false;
    bool mFastMath = false;
};

// "GpuAcc,CpuAcc:features=avx2". INVALID_ARGUMENT quotes what is no choice.
Result<std::vector<engine::BackendChoice>> parseBackends(std::string_view text);

// `threads` counts the one that runs; 0: one per core. More than 1,024 is INVALID_ARGUMENT.
Result<std::shared_ptr<ThreadPool>> makeThreads(size_t threads);

// A program of the graph: one that was kept, or a new one, which is kept. Fails as
// engine::compile() does; what goes wrong with the folder is a line in the log. Call it in a
// LogScope of the runtime's lines.
Result<std::shared_ptr<const engine::Program>> compilePartition(
        const Runtime& runtime, engine::Graph graph, std::shared_ptr<ThreadPool> threads);

}  // namespace halyard::litert
