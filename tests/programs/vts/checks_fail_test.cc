// SPDX-License-Identifier: Apache-2.0
//
// Every check fails a device that is wrong about what it checks, and about nothing else.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/log.h"
#include "harness/device/vts/compilation_caching/cached_models.h"
#include "harness/device/vts/fixture/methods.h"
#include "tests/programs/vts/checked_device.h"
#include "tests/programs/vts/wrong_device.h"

namespace halyard::vts::testing {
namespace {

using driver::ExecutionResult;
using driver::HalVersion;
using Supported = Result<std::vector<bool>>;

class WrongDevices : public ::testing::TestWithParam<HalVersion> {
  protected:
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }

    // Whether the check fails the device, where it passes the right one.
    void expectFailed(const Wrongs& wrongs, const std::string& id) {
        const Verdict& right = verdictOfRight(id);
        ASSERT_NE(right.outcome, Verdict::Outcome::FAILED) << id << ": " << right.reason;
        if (right.outcome == Verdict::Outcome::SKIPPED) {
            return;
        }
        const auto wrong = makeWrongDevice(mRight.device(), std::make_shared<const Wrongs>(wrongs));
        const Verdict verdict = runCheck(*wrong, id);
        EXPECT_EQ(verdict.outcome, Verdict::Outcome::FAILED) << id << ": " << verdict.reason;
        EXPECT_FALSE(verdict.reason.empty());
        mFailed.insert(id);
    }
    void expectAllFailed(const Wrongs& wrongs, std::string_view suite,
                         const std::function<bool(const Check&)>& concerns) {
        for (const Check* const check : checksOf(suite, GetParam())) {
            if (concerns(*check)) {
                expectFailed(wrongs, check->id());
            }
        }
    }
    size_t failed() const { return mFailed.size(); }
    // Asked once, for some checks take a while.
    const Verdict& verdictOfRight(const std::string& id) {
        static std::map<std::pair<HalVersion, std::string>, Verdict> verdicts;
        const auto [found, isNew] = verdicts.try_emplace({GetParam(), id});
        if (isNew) {
            found->second = runCheck(*mRight.device(), id);
        }
        return found->second;
    }
    static bool isAidl() { return GetParam() >= HalVersion::AIDL_V1; }

    CheckedDevice mRight{GetParam()};
    std::set<std::string> mFailed;
};

void goWell(ExecutionResult& result) {
    result.status = {};
}

void goWrong(ExecutionResult& result) {
    result = {.status = internalError("lost"), .outputShapes = {}, .timing = {}};
}

void succeed(Status& status) {
    status = {};
}

void fail(Status& status) {
    status = internalError("lost");
}

void supportAll(const driver::Model& model, Supported& supported) {
    supported = std::vector<bool>(model.main.operations.size(), true);
}

bool isMutation(const Check& check) {
    return check.variant.starts_with("mutate") || check.variant.starts_with("remove") ||
           check.variant.starts_with("add");
}

bool isOfModels(const Check& check) {
    return isMutation(check) && check.variant != "removeInputTest" &&
           check.variant != "removeOutputTest" && !check.variant.ends_with("DatumTest");
}

TEST_P(WrongDevices, FindModelsValidThatAreNot) {
    const auto isNoArgument = [](const Check& check) {
        return isOfModels(check) && !check.variant.starts_with("mutateExecutionPr");
    };
    expectAllFailed({.supported = supportAll}, "ValidationTest", isNoArgument);
    expectAllFailed({.prepareLaunched = succeed}, "ValidationTest", isOfModels);
    expectAllFailed({.prepared = [](const auto&, const auto&, Status& status) { status = {}; }},
                    "ValidationTest", isOfModels);
    EXPECT_GE(failed(), 16U);
}

TEST_P(WrongDevices, FindRequestsValidThatAreNot) {
    std::vector<Wrongs> executors = {
            {.synchronous = goWell},
            {.synchronous = [](ExecutionResult& result) { result.outputShapes.resize(1); }},
            {.burst = goWell},
            {.fenced = goWell}};
    if (!isAidl()) {
        executors.push_back({.executeLaunched = succeed});
        executors.push_back({.asynchronous = goWell});
    }
    if (GetParam() >= HalVersion::AIDL_V4) {
        executors.push_back({.reusable = goWell});
    }
    for (const Wrongs& wrongs : executors) {
        for (const char* const check : {"removeInputTest", "removeOutputTest"}) {
            expectFailed(wrongs, std::string("ValidationTest.Test_") + check);
        }
    }
    EXPECT_EQ(failed(), 2U);
}

TEST_P(WrongDevices, AreWrongAboutBurstsOfAidl) {
    if (!isAidl()) {
        return;
    }
    expectFailed({.burst = goWell}, "ValidationTest.Test_validateBurst");
    expectFailed({.memoryReleased = succeed}, "ValidationTest.Test_validateBurst");
    expectFailed({.reusable = goWell}, "ValidationTest.Test_validateReusableExecution");
}

TEST_P(WrongDevices, TakeAFenceThatIsNone) {
    if (!isAidl()) {
        expectFailed({.fenced = goWell}, "ValidationTest.Test_validateExecuteFenced");
        EXPECT_EQ(failed(), 1U);
    }
}

TEST_P(WrongDevices, FindThatARequestGoesWellThatMustFail) {
    const Verdict verdict =
            runCheck(*mRight.device(), "ValidationTest.Test_validateRequestFailure");
    EXPECT_EQ(verdict.outcome, Verdict::Outcome::FAILED) << "the example's request is a good one";
}

// ---- Memory domains -----------------------------------------------------------------------------

bool all(const Check& /*check*/) {
    return true;
}

TEST_P(WrongDevices, GiveBuffersToAnyCaller) {
    Wrongs wrongs;
    wrongs.allocated = [](const auto&, auto& given) { given = makeCarelessBuffer(); };
    expectAllFailed(wrongs, "MemoryDomainAllocateTest", all);
    // Four types, less what floats and Halyard have nothing of.
    EXPECT_EQ(failed(), 4U * 13 - 4);
    wrongs.allocated = [](const auto&, auto& given) {
        given = Status(StatusCode::UNAVAILABLE, "busy");
    };
    expectAllFailed(wrongs, "MemoryDomainAllocateTest", all);
}

TEST_P(WrongDevices, CopyWhateverTheyAreGiven) {
    const auto isFrom = [](const Check& check) { return check.name.starts_with("CopyFrom"); };
    const auto isTo = [](const Check& check) { return check.name.starts_with("CopyTo"); };
    expectAllFailed({.copiedFrom = succeed}, "MemoryDomainCopyTest", isFrom);
    expectAllFailed({.copiedTo = succeed}, "MemoryDomainCopyTest", isTo);
    EXPECT_EQ(failed(), 4U * 4) << "the others are of buffers that Halyard does not give";
}

TEST_P(WrongDevices, ExecuteWhateverBuffersHold) {
    const Wrongs wrongs = {.synchronous = goWell,
                           .asynchronous = goWell,
                           .burst = goWell,
                           .reusable = goWell,
                           .fenced = goWell,
                           .executeLaunched = succeed};
    expectAllFailed(wrongs, "MemoryDomainExecutionTest", all);
    // Five ways to execute AIDL, by plain methods, with configs and again, and three with fences;
    // of HIDL two and one.
    EXPECT_EQ(failed(), 4U * (isAidl() ? 6 * 8 + 5 : 6 * 3 + 2));
}

TEST_P(WrongDevices, LoseWhatIsInBuffers) {
    const auto isOfBuffers = [](const Check& check) { return check.variant.starts_with("DEVICE"); };
    expectAllFailed({.copiedTo = fail}, "MemoryDomainTest", isOfBuffers);
    expectAllFailed({.copiedFrom = fail}, "MemoryDomainTest", isOfBuffers);
    EXPECT_EQ(failed(), isAidl() ? 8U : 3U);
    const Wrongs wrongs = {.synchronous = goWrong,
                           .asynchronous = goWrong,
                           .burst = goWrong,
                           .reusable = goWrong,
                           .fenced = goWrong};
    expectAllFailed(wrongs, "MemoryDomainTest", all);
    EXPECT_EQ(failed(), isAidl() ? 16U : 6U);
}

// ---- Caches -------------------------------------------------------------------------------------

TEST_P(WrongDevices, KeepNothing) {
    Wrongs wrongs;
    wrongs.asked = [](driver::PrepareOptions& options) { options.cache = nullptr; };
    expectAllFailed(wrongs, "CompilationCachingTest", [](const Check& check) {
        return check.name.starts_with("CacheSavingAndRetrieval");
    });
    EXPECT_EQ(failed(), 4U);
}

TEST_P(WrongDevices, TakeWhateverTheyAreGivenForWhatTheyHaveKept) {
    Wrongs wrongs;
    wrongs.fromCache = [this](auto& loaded) {
        const CachedModel other =
                chain(driver::OperandType::TENSOR_FLOAT32, driver::OperationType::MUL);
        loaded = mRight.device()->prepare(other.model, {});
    };
    expectAllFailed(wrongs, "CompilationCachingTest", [](const Check& check) {
        // Its result is that of the model which is given here.
        return !(check.name.ends_with("TOCTOU") && check.variant == "TENSOR_QUANT8_ASYMM");
    });
    expectAllFailed(wrongs, "CompilationCachingSecurityTest", [](const Check& check) {
        return check.name == "WrongToken" || check.name.ends_with("ModelCache");
    });
    EXPECT_EQ(failed(), (isAidl() ? 16U : 20U) + 60U);
}

TEST_P(WrongDevices, DoNotPrepareWhatTheyCanNotKeep) {
    expectAllFailed({.prepareLaunched = fail}, "CompilationCachingTest", all);
    expectAllFailed({.prepared = [](const auto&, const auto&, Status& status) { fail(status); }},
                    "CompilationCachingTest", all);
    EXPECT_EQ(failed(), isAidl() ? 18U : 22U);
}

// ---- Methods with configs and without -----------------------------------------------------------

// The one or the other methods of AIDL 4 are wrong.
class WrongMethods : public ::testing::TestWithParam<Methods> {
  protected:
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }

    void expectFound(const std::string& id, const Wrongs& wrongs, Methods methods) {
        EXPECT_TRUE(verdictOf(id, {}, methods).hasPassed()) << id;
        EXPECT_EQ(verdictOf(id, wrongs, methods).outcome, Verdict::Outcome::FAILED) << id;
        const Methods others = methods == Methods::PLAIN ? Methods::WITH_CONFIG : Methods::PLAIN;
        mIsFoundOfOthers = verdictOf(id, wrongs, others).outcome == Verdict::Outcome::FAILED;
    }
    Verdict verdictOf(const std::string& id, const Wrongs& wrongs, Methods methods) {
        const bool isPlain = methods == Methods::PLAIN;
        const auto wrong = makeWrongDevice(isPlain ? mRight.withoutConfigs() : mRight.device(),
                                           std::make_shared<const Wrongs>(wrongs));
        return isPlain ? runCheck(*mRight.device(), id, wrong.get())
                       : runCheck(*wrong, id, mRight.withoutConfigs().get());
    }
    bool mIsFoundOfOthers = false;

    CheckedDevice mRight{HalVersion::AIDL_V4};
};

TEST_P(WrongMethods, AreFoundByTheChecksThatAreNamedAfterThem) {
    const Wrongs wrongs = {.synchronous = goWrong, .burst = goWrong, .fenced = goWrong};
    const bool isPlain = GetParam() == Methods::PLAIN;
    const std::string suffix = isPlain ? "" : "_CONFIG";
    for (const char* const id :
         {"GeneratedTest.Test_SYNC", "GeneratedTest.Test_BURST",
          "MemoryDomainTest.Test_DEVICE_SYNC", "MemoryDomainTest.Test_DEVICE_BURST",
          "MemoryDomainTest.Test_BLOB_AHWB_FENCED", "DeadlineTest.Test_SYNC",
          "DeadlineTest.Test_BURST"}) {
        expectFound(id + suffix, wrongs, GetParam());
        EXPECT_FALSE(mIsFoundOfOthers) << id;
    }
    expectFound(isPlain ? "FencedComputeTest.Test" : "FencedComputeTest.Test_CONFIG", wrongs,
                GetParam());
    EXPECT_FALSE(mIsFoundOfOthers);
    const Wrongs takesAll = {.synchronous = goWell, .fenced = goWell};
    expectFound("DynamicOutputShapeTest.Test_INSUFFICIENT_SYNC" + suffix, takesAll, GetParam());
    expectFound("DynamicOutputShapeTest.Test_UNSPECIFIED_FENCED" + suffix, takesAll, GetParam());
}

TEST_P(WrongMethods, AreFoundByTheChecksOfBoth) {
    const auto refuses = [](const auto&, const driver::PrepareOptions& options, Status& status) {
        if (options.deadline.has_value() || options.priority == driver::Priority::HIGH) {
            status = invalidArgument("not so");
        }
    };
    const auto takes = [](const auto&, const auto&, Status& status) { status = {}; };
    const std::string validation = "ValidationTest.Test_";
    expectFound("NeuralNetworksAidlTest.CycleTest", {.prepared = takes}, GetParam());
    expectFound("DeadlineTest.Test_PREPARE_DEADLINE", {.prepared = refuses}, GetParam());
    expectFound("DeadlineTest.Test_PREPARE_PRIORITY", {.prepared = refuses}, GetParam());
    expectFound(validation + "removeOperandTest", {.prepared = takes}, GetParam());
    expectFound(validation + "removeInputTest", {.synchronous = goWell}, GetParam());
    expectFound(validation + "removeOutputTest", {.fenced = goWell}, GetParam());
    expectFound(validation + "validateBurst", {.burst = goWell}, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Both, WrongMethods,
                         ::testing::Values(Methods::PLAIN, Methods::WITH_CONFIG));

INSTANTIATE_TEST_SUITE_P(Wires, WrongDevices,
                         ::testing::Values(HalVersion::V1_3, HalVersion::AIDL_V4));

}  // namespace
}  // namespace halyard::vts::testing
