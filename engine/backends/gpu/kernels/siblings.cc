// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/siblings.h"

#include <string_view>
#include <utility>

#include "engine/backends/gpu/kernels/stages.h"
#include "engine/backends/gpu/kernels/weighted_sum.h"

namespace halyard::engine::gpu {

SiblingText textOf(StepPlan& step, std::span<const Sibling> siblings) {
    SiblingText text;
    std::vector<std::variant<Operand, ByValue>> stageArguments;
    std::string parameters = "IN(px), const Geometry g";
    std::string stageParameters;
    std::string stages;
    // The first's are taken, unless it is another.
    std::string chosen =
            "ulong pw_at = pw0_at; ulong bias_at = bias0_at; ulong multipliers_at = "
            "multipliers0_at;"
            " ulong output_at = output0_at; SumNumbers numbers = numbers0; ";
    for (size_t i = 0; i < siblings.size(); ++i) {
        const Sibling& sibling = siblings[i];
        const std::string number = std::to_string(i);
        const std::string isSibling = "if (get_global_id(2) == " + number + ") { ";
        const WeightedSum sum = weightedSumOf(step, sibling.activation, sibling.first);
        chosen += isSibling;
        const std::pair<std::string_view, Operand> operands[] = {
                {"pw", step.in(1, sibling.first)},
                {"bias", step.in(2, sibling.first)},
                {"multipliers", sum.multipliers},
                {"output", step.out(0, sibling.end - 1)}};
        for (const auto& [name, operand] : operands) {
            parameters.append(", IN(").append(name).append(number).append(")");
            chosen.append(name).append("_at = ").append(name).append(number).append("_at; ");
            text.arguments.emplace_back(operand);
        }
        parameters += ", const SumNumbers numbers" + number;
        chosen += "numbers = numbers" + number + "; } ";
        text.arguments.emplace_back(byValue(sum.numbers));

        const std::string name = "STAGES" + number;
        const Stages own =
                stagesOf(step, {.first = sibling.first + 1, .end = sibling.end, .name = name});
        if (!own.defines.empty()) {
            text.defines += own.defines;
            stageParameters += " " + name + "_PARAMETERS";
            stages += isSibling + name + "(v, at) } ";
            stageArguments.insert(stageArguments.end(), own.arguments.begin(), own.arguments.end());
        }
    }
    text.arguments.insert(text.arguments.end(), stageArguments.begin(), stageArguments.end());
    text.defines += define("GROUP", 0) + define("PARAMETERS", parameters) +
                    define("BIND_ALL", chosen + "BIND_IN(X, px); BIND_IN(W, pw);"
                                                " BIND_IN(BIAS, bias); BIND_IN(F32, multipliers);"
                                                " BIND_OUT(R, output)");
    if (!stages.empty()) {
        text.defines +=
                define("STAGES_PARAMETERS", stageParameters) + define("STAGES(v, at)", stages);
    }
    return text;
}

}  // namespace halyard::engine::gpu
