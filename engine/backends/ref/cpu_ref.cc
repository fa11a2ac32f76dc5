// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/ref/cpu_ref.h"

#include <string>

#include "engine/plan/node_by_node.h"
#include "engine/reference/kernels.h"

namespace halyard::engine {

namespace {

class CpuRef : public Backend {
  public:
    std::string_view name() const override { return "CpuRef"; }

    // Shape inference has found the node legal by now, and there is a kernel for every legal node.
    Status supports(const Graph& graph, NodeId id) const override {
        const Node& node = graph.node(id);
        if (ref::findKernel(node).run == nullptr) {
            return unsupported("has no kernel for " + std::string(toString(node.kind())) + " yet");
        }
        return {};
    }

    Result<std::unique_ptr<CompiledPartition>> compile(
            const CompileArguments& arguments) const override {
        return compileNodeByNode(arguments, ref::findKernel);
    }
};

}  // namespace

std::unique_ptr<const Backend> makeCpuRef() {
    return std::make_unique<CpuRef>();
}

}  // namespace halyard::engine
