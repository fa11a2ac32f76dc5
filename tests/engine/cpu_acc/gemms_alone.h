// SPDX-License-Identifier: Apache-2.0
//
// A backend for tests of one form of product.

#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/backends/cpu/fusion.h"
#include "engine/backends/cpu/gemm/conv_gemm.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/plan/backend.h"
#include "engine/plan/node_by_node.h"

namespace halyard::engine::cpu_test {

// Has convolutions and fully connected layers of constant weights computed in one form, whether
// that is worthwhile or not.
class ProductsAlone final : public Backend {
  public:
    using Compile = std::function<Result<std::unique_ptr<const StepKernel>>(
            cpu::ConvGemmDefinition definition, const KernelArguments& arguments)>;

    ProductsAlone(cpu::InstructionSet set, Compile compile)
        : mTarget(cpu::CpuTarget::of(set, cpu::describeThisCpu())), mCompile(std::move(compile)) {}

    std::string_view name() const override { return "ProductsAlone"; }
    Status supports(const Graph& /*graph*/, NodeId /*node*/) const override { return {}; }
    Result<std::unique_ptr<CompiledPartition>> compile(
            const CompileArguments& arguments) const override {
        return compileNodeByNode(
                arguments, [this](const KernelArguments& own) { return compileNode(own); },
                cpu::findFusions(*arguments.graph, arguments.partition, arguments.options, mTarget,
                                 arguments.threads->threadCount())
                        .steps);
    }

  private:
    Result<std::unique_ptr<const StepKernel>> compileNode(const KernelArguments& own) const {
        cpu::ConvGemmNode node;
        if (const auto* conv = std::get_if<Conv2d>(&own.node.descriptor)) {
            node = {.window = &conv->window,
                    .groups = conv->groups,
                    .activation = conv->activation};
        } else {
            node.activation = std::get_if<FullyConnected>(&own.node.descriptor)->activation;
        }
        cpu::ConvGemmDefinition definition = cpu::convGemmDefinition(node, own, 1, mTarget.tuning);
        definition.epilogue = cpu::Epilogue::of(own, mTarget.set);
        own.packed.push_back(own.node.inputs[1]);
        own.packed.push_back(own.node.inputs[2]);
        return mCompile(std::move(definition), own);
    }

    const cpu::CpuTarget mTarget;
    const Compile mCompile;
};

}  // namespace halyard::engine::cpu_test
