// SPDX-License-Identifier: Apache-2.0

#include "driver/options/capabilities_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <set>

#include "driver/options/text_lines.h"

namespace halyard::driver {
namespace {

constexpr PerformanceInfo kDefault = {.execTime = 0.5F, .powerUsage = 0.5F};
constexpr size_t kMostFileBytes = size_t{1} << 16;

// Null: there is no such name.
PerformanceInfo* named(Capabilities& capabilities, std::string_view name) {
    if (name == "RELAXED_SCALAR") {
        return &capabilities.relaxedFloat32toFloat16PerformanceScalar;
    }
    if (name == "RELAXED_TENSOR") {
        return &capabilities.relaxedFloat32toFloat16PerformanceTensor;
    }
    if (name == "IF") {
        return &capabilities.ifPerformance;
    }
    if (name == "WHILE") {
        return &capabilities.whilePerformance;
    }
    const auto found = std::ranges::find_if(
            capabilities.operandPerformance,
            [name](const OperandPerformance& entry) { return nameOf(entry.type) == name; });
    return found == capabilities.operandPerformance.end() ? nullptr : &found->info;
}

Result<float> parseRatio(std::string_view word) {
    const std::string text(word);
    char* end = nullptr;
    const float ratio = std::strtof(text.c_str(), &end);
    if (end != text.c_str() + text.size() || !std::isfinite(ratio) || ratio <= 0.0F) {
        return invalidArgument("\"" + text + "\" is not a finite number above 0");
    }
    return ratio;
}

Status take(const TextLine& line, std::set<std::string_view>& seen, Capabilities& capabilities) {
    if (line.words.size() != 3) {
        return invalidArgument("a line is a name, an execution time and a power usage, not " +
                               std::to_string(line.words.size()) +
                               (line.words.size() == 1 ? " word" : " words"));
    }
    PerformanceInfo* const info = named(capabilities, line.words[0]);
    if (info == nullptr) {
        return invalidArgument("\"" + std::string(line.words[0]) +
                               "\" is no operand type with a performance, nor RELAXED_SCALAR, "
                               "RELAXED_TENSOR, IF or WHILE");
    }
    if (!seen.insert(line.words[0]).second) {
        return invalidArgument(std::string(line.words[0]) + " has a performance already");
    }
    HALYARD_ASSIGN_OR_RETURN(info->execTime, parseRatio(line.words[1]));
    HALYARD_ASSIGN_OR_RETURN(info->powerUsage, parseRatio(line.words[2]));
    return {};
}

}  // namespace

Capabilities defaultCapabilities() {
    constexpr std::array kTypes = {
            OperandType::FLOAT32,
            OperandType::INT32,
            OperandType::UINT32,
            OperandType::TENSOR_FLOAT32,
            OperandType::TENSOR_INT32,
            OperandType::TENSOR_QUANT8_ASYMM,
            OperandType::BOOL,
            OperandType::TENSOR_QUANT16_SYMM,
            OperandType::TENSOR_FLOAT16,
            OperandType::TENSOR_BOOL8,
            OperandType::FLOAT16,
            OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL,
            OperandType::TENSOR_QUANT16_ASYMM,
            OperandType::TENSOR_QUANT8_SYMM,
            OperandType::TENSOR_QUANT8_ASYMM_SIGNED,
    };
    static_assert(std::ranges::is_sorted(kTypes));
    Capabilities capabilities = {.relaxedFloat32toFloat16PerformanceScalar = kDefault,
                                 .relaxedFloat32toFloat16PerformanceTensor = kDefault,
                                 .operandPerformance = {},
                                 .ifPerformance = kDefault,
                                 .whilePerformance = kDefault};
    for (const OperandType type : kTypes) {
        capabilities.operandPerformance.push_back({.type = type, .info = kDefault});
    }
    return capabilities;
}

Result<Capabilities> parseCapabilities(std::string_view text) {
    Capabilities capabilities = defaultCapabilities();
    std::set<std::string_view> seen;
    for (const TextLine& line : linesOf(text)) {
        HALYARD_RETURN_IF_ERROR(take(line, seen, capabilities).withContext(line.name()));
    }
    return capabilities;
}

Result<Capabilities> readCapabilities(const std::string& path) {
    HALYARD_ASSIGN_OR_RETURN(const std::string text, readTextFile(path, kMostFileBytes));
    Result<Capabilities> capabilities = parseCapabilities(text);
    return capabilities.ok() ? capabilities : capabilities.status().withContext(path);
}

}  // namespace halyard::driver
