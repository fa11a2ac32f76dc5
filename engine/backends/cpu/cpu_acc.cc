// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/cpu_acc.h"

#include <string>
#include <variant>

#include "engine/backends/cpu/fusion.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/plan/node_by_node.h"

namespace halyard::engine {
namespace {

using cpu::InstructionSet;

// Counts up whenever a recipe's bytes change, or what a kernel reads there: a packing that was
// saved before is then none that it knows.
constexpr int kPackingVersion = 3;

class CpuAcc : public Backend {
  public:
    CpuAcc(InstructionSet set, std::string_view withheld) : mSet(set), mWithheld(withheld) {}

    std::string_view name() const override { return "CpuAcc"; }
    std::string_view withheld() const override { return mWithheld; }
    std::string identity() const override {
        return "CpuAcc packing " + std::to_string(kPackingVersion) + " " +
               std::string(cpu::toString(mSet));
    }

    Status supports(const Graph& graph, NodeId id) const override {
        const Node& node = graph.node(id);
        switch (node.kind()) {
#define HALYARD_TUNED_KERNEL(Descriptor) \
    case NodeKind::Descriptor:           \
        return cpu::supports(*std::get_if<Descriptor>(&node.descriptor), graph, node);
#include "engine/backends/cpu/kernels/kernels.inc"
#undef HALYARD_TUNED_KERNEL
            default:
                return unsupported("has no tuned kernel for " + std::string(toString(node.kind())));
        }
    }

    Result<std::unique_ptr<CompiledPartition>> compile(
            const CompileArguments& arguments) const override {
        return compileNodeByNode(
                arguments,
                [set = mSet](const KernelArguments& own) { return compileNode(own, set); },
                cpu::findFusions(*arguments.graph, arguments.partition, arguments.options, mSet,
                                 arguments.threads->threadCount()));
    }

  private:
    static Result<std::unique_ptr<const StepKernel>> compileNode(const KernelArguments& arguments,
                                                                 InstructionSet set) {
        const Node& node = arguments.node;
        switch (node.kind()) {
#define HALYARD_TUNED_KERNEL(Descriptor) \
    case NodeKind::Descriptor:           \
        return cpu::compile(*std::get_if<Descriptor>(&node.descriptor), arguments, set);
#include "engine/backends/cpu/kernels/kernels.inc"
#undef HALYARD_TUNED_KERNEL
            default:
                return internalError("there is no tuned kernel for " +
                                     std::string(toString(node.kind())));
        }
    }

    const InstructionSet mSet;
    const std::string mWithheld;
};

}  // namespace

std::unique_ptr<const Backend> makeCpuAcc() {
    return makeCpuAcc(cpu::bestInstructionSet());
}

std::unique_ptr<const Backend> makeCpuAcc(InstructionSet set, std::string_view withheld) {
    return std::make_unique<CpuAcc>(set, withheld);
}

}  // namespace halyard::engine
