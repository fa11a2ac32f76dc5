// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/ref/cpu_ref.h"

#include <string>
#include <variant>

#include "engine/backends/ref/kernels.h"
#include "engine/plan/stepwise_piece.h"

namespace halyard::engine {

Kernel ref::findKernel(const Node& node) {
    switch (node.kind()) {
#define HALYARD_REFERENCE_KERNEL(Descriptor)                                              \
    case NodeKind::Descriptor:                                                            \
        return {.name = "ref::" #Descriptor, .run = [](const Node& n, KernelCall& call) { \
                    return ref::run(*std::get_if<Descriptor>(&n.descriptor), call);       \
                }};
#include "engine/backends/ref/kernels.inc"
#undef HALYARD_REFERENCE_KERNEL
        default:
            return {};
    }
}

namespace {

class CpuRef : public Backend {
  public:
    std::string_view name() const override { return "CpuRef"; }

    // What is legal has been inferred by now, and there is a kernel for all of that.
    Status supports(const Graph& graph, NodeId id) const override {
        const Node& node = graph.node(id);
        if (ref::findKernel(node).run == nullptr) {
            return unsupported("has no kernel for " + std::string(toString(node.kind())) + " yet");
        }
        return {};
    }

    Result<std::unique_ptr<const CompiledPiece>> compile(
            const CompileArguments& arguments) const override {
        return compileStepwise(arguments, ref::findKernel);
    }
};

}  // namespace

std::unique_ptr<const Backend> makeCpuRef() {
    return std::make_unique<CpuRef>();
}

}  // namespace halyard::engine
