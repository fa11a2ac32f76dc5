// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/horizontal_fusion.h"

#include <string_view>
#include <utility>

#include "engine/backends/gpu/kernels/epilogue.h"
#include "engine/backends/gpu/kernels/multiply_accumulate.h"

namespace halyard::engine::gpu {

HorizontalFusionText textOf(StepPlan& step, std::span<const FusedBranch> fusedBranches) {
    HorizontalFusionText text;
    std::vector<std::variant<Operand, ByValue>> epilogueArguments;
    std::string parameters = "IN(px), const Geometry g";
    std::string epilogueParameters;
    std::string epilogue;
    // The first's are taken, unless it is another.
    std::string chosen =
            "ulong pw_at = pw0_at; ulong bias_at = bias0_at; ulong multipliers_at = "
            "multipliers0_at;"
            " ulong output_at = output0_at; SumNumbers numbers = numbers0; ";
    for (size_t i = 0; i < fusedBranches.size(); ++i) {
        const FusedBranch& fusedBranch = fusedBranches[i];
        const std::string number = std::to_string(i);
        const std::string isFusedBranch = "if (get_global_id(2) == " + number + ") { ";
        const MultiplyAccumulate sum =
                multiplyAccumulateOf(step, fusedBranch.activation, fusedBranch.first);
        chosen += isFusedBranch;
        const std::pair<std::string_view, Operand> operands[] = {
                {"pw", step.in(1, fusedBranch.first)},
                {"bias", step.in(2, fusedBranch.first)},
                {"multipliers", sum.multipliers},
                {"output", step.out(0, fusedBranch.end - 1)}};
        for (const auto& [name, operand] : operands) {
            parameters.append(", IN(").append(name).append(number).append(")");
            chosen.append(name).append("_at = ").append(name).append(number).append("_at; ");
            text.arguments.emplace_back(operand);
        }
        parameters += ", const SumNumbers numbers" + number;
        chosen += "numbers = numbers" + number + "; } ";
        text.arguments.emplace_back(byValue(sum.numbers));

        const std::string name = "EPILOGUE" + number;
        const Epilogue own = epilogueOf(
                step, {.first = fusedBranch.first + 1, .end = fusedBranch.end, .name = name});
        if (!own.defines.empty()) {
            text.defines += own.defines;
            epilogueParameters += " " + name + "_PARAMETERS";
            epilogue += isFusedBranch + name + "(v, at) } ";
            epilogueArguments.insert(epilogueArguments.end(), own.arguments.begin(),
                                     own.arguments.end());
        }
    }
    text.arguments.insert(text.arguments.end(), epilogueArguments.begin(), epilogueArguments.end());
    text.defines += define("GROUP", 0) + define("PARAMETERS", parameters) +
                    define("BIND_ALL", chosen + "BIND_IN(X, px); BIND_IN(W, pw);"
                                                " BIND_IN(BIAS, bias); BIND_IN(F32, multipliers);"
                                                " BIND_OUT(R, output)");
    if (!epilogue.empty()) {
        text.defines += define("EPILOGUE_PARAMETERS", epilogueParameters) +
                        define("EPILOGUE(v, at)", epilogue);
    }
    return text;
}

}  // namespace halyard::engine::gpu
