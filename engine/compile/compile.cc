// SPDX-License-Identifier: Apache-2.0

#include "engine/compile/compile.h"

#include <optional>
#include <utility>

#include "engine/base/log.h"

namespace halyard::engine {
namespace {

// The passes make the same graph cheaper; that it compiles is known from the graph as it came. So
// what becomes of it may never ask for more: where it does, the graph is built as it came.
bool asksForMore(const Status& status) {
    return status.code() == StatusCode::RESOURCE_EXHAUSTED ||
           status.code() == StatusCode::UNSUPPORTED;
}

// A rule of the verifier's holds no longer: a pass can make shapes known that contradict each
// other, which is for a run to fail with.
bool isContradiction(const Status& passes) {
    return passes.code() == StatusCode::INTERNAL;
}

// The graph after the passes, analysed; nothing where they leave it as it is.
Result<std::optional<AnalyzedGraph>> optimizeAndAnalyze(Graph graph, const BackendList& backends,
                                                        const CompileSettings& settings) {
    OptimizeOptions passes = {.precision = settings.precision,
                              .relaxedAsFloat16 = settings.precision == FloatPrecision::FLOAT32 &&
                                                  !backends.empty() &&
                                                  backends[0]->prefersFloat16WhereRelaxed()};
    if (settings.observer != nullptr) {
        passes.observer = [observer = settings.observer](std::string_view pass, const Graph& before,
                                                         const Graph& after) {
            observer->ran(pass, before, after);
        };
    }
    const BuildOptions& build = settings.build;
    HALYARD_ASSIGN_OR_RETURN(const bool changed,
                             optimize(graph, passes, build.memory, build.checkpoint));
    if (settings.observer != nullptr) {
        settings.observer->optimized(graph);
    }
    if (!changed) {
        return std::optional<AnalyzedGraph>();
    }
    HALYARD_ASSIGN_OR_RETURN(AnalyzedGraph analyzed,
                             analyze(std::move(graph), backends, build.memory, build.checkpoint,
                                     settings.placement));
    return std::optional(std::move(analyzed));
}

}  // namespace

Result<std::shared_ptr<const Program>> compile(AnalyzedGraph analyzed, const BackendList& backends,
                                               const CompileSettings& settings) {
    if (settings.observer != nullptr) {
        settings.observer->came(analyzed.graph);
    }
    if (settings.optimize) {
        Result<std::optional<AnalyzedGraph>> better =
                optimizeAndAnalyze(analyzed.graph, backends, settings);
        Status failure = better.status();
        if (failure.ok() && better->has_value()) {
            Result<std::shared_ptr<const Program>> program =
                    Program::build(std::move(**better), backends, settings.build);
            if (program.ok()) {
                return program;
            }
            failure = program.status();
        }
        if (!failure.ok()) {
            if (!asksForMore(failure) && !isContradiction(better.status())) {
                return failure;
            }
            log(LogLevel::INFO,
                "a graph is built without the optimiser's passes: " + failure.toString());
        }
    }
    return Program::build(std::move(analyzed), backends, settings.build);
}

Result<std::shared_ptr<const Program>> compile(Graph graph, const BackendList& backends,
                                               const CompileSettings& settings) {
    HALYARD_ASSIGN_OR_RETURN(AnalyzedGraph analyzed,
                             analyze(std::move(graph), backends, settings.build.memory,
                                     settings.build.checkpoint, settings.placement));
    HALYARD_RETURN_IF_ERROR(analyzed.placed());
    return compile(std::move(analyzed), backends, settings);
}

}  // namespace halyard::engine
