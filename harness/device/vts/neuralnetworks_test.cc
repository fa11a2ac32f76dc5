// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/neuralnetworks_test.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "driver/model/error_status.h"
#include "harness/device/vts/fixture/context.h"

namespace halyard::vts {
namespace {

using driver::Capabilities;
using driver::ErrorStatus;
using driver::HalVersion;
using driver::OperandType;
using driver::PerformanceInfo;

// As the contract has it (Constant::MAX_NUMBER_OF_CACHE_FILES).
constexpr uint32_t kMostCacheFiles = 32;

Verdict expectAnswer(const Status& status, Context& context, std::string_view call) {
    return expectStatus(status, context.version(), {ErrorStatus::NONE}, call);
}

// The name of the check in VTS: that the service can be had at all.
Verdict createDevice(Context& context) {
    return expectAnswer(context.device().ping(), context, "ping");
}

Verdict statusTest(Context& context) {
    const Result<driver::DeviceStatus> status = context.device().status();
    if (!status.ok()) {
        return expectAnswer(status.status(), context, "getStatus");
    }
    return *status == driver::DeviceStatus::AVAILABLE
                   ? passed()
                   : failed("getStatus gives " + std::to_string(static_cast<int32_t>(*status)) +
                            ", not AVAILABLE");
}

Verdict checkPositive(const PerformanceInfo& info, const std::string& what) {
    if (info.execTime > 0.0F && info.powerUsage > 0.0F) {
        return passed();
    }
    return failed("the performance of " + what + " is not positive: execTime " +
                  std::to_string(info.execTime) + ", powerUsage " +
                  std::to_string(info.powerUsage));
}

Verdict getCapabilitiesTest(Context& context) {
    const Result<Capabilities> told = context.device().capabilities();
    if (!told.ok()) {
        return expectAnswer(told.status(), context, "getCapabilities");
    }
    const HalVersion version = context.version();
    if (version >= HalVersion::V1_1) {
        const Verdict relaxed = checkPositive(told->relaxedFloat32toFloat16PerformanceTensor,
                                              "relaxed float32 tensors");
        if (!relaxed.hasPassed()) {
            return relaxed;
        }
    }
    if (version >= HalVersion::V1_2) {
        const Verdict relaxed = checkPositive(told->relaxedFloat32toFloat16PerformanceScalar,
                                              "relaxed float32 scalars");
        if (!relaxed.hasPassed()) {
            return relaxed;
        }
    }
    if (version >= HalVersion::V1_3) {
        for (const auto& [info, what] :
             {std::pair(told->ifPerformance, "IF"), std::pair(told->whilePerformance, "WHILE")}) {
            if (const Verdict verdict = checkPositive(info, what); !verdict.hasPassed()) {
                return verdict;
            }
        }
    }
    const auto& operands = told->operandPerformance;
    for (size_t i = 0; i < operands.size(); ++i) {
        const std::string type = describe(operands[i].type);
        if (const Verdict verdict = checkPositive(operands[i].info, type); !verdict.hasPassed()) {
            return verdict;
        }
        if (i != 0 && operands[i - 1].type >= operands[i].type) {
            return failed("operandPerformance is not sorted by type: " + type + " comes behind " +
                          describe(operands[i - 1].type));
        }
        if (operands[i].type == OperandType::SUBGRAPH) {
            return failed("operandPerformance lists SUBGRAPH");
        }
    }
    return passed();
}

// opnd0 = TENSOR_FLOAT32            // model input
// opnd1 = TENSOR_FLOAT32            // model input
// opnd2 = INT32                     // model input
// opnd3 = ADD(opnd0, opnd4, opnd2)
// opnd4 = ADD(opnd1, opnd3, opnd2)
// opnd5 = ADD(opnd4, opnd0, opnd2)  // model output
driver::Model cyclicModel() {
    using driver::OperandLifeTime;
    driver::Model model;
    const auto add = [&model](OperandType type, OperandLifeTime lifetime, uint32_t consumers) {
        driver::Operand& operand = model.main.operands.emplace_back();
        operand.type = type;
        operand.lifetime = lifetime;
        operand.numberOfConsumers = consumers;
        if (type == OperandType::TENSOR_FLOAT32) {
            operand.dimensions = {1};
        }
    };
    add(OperandType::TENSOR_FLOAT32, OperandLifeTime::SUBGRAPH_INPUT, 2);
    add(OperandType::TENSOR_FLOAT32, OperandLifeTime::SUBGRAPH_INPUT, 1);
    add(OperandType::INT32, OperandLifeTime::SUBGRAPH_INPUT, 3);
    add(OperandType::TENSOR_FLOAT32, OperandLifeTime::TEMPORARY_VARIABLE, 1);
    add(OperandType::TENSOR_FLOAT32, OperandLifeTime::TEMPORARY_VARIABLE, 2);
    add(OperandType::TENSOR_FLOAT32, OperandLifeTime::SUBGRAPH_OUTPUT, 0);
    using driver::OperationType;
    model.main.operations = {
            {.type = OperationType::ADD, .inputs = {0, 4, 2}, .outputs = {3}},
            {.type = OperationType::ADD, .inputs = {1, 3, 2}, .outputs = {4}},
            {.type = OperationType::ADD, .inputs = {4, 0, 2}, .outputs = {5}},
    };
    model.main.inputIndexes = {0, 1, 2};
    model.main.outputIndexes = {5};
    return model;
}

Verdict cycleTest(Context& context) {
    const driver::Model model = cyclicModel();
    const Verdict supported = expectStatus(context.device().supportedOperations(model).status(),
                                           context.version(), {ErrorStatus::INVALID_ARGUMENT},
                                           "getSupportedOperations of a model with a cycle");
    if (!supported.hasPassed()) {
        return supported;
    }
    return byAllMethods(context, [&](Methods methods) {
        return expectStatus(context.device(methods).prepare(model, {}).status(), context.version(),
                            {ErrorStatus::INVALID_ARGUMENT},
                            "prepareModel of a model with a cycle");
    });
}

Verdict getDeviceVersionStringTest(Context& context) {
    const Result<std::string> text = context.device().versionString();
    if (!text.ok()) {
        return expectAnswer(text.status(), context, "getVersionString");
    }
    return text->empty() ? failed("getVersionString gives an empty string") : passed();
}

Verdict getDeviceTypeTest(Context& context) {
    const Result<driver::DeviceType> type = context.device().type();
    if (!type.ok()) {
        return expectAnswer(type.status(), context, "getType");
    }
    switch (*type) {
        case driver::DeviceType::OTHER:
        case driver::DeviceType::CPU:
        case driver::DeviceType::GPU:
        case driver::DeviceType::ACCELERATOR:
            return passed();
        default:
            return failed("getType gives " + std::to_string(static_cast<int32_t>(*type)) +
                          ", not OTHER, CPU, GPU or ACCELERATOR");
    }
}

Verdict getDeviceNameTest(Context& context) {
    const std::string& name = context.serviceName();
    if (name.empty()) {
        return skipped("the device runs in-process, and no service has a name");
    }
    const size_t at = name.find('-');
    if (at == std::string::npos || name.find('-', at + 1) != std::string::npos || at == 0 ||
        at + 1 == name.size()) {
        return failed("the service is called " + name +
                      ", not vendor-device with exactly one '-' between the two");
    }
    return passed();
}

Verdict getDeviceSupportedExtensionsTest(Context& context) {
    const Result<std::vector<driver::Extension>> extensions = context.device().extensions();
    if (!extensions.ok()) {
        return expectAnswer(extensions.status(), context, "getSupportedExtensions");
    }
    for (const driver::Extension& extension : *extensions) {
        const bool known = std::ranges::all_of(extension.name, [](char c) {
            return c == '.' || c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        });
        if (!known || extension.name.find('.') == std::string::npos) {
            return failed("an extension is called \"" + extension.name +
                          "\", which has no vendor, or other characters than a-z, 0-9, _ and .");
        }
    }
    return passed();
}

Verdict getNumberOfCacheFilesNeeded(Context& context) {
    const Result<driver::NumberOfCacheFiles> files = context.device().numberOfCacheFiles();
    if (!files.ok()) {
        return expectAnswer(files.status(), context, "getNumberOfCacheFilesNeeded");
    }
    return files->model <= kMostCacheFiles && files->data <= kMostCacheFiles
                   ? passed()
                   : failed("getNumberOfCacheFilesNeeded wants " + std::to_string(files->model) +
                            " and " + std::to_string(files->data) + " files, more than " +
                            std::to_string(kMostCacheFiles));
}

}  // namespace

Checks neuralnetworksTest() {
    struct Row {
        std::string_view name;
        Verdict (*run)(Context&);
        HalVersion since = HalVersion::V1_0;
        bool isOfAidl = true;
    };
    static constexpr Row kRows[] = {
            {"CreateDevice", createDevice},
            {"StatusTest", statusTest, HalVersion::V1_0, false},
            {"GetCapabilitiesTest", getCapabilitiesTest},
            {"CycleTest", cycleTest},
            {"GetDeviceVersionStringTest", getDeviceVersionStringTest, HalVersion::V1_2},
            {"GetDeviceTypeTest", getDeviceTypeTest, HalVersion::V1_2},
            {"GetDeviceNameTest", getDeviceNameTest, HalVersion::V1_2},
            {"GetDeviceSupportedExtensionsTest", getDeviceSupportedExtensionsTest,
             HalVersion::V1_2},
            {"getNumberOfCacheFilesNeeded", getNumberOfCacheFilesNeeded, HalVersion::V1_2},
    };
    Checks checks;
    for (const Row& row : kRows) {
        Check check = {.suite = "NeuralnetworksHidlTest",
                       .name = row.name,
                       .variant = {},
                       .scope = Scope::DEVICE,
                       .since = row.since,
                       .until = HalVersion::V1_3,
                       .run = row.run};
        checks.push_back(check);
        if (row.isOfAidl) {
            check.suite = "NeuralNetworksAidlTest";
            check.since = HalVersion::AIDL_V1;
            check.until = driver::kNewestVersion;
            checks.push_back(check);
        }
    }
    return checks;
}

}  // namespace halyard::vts
