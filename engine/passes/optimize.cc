// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/optimize.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/verifier.h"
#include "engine/passes/fold_constants.h"
#include "engine/passes/fold_pads.h"
#include "engine/passes/fold_scales.h"
#include "engine/passes/fuse_activations.h"
#include "engine/passes/fuse_functions.h"
#include "engine/passes/fuse_layer_norms.h"
#include "engine/passes/move_dequantize.h"
#include "engine/passes/move_transposes.h"
#include "engine/passes/pass.h"
#include "engine/passes/reduce_to_bfloat16.h"
#include "engine/passes/reduce_to_float16.h"
#include "engine/passes/remove_dead_nodes.h"
#include "engine/passes/simplify_reshapes.h"

namespace halyard::engine {
namespace {

// Transposes move before those that are reshapes become such: a reshape moves nowhere. Scales are
// folded before activations are fused, because nothing folds behind an activation, and after what
// is spelled out in several nodes has become one, which they would take a part of. Precision is
// reduced after what is folded into weights, which are then rounded once.
constexpr std::array kPasses = {
        Pass{.name = "fold-constants", .run = foldConstants},
        Pass{.name = "move-dequantize", .run = moveDequantize},
        Pass{.name = "move-transposes", .run = moveTransposes},
        Pass{.name = "simplify-reshapes", .run = simplifyReshapes},
        Pass{.name = "fold-pads", .run = foldPads},
        Pass{.name = "fuse-layer-norms", .run = fuseLayerNorms, .changesRounding = true},
        Pass{.name = "fuse-functions", .run = fuseFunctions, .changesRounding = true},
        Pass{.name = "fold-scales", .run = foldScales, .changesRounding = true},
        Pass{.name = "fuse-activations", .run = fuseActivations},
        Pass{.name = "reduce-to-float16", .run = reduceToFloat16, .changesRounding = true},
        Pass{.name = "reduce-to-bfloat16", .run = reduceToBfloat16, .changesRounding = true},
        Pass{.name = "remove-dead-nodes", .run = removeDeadNodes},
};

// Each round leaves less for the next; a graph could be made that needs as many as it has nodes.
constexpr size_t kMostRounds = 4;

// Constants that are made by folding may take this many times the graph's own, and so many bytes.
constexpr size_t kGrowth = 4;
constexpr size_t kFreeGrowth = size_t{1} << 20;

// Bytes of constants by where they begin.
using ConstantExtents = std::map<const uint8_t*, size_t>;

// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
void addConstants(const Graph& graph, ConstantExtents& extents) {
    for (const Tensor& tensor : graph.tensors()) {
        if (tensor.isConstant()) {
            size_t& bytes = extents[tensor.constant.bytes.data()];
            bytes = std::max(bytes, tensor.constant.bytes.size());
        }
    }
    for (const Node& node : graph.nodes()) {
        for (const NestedGraph* nested : nestedGraphs(node)) {
            addConstants(*nested->graph, extents);
        }
    }
}

size_t allowanceOf(const Graph& graph) {
    ConstantExtents extents;
    addConstants(graph, extents);
    // Bytes that several share count once, also where they only overlap.
    size_t bytes = 0;
    const uint8_t* counted = nullptr;
    for (const auto& [begin, size] : extents) {
        const uint8_t* const end = begin + size;
        if (counted == nullptr || counted < end) {
            bytes += static_cast<size_t>(end - std::max(begin, counted));
            counted = end;
        }
    }
    return kGrowth * bytes + kFreeGrowth;
}

// A defect of a pass is no fault of the caller's, whatever rule of the verifier's it broke.
Status verifyAfter(const Pass& pass, Graph& graph, const PassContext& context) {
    const Status verified = verifyAndInfer(graph, context.memory, context.checkpoint);
    if (verified.code() == StatusCode::INVALID_ARGUMENT ||
        verified.code() == StatusCode::UNSUPPORTED) {
        return internalError("the graph after pass " + std::string(pass.name) + ": " +
                             std::string(verified.message()));
    }
    return verified;
}

}  // namespace

Result<bool> optimize(Graph& graph, const OptimizeOptions& options,
                      const std::shared_ptr<Budget>& memory, const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkElements(graph));
    const PassContext context = {.options = options,
                                 .memory = memory,
                                 .checkpoint = checkpoint,
                                 .allowance = allowanceOf(graph)};
    bool changed = false;
    // Rounds end as soon as all passes have found nothing to do, one after the other.
    size_t unchanged = 0;
    for (size_t turn = 0; turn < kMostRounds * kPasses.size() && unchanged < kPasses.size();
         ++turn) {
        const Pass& pass = kPasses[turn % kPasses.size()];
        ++unchanged;
        if (pass.changesRounding && options.keepRounding) {
            continue;
        }
        const Graph before = options.observer ? graph : Graph();
        Result<bool> done = runPass(pass, graph, context);
        HALYARD_RETURN_IF_ERROR(done.status());
        if (!*done) {
            continue;
        }
        changed = true;
        unchanged = 0;
        HALYARD_RETURN_IF_ERROR(verifyAfter(pass, graph, context));
        if (options.observer) {
            options.observer(pass.name, before, graph);
        }
    }
    return changed;
}

}  // namespace halyard::engine
