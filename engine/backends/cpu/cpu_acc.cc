// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/cpu_acc.h"

#include <string>
#include <utility>
#include <variant>

#include "engine/backends/cpu/fusion.h"
#include "engine/backends/cpu/kernels/chosen_kernel.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/plan/node_by_node.h"

namespace halyard::engine {
namespace {

using cpu::InstructionSet;

// Counts up whenever a recipe's bytes change, or what a kernel reads there: a packing that was
// saved before is then none that it knows.
constexpr int kPackingVersion = 6;

class CpuAcc : public Backend {
  public:
    CpuAcc(cpu::CpuTarget target, std::string_view withheld)
        : mTarget(std::move(target)), mWithheld(withheld) {}

    std::string_view name() const override { return "CpuAcc"; }
    std::string_view withheld() const override { return mWithheld; }
    bool prefersFloat16WhereRelaxed() const override { return cpu::hasHalfArithmetic(mTarget.set); }
    std::string identity() const override {
        return "CpuAcc packing " + std::to_string(kPackingVersion) + " " +
               std::string(cpu::toString(mTarget.set)) + " on " + cpu::identityOf(mTarget.tuning);
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
        const cpu::Fusions fusions =
                cpu::findFusions(*arguments.graph, arguments.partition, arguments.options, mTarget,
                                 arguments.threads->threadCount());
        return compileNodeByNode(
                arguments,
                [&](const KernelArguments& own) -> Result<std::unique_ptr<const StepKernel>> {
                    const auto lost = fusions.lost.find(&own.node);
                    return cpu::withLostForms(compileNode(own, mTarget), lost == fusions.lost.end()
                                                                                 ? std::string()
                                                                                 : lost->second);
                },
                fusions.steps);
    }

  private:
    static Result<std::unique_ptr<const StepKernel>> compileNode(const KernelArguments& arguments,
                                                                 const cpu::CpuTarget& target) {
        const Node& node = arguments.node;
        switch (node.kind()) {
#define HALYARD_TUNED_KERNEL(Descriptor) \
    case NodeKind::Descriptor:           \
        return cpu::compile(*std::get_if<Descriptor>(&node.descriptor), arguments, target);
#include "engine/backends/cpu/kernels/kernels.inc"
#undef HALYARD_TUNED_KERNEL
            default:
                return internalError("there is no tuned kernel for " +
                                     std::string(toString(node.kind())));
        }
    }

    const cpu::CpuTarget mTarget;
    const std::string mWithheld;
};

}  // namespace

std::unique_ptr<const Backend> makeCpuAcc() {
    return makeCpuAcc(cpu::bestInstructionSet());
}

std::unique_ptr<const Backend> makeCpuAcc(InstructionSet set, std::string_view withheld) {
    return makeCpuAcc(cpu::CpuTarget::of(set, cpu::describeThisCpu()), withheld);
}

std::unique_ptr<const Backend> makeCpuAcc(cpu::CpuTarget target, std::string_view withheld) {
    return std::make_unique<CpuAcc>(std::move(target), withheld);
}

}  // namespace halyard::engine
