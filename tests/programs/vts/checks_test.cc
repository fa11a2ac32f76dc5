// SPDX-License-Identifier: Apache-2.0
//
// That each check passes on a device that keeps the contract, and fails on one that breaks it.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "driver/device/local_device.h"
#include "engine/base/log.h"
#include "harness/device/vts/fixture/context.h"
#include "harness/device/vts/registry.h"
#include "tests/programs/vts/sample_cases.h"
#include "tests/programs/vts/wrong_device.h"

namespace halyard::vts::testing {
namespace {

using driver::ExecuteOptions;
using driver::ExecutionResult;
using driver::HalVersion;
using driver::Model;
using driver::PrepareOptions;
using driver::Request;
using Outcome = Verdict::Outcome;

constexpr auto kMillisecond = std::chrono::milliseconds(1);

struct Breach {
    const char* name;
    std::string check;  // its id
    HalVersion version;
    pb::TestCase (*testCase)();
    std::function<void(Wrongs&)> wrong;
    std::string reason;  // a part of what the check says
    std::string service = "vendor-device";
};

pb::TestCase noCase() {
    return {};
}

const driver::Operand& onlyInput(const Model& model) {
    return model.main.operands[model.main.inputIndexes[0]];
}

void tellsTiming(Wrongs& wrongs) {
    wrongs.executed = [](const Request&, const ExecuteOptions&, ExecutionResult& result) {
        result.timing.timeOnDevice = kMillisecond;
    };
}
void isFasterThanItsDevice(Wrongs& wrongs) {
    wrongs.executed = [](const Request&, const ExecuteOptions&, ExecutionResult& result) {
        result.timing = {.timeOnDevice = 2 * kMillisecond, .timeInDriver = kMillisecond};
    };
}
void failsToExecute(Wrongs& wrongs) {
    wrongs.executed = [](const Request&, const ExecuteOptions&, ExecutionResult& result) {
        result.status = internalError("it does not feel like it");
    };
}
void tellsShapesTwice(Wrongs& wrongs) {
    wrongs.executed = [](const Request&, const ExecuteOptions&, ExecutionResult& result) {
        result.outputShapes.resize(2 * result.outputShapes.size());
    };
}
void tellsNoShapes(Wrongs& wrongs) {
    wrongs.executed = [](const Request&, const ExecuteOptions&, ExecutionResult& result) {
        result.outputShapes.clear();
    };
}
void tellsWrongShapes(Wrongs& wrongs) {
    wrongs.executed = [](const Request&, const ExecuteOptions&, ExecutionResult& result) {
        result.outputShapes.at(0).dimensions = {3};
    };
}
void callsAllSufficient(Wrongs& wrongs) {
    wrongs.executed = [](const Request&, const ExecuteOptions&, ExecutionResult& result) {
        result.outputShapes.at(0).isSufficient = true;
    };
}
void tellsTimingWhereMeasured(Wrongs& wrongs) {
    wrongs.executed = [](const Request&, const ExecuteOptions& options, ExecutionResult& result) {
        if (options.measureTiming) {
            result.timing = {.timeOnDevice = 2 * kMillisecond, .timeInDriver = kMillisecond};
        }
    };
}
void acceptsWhereMeasured(Wrongs& wrongs) {
    wrongs.executed = [](const Request&, const ExecuteOptions& options, ExecutionResult& result) {
        if (options.measureTiming) {
            result.status = {};
        }
    };
}
// Also where the device may only read it.
void writesToItsInput(Wrongs& wrongs) {
    wrongs.executed = [](const Request& request, const ExecuteOptions&, ExecutionResult&) {
        const driver::DataLocation& place = request.inputs.at(0).location;
        const auto& pool = std::get<driver::SharedMemory>(request.pools[place.poolIndex]);
        ++pool->map()->subspan(place.offset)[0];
    };
}
// As one that maps whatever it is given for reading and writing.
void needsToWrite(Wrongs& wrongs) {
    wrongs.executed = [](const Request& request, const ExecuteOptions&, ExecutionResult& result) {
        const auto& pool = std::get<driver::SharedMemory>(
                request.pools[request.inputs.at(0).location.poolIndex]);
        if (const auto used = pool->useWhole(nullptr); !used.ok() || !used->writable()) {
            result.status = invalidArgument("this can't be written to");
        }
    };
}
void takesPaddingForRoom(Wrongs& wrongs) {
    wrongs.executed = [](const Request& request, const ExecuteOptions&, ExecutionResult& result) {
        if (request.outputs.at(0).location.padding >= 1) {
            result.status = {};
        }
    };
}
// By its roles: a buffer of no other size than the model says can't be wrong.
void refusesToAllocate(Wrongs& wrongs, bool onlyOutputs) {
    wrongs.allocated = [onlyOutputs](const driver::BufferDescription& asked, auto& given) {
        if (asked.dimensions.empty() && (!onlyOutputs || !asked.outputs.empty())) {
            given = invalidArgument("how large?");
        }
    };
}
bool hasSignedOperand(const driver::Subgraph& graph) {
    return std::ranges::any_of(graph.operands, [](const driver::Operand& operand) {
        return operand.type == driver::OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
    });
}
void acceptsEverything(Wrongs& wrongs) {
    wrongs.executed = [](const Request&, const ExecuteOptions&, ExecutionResult& result) {
        result.status = {};
    };
}
void acceptsBadModels(Wrongs& wrongs) {
    wrongs.supported = [](const Model& model, Result<std::vector<bool>>& supported) {
        supported = std::vector<bool>(model.main.operations.size());
    };
}
void preparesBadModels(Wrongs& wrongs) {
    wrongs.prepared = [](const Model&, const PrepareOptions&, Status& status) { status = {}; };
}
void breaksItsPromise(Wrongs& wrongs) {
    wrongs.prepared = [](const Model&, const PrepareOptions&, Status& status) {
        status = internalError("not this one");
    };
}
void promisesTooLittle(Wrongs& wrongs) {
    wrongs.supported = [](const Model&, Result<std::vector<bool>>& supported) {
        supported = std::vector<bool>();
    };
}
void changesCapabilities(Wrongs& wrongs, std::function<void(driver::Capabilities&)> change) {
    wrongs.capabilities = [change = std::move(change)](Result<driver::Capabilities>& told) {
        change(*told);
    };
}

std::vector<Breach> breachesOfDevices() {
    const std::string kHidl = "NeuralnetworksHidlTest.";
    const std::string kAidl = "NeuralNetworksAidlTest.";
    return {
            {"IsGone", kHidl + "CreateDevice", HalVersion::V1_0, noCase,
             [](Wrongs& w) {
                 w.ping = [](Status& status) { status = {StatusCode::UNAVAILABLE, "gone"}; };
             },
             "gone"},
            {"IsBusy", kHidl + "StatusTest", HalVersion::V1_0, noCase,
             [](Wrongs& w) { w.status = [](auto& told) { told = driver::DeviceStatus::BUSY; }; },
             "not AVAILABLE"},
            {"HasNoPower", kAidl + "GetCapabilitiesTest", HalVersion::AIDL_V1, noCase,
             [](Wrongs& w) {
                 changesCapabilities(w, [](auto& told) {
                     told.operandPerformance.back().info.powerUsage = 0.0F;
                 });
             },
             "not positive"},
            {"HasNoLoops", kHidl + "GetCapabilitiesTest", HalVersion::V1_3, noCase,
             [](Wrongs& w) {
                 changesCapabilities(w, [](auto& told) { told.whilePerformance.execTime = -1; });
             },
             "WHILE is not positive"},
            {"IsUnsorted", kHidl + "GetCapabilitiesTest", HalVersion::V1_2, noCase,
             [](Wrongs& w) {
                 changesCapabilities(w, [](auto& told) {
                     std::swap(told.operandPerformance[0], told.operandPerformance[1]);
                 });
             },
             "not sorted"},
            {"SupportsCycles", kHidl + "CycleTest", HalVersion::V1_1, noCase, acceptsBadModels,
             "getSupportedOperations of a model with a cycle gives NONE"},
            {"PreparesCycles", kAidl + "CycleTest", HalVersion::AIDL_V4, noCase, preparesBadModels,
             "prepareModel of a model with a cycle gives NONE"},
            {"HasNoVersion", kHidl + "GetDeviceVersionStringTest", HalVersion::V1_2, noCase,
             [](Wrongs& w) { w.versionString = [](auto& told) { told = std::string(); }; },
             "empty"},
            {"HasNoType", kHidl + "GetDeviceTypeTest", HalVersion::V1_2, noCase,
             [](Wrongs& w) { w.type = [](auto& told) { told = driver::DeviceType::UNKNOWN; }; },
             "getType gives 0"},
            {"HasNoVendor", kHidl + "GetDeviceNameTest", HalVersion::V1_3, noCase, [](Wrongs&) {},
             "exactly one '-'", "armnn"},
            {"HasTwoVendors", kHidl + "GetDeviceNameTest", HalVersion::V1_3, noCase, [](Wrongs&) {},
             "exactly one '-'", "a-b-c"},
            {"HasAnUnownedExtension", kHidl + "GetDeviceSupportedExtensionsTest", HalVersion::V1_2,
             noCase,
             [](Wrongs& w) {
                 w.extensions = [](auto& told) { told->push_back({"Nobody's", {}}); };
             },
             "Nobody's"},
            {"WantsManyFiles", kHidl + "getNumberOfCacheFilesNeeded", HalVersion::V1_2, noCase,
             [](Wrongs& w) {
                 w.cacheFiles = [](auto& told) { told = driver::NumberOfCacheFiles{33, 1}; };
             },
             "wants 33 and 1 files"},
    };
}

std::vector<Breach> breachesOfCases() {
    const std::string kGenerated = "GeneratedTest.Test_";
    const std::string kShape = "DynamicOutputShapeTest.Test_";
    const std::string kDeadline = "DeadlineTest.Test_";
    return {
            {"TellsTimingAsync", kGenerated + "ASYNC", HalVersion::V1_0, floatAddition, tellsTiming,
             "timing is told where it was not asked for"},
            {"TellsTimingSync", kGenerated + "SYNC", HalVersion::V1_2, floatAddition, tellsTiming,
             "timing is told where it was not asked for"},
            {"TellsTimingInBursts", kGenerated + "BURST", HalVersion::V1_3, floatAddition,
             tellsTiming, "timing is told where it was not asked for"},
            {"TellsTimingAgain", kGenerated + "REUSABLE", HalVersion::AIDL_V4, floatAddition,
             tellsTiming, "timing is told where it was not asked for"},
            {"IsFasterThanItsDevice", kGenerated + "SYNC_TIMING", HalVersion::AIDL_V1,
             floatAddition, isFasterThanItsDevice, "is longer than that in the driver"},
            {"FailsToExecute", kGenerated + "BURST_TIMING", HalVersion::AIDL_V2, floatAddition,
             failsToExecute, "the execution gives GENERAL_FAILURE, not NONE"},
            {"TellsShapesTwice", kGenerated + "SYNC", HalVersion::V1_3, floatAddition,
             tellsShapesTwice, "2 output shapes are told of 1 outputs"},
            {"BreaksItsPromise", kGenerated + "SYNC", HalVersion::V1_2, floatAddition,
             breaksItsPromise, "prepareModel of operations that are all supported gives"},
            {"PromisesTooLittle", kGenerated + "SYNC", HalVersion::V1_2, floatAddition,
             promisesTooLittle, "0 answers for 1 operations"},
            {"TellsNoShapes", kShape + "UNSPECIFIED_SYNC", HalVersion::V1_2, floatAddition,
             tellsNoShapes, "0 output shapes are told of 1 outputs"},
            {"TellsTimingOfOpenShapes", kShape + "UNSPECIFIED_BURST", HalVersion::V1_3,
             floatAddition, tellsTiming, "timing is told"},
            {"WritesPastTheEnd", kShape + "INSUFFICIENT_ASYNC", HalVersion::V1_2, floatAddition,
             acceptsEverything, "not OUTPUT_INSUFFICIENT_SIZE"},
            {"TellsWrongShapes", kShape + "INSUFFICIENT_SYNC", HalVersion::AIDL_V3, floatAddition,
             tellsWrongShapes, "the dimensions that are told of output 0 are wrong"},
            {"CallsAllSufficient", kShape + "INSUFFICIENT_REUSABLE", HalVersion::AIDL_V4,
             floatAddition, callsAllSufficient, "isSufficient is wrong of output 0"},
            {"FencesOpenShapes", kShape + "UNSPECIFIED_FENCED", HalVersion::V1_3, floatAddition,
             acceptsEverything, "executeFenced with output dimensions that are open gives NONE"},
            {"FencesOpenShapesWhereMeasured", kShape + "UNSPECIFIED_FENCED", HalVersion::V1_3,
             floatAddition, acceptsWhereMeasured,
             "executeFenced with output dimensions that are open gives NONE"},
            {"FencesOpenShapesAgain", kShape + "UNSPECIFIED_FENCED_REUSABLE", HalVersion::AIDL_V4,
             floatAddition, acceptsEverything,
             "executeFenced with output dimensions that are open gives NONE"},
            {"FencesShortOutputs", kShape + "INSUFFICIENT_FENCED", HalVersion::V1_3, floatAddition,
             acceptsEverything, "executeFenced with output dimensions that are open gives NONE"},
            {"FencesShortOutputsByConfig", kShape + "INSUFFICIENT_FENCED_CONFIG",
             HalVersion::AIDL_V4, floatAddition, acceptsEverything,
             "executeFenced with output dimensions that are open gives NONE"},
            {"TellsTimingOfShortOutputs", kShape + "INSUFFICIENT_SYNC", HalVersion::V1_2,
             floatAddition, tellsTiming, "timing is told"},
            {"TellsWrongTimingOfShortOutputs", kShape + "INSUFFICIENT_BURST", HalVersion::AIDL_V1,
             floatAddition, tellsTimingWhereMeasured, "is longer than that in the driver"},
            {"TakesPaddingForRoom", kShape + "INSUFFICIENT_SYNC", HalVersion::AIDL_V1,
             floatAddition, takesPaddingForRoom, "not OUTPUT_INSUFFICIENT_SIZE"},
            {"WritesToItsInput", kGenerated + "ASYNC", HalVersion::V1_0, floatAddition,
             writesToItsInput, "the execution has written to input 0"},
            {"WritesToItsReadOnlyInput", kGenerated + "SYNC", HalVersion::AIDL_V1, floatAddition,
             writesToItsInput, "the execution has written to input 0"},
            {"WritesToAnInputInABurst", kGenerated + "BURST_CONFIG", HalVersion::AIDL_V4,
             floatAddition, writesToItsInput, "the execution has written to input 0"},
            {"NeedsToWriteToItsInput", kGenerated + "SYNC", HalVersion::AIDL_V1, floatAddition,
             needsToWrite, "the execution gives INVALID_ARGUMENT"},
            {"NeedsToWriteToAnOpenInput", kShape + "UNSPECIFIED_SYNC", HalVersion::AIDL_V2,
             floatAddition, needsToWrite, "INVALID_ARGUMENT, not NONE"},
            {"NeedsToWriteToAFencedInput", "FencedComputeTest.Test", HalVersion::AIDL_V3,
             floatAddition, needsToWrite, "executeFenced gives INVALID_ARGUMENT"},
            {"FencesOpenOutputs", "MemoryDomainTest.Test_BLOB_AHWB_FENCED", HalVersion::V1_3,
             openAddition, acceptsEverything, "dimensions that are not known gives NONE"},
            {"FencesOpenOutputsAgain", "MemoryDomainTest.Test_BLOB_AHWB_FENCED_REUSABLE",
             HalVersion::AIDL_V4, openAddition, acceptsEverything,
             "dimensions that are not known gives NONE"},
            {"WantsToBeToldDimensions", "MemoryDomainTest.Test_DEVICE_SYNC", HalVersion::V1_3,
             floatAddition, [](Wrongs& w) { refusesToAllocate(w, false); },
             "allocate for a valid role gives INVALID_ARGUMENT, not GENERAL_FAILURE"},
            {"WantsToBeToldOpenDimensions", "MemoryDomainTest.Test_DEVICE_BURST",
             HalVersion::AIDL_V1, openAddition, [](Wrongs& w) { refusesToAllocate(w, true); },
             "allocate for a valid role gives INVALID_ARGUMENT, not GENERAL_FAILURE"},
            {"GivesNoToken", "MemoryDomainTest.Test_DEVICE_ASYNC", HalVersion::V1_3, floatAddition,
             [](Wrongs& w) {
                 w.allocated = [](const auto&, auto& given) { given = makeCarelessBuffer(0); };
             },
             "allocate gives a buffer with token 0"},
            {"FailsFenced", "FencedComputeTest.Test", HalVersion::V1_3, floatAddition,
             failsToExecute, "executeFenced gives GENERAL_FAILURE, not NONE"},
            {"TellsFencedTiming", "FencedComputeTest.Test", HalVersion::AIDL_V1, floatAddition,
             [](Wrongs& w) {
                 w.executed = [](const auto&, const auto&, ExecutionResult& result) {
                     result.timingFenced.timeInDriver = kMillisecond;
                 };
             },
             "timing is told"},
            {"IsFasterThanItsFence", "FencedComputeTest.Test_TIMING", HalVersion::AIDL_V4,
             floatAddition, isFasterThanItsDevice, "is longer than that in the driver"},
            {"FailsFencedAgain", "FencedComputeTest.Test_REUSABLE", HalVersion::AIDL_V4,
             floatAddition, failsToExecute, "executeFenced gives GENERAL_FAILURE, not NONE"},
            {"KnowsNoSigns", "QuantizationCouplingTest.Test", HalVersion::V1_3, quantizedAddition,
             [](Wrongs& w) {
                 const auto isSigned = [](const Model& model) {
                     return onlyInput(model).type ==
                            driver::OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
                 };
                 w.supported = [isSigned](const Model& model, auto& supported) {
                     supported = std::vector<bool>{!isSigned(model)};
                 };
                 w.prepared = [isSigned](const Model& model, const auto&, Status& status) {
                     status = isSigned(model) ? internalError("signs") : status;
                 };
             },
             "the model is supported, and its signed twin is not"},
            {"KnowsNoSignsInBranches", "QuantizationCouplingTest.Test", HalVersion::V1_3,
             quantizedBranch,
             [](Wrongs& w) {
                 w.supported = [](const Model& model, auto& supported) {
                     supported = std::vector<bool>{!hasSignedOperand(model.referenced.at(1))};
                 };
                 w.prepared = [](const Model& model, const auto&, Status& status) {
                     status = hasSignedOperand(model.referenced.at(1)) ? internalError("signs")
                                                                       : status;
                 };
             },
             "the model is supported, and its signed twin is not"},
            {"FencesNoTwins", "QuantizationCouplingTest.Test", HalVersion::V1_3, quantizedAddition,
             [](Wrongs& w) {
                 w.fenced = [](ExecutionResult& result) { result.status = internalError("no"); };
             },
             "FENCED, an execution gives GENERAL_FAILURE"},
            {"ExecutesNoTwinsAgain", "QuantizationCouplingTest.Test", HalVersion::AIDL_V4,
             quantizedAddition,
             [](Wrongs& w) {
                 w.reusable = [](ExecutionResult& result) { result.status = internalError("no"); };
             },
             "REUSABLE, an execution gives GENERAL_FAILURE"},
            {"MeasuresTwinsWrongly", "QuantizationCouplingTest.Test", HalVersion::AIDL_V1,
             quantizedAddition, tellsTimingWhereMeasured, "is longer than that in the driver"},
            {"LoopsForEverBehindAFenceAgain", "InfiniteLoopTimeoutTest.Test_FENCED_REUSABLE",
             HalVersion::AIDL_V4, endlessLoop, acceptsEverything,
             "not MISSED_DEADLINE_TRANSIENT or MISSED_DEADLINE_PERSISTENT"},
            {"LoopsForEver", "InfiniteLoopTimeoutTest.Test_SYNC", HalVersion::V1_3, endlessLoop,
             acceptsEverything, "not MISSED_DEADLINE_TRANSIENT or MISSED_DEADLINE_PERSISTENT"},
            {"LoopsForEverBehindAFence", "InfiniteLoopTimeoutTest.Test_FENCED", HalVersion::AIDL_V1,
             endlessLoop, acceptsEverything,
             "not MISSED_DEADLINE_TRANSIENT or MISSED_DEADLINE_PERSISTENT"},
            {"HasNoHighPriority", kDeadline + "PREPARE_PRIORITY", HalVersion::V1_3, floatAddition,
             [](Wrongs& w) {
                 w.prepared = [](const Model&, const PrepareOptions& options, Status& status) {
                     status = options.priority == driver::Priority::HIGH
                                      ? invalidArgument("not so high")
                                      : status;
                 };
             },
             "prepareModel with priority HIGH gives INVALID_ARGUMENT, not NONE"},
            {"CallsALateModelWrong", kDeadline + "PREPARE_DEADLINE", HalVersion::AIDL_V1,
             floatAddition,
             [](Wrongs& w) {
                 w.prepared = [](const Model&, const PrepareOptions& options, Status& status) {
                     status = options.deadline.has_value() ? invalidArgument("late") : status;
                 };
             },
             "prepareModel with the deadline NOW gives INVALID_ARGUMENT"},
            {"MissesNoDeadline", kDeadline + "SYNC", HalVersion::V1_3, floatAddition,
             [](Wrongs& w) {
                 w.executed = [](const auto&, const ExecuteOptions& options,
                                 ExecutionResult& result) {
                     if (options.deadline == std::chrono::steady_clock::time_point::max()) {
                         result.status = {StatusCode::DEADLINE_EXCEEDED, "it never comes"};
                     }
                 };
             },
             "an execution with the deadline UNLIMITED gives MISSED_DEADLINE_TRANSIENT, not NONE"},
            {"IsLateForNothing", kDeadline + "ASYNC", HalVersion::V1_3, floatAddition,
             [](Wrongs& w) {
                 w.executed = [](const auto&, const ExecuteOptions& options,
                                 ExecutionResult& result) {
                     if (options.deadline.has_value()) {
                         result.status = internalError("late");
                     }
                 };
             },
             "an execution with the deadline NOW gives GENERAL_FAILURE"},
    };
}

class Breaches : public ::testing::TestWithParam<Breach> {
  protected:
    // The driver logs its refusals.
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }

    Verdict run(const std::function<void(Wrongs&)>& wrong, const std::string& service) {
        const Breach& breach = GetParam();
        const Check* const check = findCheck(breach.check, breach.version);
        if (check == nullptr) {
            return failed("there is no such check");
        }
        Result<std::unique_ptr<driver::Device>> driver = driver::Device::create({});
        if (!driver.ok()) {
            return failed(driver.status().toString());
        }
        auto wrongs = std::make_shared<Wrongs>();
        wrong(*wrongs);
        const auto device = makeWrongDevice(
                driver::makeLocalDevice(std::move(*driver), breach.version), wrongs);
        const pb::TestCase testCase = breach.testCase();
        Context context(*device, service, testCase);
        return check->run(context);
    }
};

TEST_P(Breaches, AreFound) {
    const Breach& breach = GetParam();
    const Verdict good = run([](Wrongs&) {}, "vendor-device");
    EXPECT_EQ(good.outcome, Outcome::PASSED) << good.reason;
    const Verdict bad = run(breach.wrong, breach.service);
    EXPECT_EQ(bad.outcome, Outcome::FAILED) << bad.reason;
    EXPECT_NE(bad.reason.find(breach.reason), std::string::npos) << bad.reason;
}

std::string nameOfBreach(const ::testing::TestParamInfo<Breach>& info) {
    return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(OfDevices, Breaches, ::testing::ValuesIn(breachesOfDevices()),
                         nameOfBreach);
INSTANTIATE_TEST_SUITE_P(OfCases, Breaches, ::testing::ValuesIn(breachesOfCases()), nameOfBreach);

TEST(CheckRegistry, NamesNoCheckTwiceInAVersion) {
    for (const HalVersion version : driver::allVersions()) {
        std::set<std::string> ids;
        for (const Check& check : allChecks()) {
            if (check.isOf(version)) {
                EXPECT_TRUE(ids.insert(check.id()).second)
                        << check.id() << " in " << toString(version);
                EXPECT_NE(check.run, nullptr) << check.id();
            }
        }
        EXPECT_FALSE(ids.empty());
    }
}

TEST(Contexts, KeepEachSetOfOutputsOnce) {
    Result<std::unique_ptr<driver::Device>> driver = driver::Device::create({});
    ASSERT_TRUE(driver.ok()) << driver.status().toString();
    const auto device = driver::makeLocalDevice(std::move(*driver), HalVersion::V1_3);
    const pb::TestCase testCase = floatAddition();
    Context context(*device, "", testCase);
    for (const char* const id : {"GeneratedTest.Test_ASYNC", "GeneratedTest.Test_SYNC"}) {
        const Verdict verdict = findCheck(id, HalVersion::V1_3)->run(context);
        EXPECT_TRUE(verdict.hasPassed()) << verdict.reason;
        EXPECT_EQ(context.takeHandedOver(), std::vector<uint32_t>{0});
    }
    ASSERT_EQ(context.outputs().size(), 1U);
    const float expected[] = {2.0F, 4.0F};
    EXPECT_EQ(context.outputs()[0].outputs(0).data(),
              std::string(reinterpret_cast<const char*>(expected), sizeof(expected)));
}

TEST(Contexts, SkipModelsThatAreNotPromised) {
    Result<std::unique_ptr<driver::Device>> driver = driver::Device::create({});
    ASSERT_TRUE(driver.ok()) << driver.status().toString();
    auto wrongs = std::make_shared<Wrongs>();
    wrongs->supported = [](const Model&, auto& supported) { supported = std::vector<bool>{false}; };
    const auto device =
            makeWrongDevice(driver::makeLocalDevice(std::move(*driver), HalVersion::V1_3), wrongs);
    const pb::TestCase testCase = floatAddition();
    Context prepared(*device, "", testCase);
    EXPECT_NE(prepared.prepared().model, nullptr) << "it can all the same";
    wrongs->prepared = [](const Model&, const auto&, Status& status) {
        status = unsupported("no");
    };
    Context refused(*device, "", testCase);
    EXPECT_EQ(refused.prepared().model, nullptr);
    EXPECT_EQ(refused.prepared().verdict.outcome, Outcome::SKIPPED);
    EXPECT_NE(refused.prepared().verdict.reason.find("does not promise operation 0 (ADD)"),
              std::string::npos)
            << refused.prepared().verdict.reason;
}

}  // namespace
}  // namespace halyard::vts::testing
