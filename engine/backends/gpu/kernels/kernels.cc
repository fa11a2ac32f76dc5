// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/kernels.h"

#include <string>
#include <variant>

#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {
namespace {

// Whether all that tells its output shapes is there before it runs.
Status isForeseen(const Graph& graph, const Node& node) {
    const NodeSignature signature = signatureOf(node.descriptor);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != kNoTensor && signature.isControlInput(i) && !readsOnDevice(node, i) &&
            !graph.tensor(node.inputs[i]).isConstant()) {
            return unsupported("reads no " + std::string(signature.input(i)->name) +
                               " that only a run tells");
        }
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        const OutputSpec* const spec = signature.output(i);
        // Of an Lstm's scratch the model may tell the shape.
        if (spec != nullptr && (spec->traits & kFoundByRunning) != 0 &&
            node.kind() != NodeKind::Lstm) {
            return unsupported("has no outputs whose shapes only a run tells");
        }
    }
    return {};
}

}  // namespace

Status supportsNode(const Graph& graph, const Node& node, const DeviceFacts& facts) {
    switch (node.kind()) {
#define HALYARD_GPU_KERNEL(Descriptor)                    \
    case NodeKind::Descriptor:                            \
        HALYARD_RETURN_IF_ERROR(isForeseen(graph, node)); \
        return supports(*std::get_if<Descriptor>(&node.descriptor), graph, node, facts);
#include "engine/backends/gpu/kernels/kernels.inc"
#undef HALYARD_GPU_KERNEL
        default:
            return unsupported("has no kernel for " + std::string(toString(node.kind())));
    }
}

Status planStep(StepPlan& step) {
    const Node& node = step.node(step.leader());
    const size_t last = step.nodeCount() - 1;
    bool isEmpty = true;
    for (size_t i = 0; i < step.outputCount(last); ++i) {
        isEmpty = isEmpty && countOf(step.output(i, last).shape) == 0;
    }
    // Where there is nothing to write there may still be something to check.
    if (isEmpty && !checksOnDevice(node)) {
        return {};
    }
    switch (node.kind()) {
#define HALYARD_GPU_KERNEL(Descriptor) \
    case NodeKind::Descriptor:         \
        return plan(*std::get_if<Descriptor>(&node.descriptor), step);
#include "engine/backends/gpu/kernels/kernels.inc"
#undef HALYARD_GPU_KERNEL
        default:
            return internalError("there is no kernel for " + std::string(toString(node.kind())));
    }
}

bool checksOnDevice(const Node& node) {
    switch (node.kind()) {
        case NodeKind::BoxTransform:
        case NodeKind::Gather:
        case NodeKind::HashtableLookup:
        case NodeKind::HeatmapMaxKeypoint:
        case NodeKind::RoiAlign:
        case NodeKind::RoiPool:
        case NodeKind::TopK:
            return true;
        default:
            return false;
    }
}

bool readsOnDevice(const Node& node, size_t input) {
    return checksOnDevice(node) && signatureOf(node.descriptor).isControlInput(input);
}

bool readsOnHost(const Node& node, size_t input) {
    return node.kind() == NodeKind::Pad && input == 2;
}

}  // namespace halyard::engine::gpu
