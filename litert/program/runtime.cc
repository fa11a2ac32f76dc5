// SPDX-License-Identifier: Apache-2.0

#include "litert/program/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/base/write_all.h"
#include "engine/compile/compile.h"

namespace halyard::litert {
namespace {

constexpr size_t kMostThreads = 1024;

// One call for each line, so that lines of several threads stay whole.
void writeLine(void* /*context*/, LogLevel level, std::string_view line) {
    constexpr std::array<std::string_view, 4> kLevels = {"VERBOSE", "INFO", "WARNING", "ERROR"};
    std::string text(kLevels[static_cast<size_t>(level)]);
    text.append(": halyard: ").append(line).append("\n");
    static_cast<void>(writeAll(STDERR_FILENO, text));
}

void writeNothing(void* /*context*/, LogLevel /*level*/, std::string_view /*line*/) {}

}  // namespace

Result<std::vector<engine::BackendChoice>> parseBackends(std::string_view text) {
    std::vector<engine::BackendChoice> choices;
    while (true) {
        const size_t comma = text.find(',');
        HALYARD_ASSIGN_OR_RETURN(engine::BackendChoice choice,
                                 engine::parseBackendChoice(text.substr(0, comma)));
        choices.push_back(std::move(choice));
        if (comma == std::string_view::npos) {
            return choices;
        }
        text.remove_prefix(comma + 1);
    }
}

Result<std::shared_ptr<ThreadPool>> makeThreads(size_t threads) {
    if (threads > kMostThreads) {
        return invalidArgument("there may be " + std::to_string(kMostThreads) + " threads, not " +
                               std::to_string(threads));
    }
    return std::make_shared<ThreadPool>(threads, std::nullopt, CoreCapacities::read());
}

Result<std::shared_ptr<const Runtime>> Runtime::create(const RuntimeOptions& options) {
    std::shared_ptr<Runtime> runtime(new Runtime);
    runtime->mLines = {.write = options.log.has_value() ? &writeLine : &writeNothing,
                       .context = nullptr,
                       .threshold = options.log.value_or(LogLevel::ERROR)};
    const LogScope scope(&runtime->mLines);
    HALYARD_ASSIGN_OR_RETURN(const std::vector<engine::BackendChoice> choices,
                             parseBackends(options.backends));
    HALYARD_ASSIGN_OR_RETURN(runtime->mOwned, engine::openBackends(choices, {}, options.rights));
    runtime->mList = engine::listOf(runtime->mOwned);
    runtime->mWantsReference =
            std::ranges::find(choices, "CpuRef", &engine::BackendChoice::name) != choices.end();
    runtime->mFastMath = options.fastMath;
    if (!options.cacheFolder.empty()) {
        HALYARD_ASSIGN_OR_RETURN(runtime->mCache, ProgramCache::open(options.cacheFolder));
    }
    return std::shared_ptr<const Runtime>(std::move(runtime));
}

Result<std::shared_ptr<const engine::Program>> compilePartition(
        const Runtime& runtime, engine::Graph graph, std::shared_ptr<ThreadPool> threads) {
    const engine::BuildOptions build = {.threads = std::move(threads),
                                        .compile = {.fastMath = runtime.fastMath()}};
    const ProgramCache* const cache = runtime.cache();
    std::string key;
    if (cache != nullptr) {
        key = programKey(graph, runtime.backends(), build.compile);
        if (std::shared_ptr<const engine::Program> kept =
                    cache->load(key, runtime.backends(), build)) {
            return kept;
        }
    }
    HALYARD_ASSIGN_OR_RETURN(
            std::shared_ptr<const engine::Program> program,
            engine::compile(std::move(graph), runtime.backends(), {.build = build}));
    if (cache != nullptr) {
        cache->store(key, *program);
    }
    return program;
}

}  // namespace halyard::litert
