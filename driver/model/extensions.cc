// SPDX-License-Identifier: Apache-2.0

#include "driver/model/extensions.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace halyard::driver {
namespace {

constexpr std::string_view kActivation = "com.halyard.activation";
// In the order of their numbers.
constexpr std::array<std::string_view, 2> kActivationOperations = {"SILU", "GELU"};
static_assert(static_cast<int32_t>(kGelu) - static_cast<int32_t>(kSilu) ==
              kActivationOperations.size() - 1);

struct OwnType {
    OperandType code;
    std::string_view name;
    OperandTypeInfo info;
};

constexpr std::array<OwnType, 1> kActivationTypes = {
        {{kGeluApproximation, "GELU_APPROXIMATION", {HalVersion::V1_2, OperandKind::SCALAR, 4}}}};

constexpr uint32_t kNumberMask = 0xFFFF;

template <typename Code>
uint32_t numberOf(Code code) {
    return static_cast<uint32_t>(code) & kNumberMask;
}

// The name that the model gives a prefix; empty: none.
std::string_view nameOfPrefix(const Model& model, uint16_t prefix) {
    const auto found =
            std::ranges::find(model.extensionNameToPrefix, prefix, &ExtensionNameAndPrefix::prefix);
    return found == model.extensionNameToPrefix.end() ? std::string_view() : found->name;
}

const OwnType* findOwnType(OperandType code) {
    const auto* const found = std::ranges::find(kActivationTypes, code, &OwnType::code);
    return found == kActivationTypes.end() ? nullptr : found;
}

// "com.halyard.activation.GELU" or "operation 7 of com.example.vendor".
std::string qualified(std::string_view extension, std::string_view name, std::string_view kind,
                      uint32_t number) {
    return name.empty() ? std::string(kind) + " " + std::to_string(number) + " of " +
                                  std::string(extension)
                        : std::string(extension) + "." + std::string(name);
}

// The name of the extension that a code is of; empty: of none that the model declares.
template <typename Code>
std::string_view extensionOf(const Model& model, Code code) {
    const std::optional<uint16_t> prefix = extensionPrefix(code);
    return prefix.has_value() ? nameOfPrefix(model, *prefix) : std::string_view();
}

}  // namespace

const std::vector<Extension>& knownExtensions() {
    // Never destroyed: threads that serve calls may outlive main().
    static const auto* const all = [] {
        Extension activation{.name = std::string(kActivation), .operandTypes = {}};
        for (const OwnType& type : kActivationTypes) {
            activation.operandTypes.push_back(
                    {.type = static_cast<uint16_t>(numberOf(type.code) -
                                                   numberOf(kActivationTypes.front().code)),
                     .isTensor = type.info.isTensor(),
                     .byteSize = static_cast<uint32_t>(type.info.elementSize)});
        }
        return new std::vector<Extension>{std::move(activation)};
    }();
    return *all;
}

const std::vector<std::string_view>* operationsOf(std::string_view extension) {
    static const auto* const activation = new std::vector<std::string_view>(
            kActivationOperations.begin(), kActivationOperations.end());
    return extension == kActivation ? activation : nullptr;
}

std::optional<OperationType> tabled(const Model& model, OperationType type) {
    const std::optional<uint16_t> prefix = extensionPrefix(type);
    if (!prefix.has_value()) {
        return introducedIn(type).has_value() ? std::optional(type) : std::nullopt;
    }
    if (nameOfPrefix(model, *prefix) != kActivation ||
        numberOf(type) >= kActivationOperations.size()) {
        return std::nullopt;
    }
    return static_cast<OperationType>(static_cast<uint32_t>(kSilu) + numberOf(type));
}

std::optional<OperandType> tabled(const Model& model, OperandType type) {
    const std::optional<uint16_t> prefix = extensionPrefix(type);
    if (!prefix.has_value()) {
        return findOperandType(type) != nullptr ? std::optional(type) : std::nullopt;
    }
    if (nameOfPrefix(model, *prefix) != kActivation || numberOf(type) >= kActivationTypes.size()) {
        return std::nullopt;
    }
    return kActivationTypes[numberOf(type)].code;
}

const OperandTypeInfo* findOperandType(const Model& model, OperandType type) {
    const std::optional<OperandType> code = tabled(model, type);
    if (!code.has_value()) {
        return nullptr;
    }
    const OwnType* const own = findOwnType(*code);
    return own != nullptr ? &own->info : findOperandType(*code);
}

std::string describe(const Model& model, OperationType type) {
    const std::string_view extension = extensionOf(model, type);
    if (extension.empty()) {
        return describe(type);
    }
    const bool isOwn = tabled(model, type).has_value();
    return qualified(extension, isOwn ? kActivationOperations[numberOf(type)] : "", "operation",
                     numberOf(type));
}

std::string describe(const Model& model, OperandType type) {
    const std::string_view extension = extensionOf(model, type);
    if (extension.empty()) {
        return describe(type);
    }
    const bool isOwn = tabled(model, type).has_value();
    return qualified(extension, isOwn ? kActivationTypes[numberOf(type)].name : "", "operand type",
                     numberOf(type));
}

std::string describeTabled(OperandType type) {
    const OwnType* const own = findOwnType(type);
    return own == nullptr ? describe(type) : qualified(kActivation, own->name, "", 0);
}

std::string labelOf(const Model& model, const Operation& operation, size_t index) {
    return "operation " + std::to_string(index) + " (" + describe(model, operation.type) + ")";
}

}  // namespace halyard::driver
