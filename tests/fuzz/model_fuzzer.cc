// SPDX-License-Identifier: Apache-2.0
//
// A model from validation to its results. What must hold of every model: supported means prepares;
// only validation finds it invalid; nothing fails in a way that is the driver's own fault; the same
// request gives the same results; it ends in time; and nothing stays behind. In one of four runs a
// client rewrites its memory meanwhile, and only the last of these is asked.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "driver/ops/lowest_version.h"
#include "tests/fuzz/cases.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/processor_time.h"
#include "tests/fuzz/rewriter.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/tried_device.h"

namespace halyard::fuzz {
namespace {

using driver::HalVersion;
using std::chrono::steady_clock;

// A request may take so long, and then as long again until the driver sees it: sanitizers and a
// busy machine are slow.
constexpr std::chrono::milliseconds kDeadline{50};
constexpr std::chrono::seconds kPatience{5};  // of processor time

uint32_t hashOf(std::span<const uint8_t> bytes) {
    uint32_t hash = 2166136261;
    for (const uint8_t byte : bytes) {
        hash = (hash ^ byte) * 16777619;
    }
    return hash;
}

class Examiner {
  public:
    void examine(const pb::TestCase& testCase, uint32_t seed) {
        {
            Pools pools;
            const std::optional<driver::Model> model = modelOf(testCase.model(), pools);
            if (!model.has_value()) {
                return;
            }
            mDevice = seed / 32 % 4 == 0 ? mCpuRef : mCpuAcc;
            mRewriting = seed % 4 == 0;
            mSeed = seed;
            const auto lowest = driver::lowestVersion(*model);
            const bool newest = seed % 8 < 5 || !lowest.ok();
            prepare(*model, newest ? driver::kNewestVersion : *lowest, pools, testCase);
        }
        require(isIdle(*mDevice), "no model stays alive and no memory taken", mDevice->report());
    }

  private:
    void prepare(const driver::Model& model, HalVersion version, const Pools& pools,
                 const pb::TestCase& testCase) {
        if (mRewriting) {
            mRewriter.begin(pools, mSeed);
        }
        driver::Verdicts verdicts(model);
        const bool asksWhy = mSeed % 2 == 0;
        const Result<std::vector<bool>> supported = mDevice->supportedOperations(
                model, version, nullptr, asksWhy ? &verdicts : nullptr);
        const auto prepared = mDevice->prepare(model, version, {});
        if (mRewriting) {
            mRewriter.end();
        } else {
            checkSupport(supported, prepared.status());
        }
        if (prepared.ok()) {
            for (const pb::Example& example : testCase.examples()) {
                execute(**prepared, example, version, pools);
            }
        }
    }

    static void checkSupport(const Result<std::vector<bool>>& supported, const Status& prepared) {
        const StatusCode code = prepared.code();
        const std::string details =
                supported.status().toString() + " of support, of prepare: " + prepared.toString();
        require((supported.status().code() == StatusCode::INVALID_ARGUMENT) ==
                        (code == StatusCode::INVALID_ARGUMENT),
                "support and prepare find the same models invalid", details);
        require(supported.ok() || supported.status().code() == StatusCode::INVALID_ARGUMENT,
                "support fails on nothing but invalid models", details);
        require(prepared.ok() || code == StatusCode::INVALID_ARGUMENT ||
                        code == StatusCode::UNSUPPORTED || code == StatusCode::RESOURCE_EXHAUSTED,
                "preparing fails on what the model asks for", details);
        if (supported.ok()) {
            const bool all = std::ranges::all_of(*supported, [](bool flag) { return flag; });
            require(!prepared.ok() || all, "what prepares is supported", details);
            require(prepared.ok() || !all || code == StatusCode::RESOURCE_EXHAUSTED,
                    "what is supported prepares", details);
        }
    }

    Attempt attempt(const driver::PreparedModel& model, const pb::Example& example,
                    HalVersion version, const Pools& modelPools) {
        Pools pools;
        Pools outputs;
        const driver::Request request = requestOf(example, mSeed / 8 % 2, pools, outputs);
        driver::ExecuteOptions options;
        const std::chrono::nanoseconds before = processorTime();
        options.deadline = steady_clock::now() + kDeadline;
        options.loopTimeout = kDeadline / 2;
        options.measureTiming = mSeed / 16 % 2 != 0;
        if (mRewriting) {
            pools.insert(pools.end(), modelPools.begin(), modelPools.end());
            mRewriter.begin(pools, mSeed);
        }
        Attempt done = {.result = model.execute(request, version, options), .memory = {}};
        if (mRewriting) {
            mRewriter.end();
        }
        require(processorTime() - before < kPatience, "an execution ends in time",
                done.result.status.toString());
        if (done.result.status.ok()) {
            for (const std::span<uint8_t> output : outputs) {
                done.memory.emplace_back(output.begin(), output.end());
            }
        }
        return done;
    }

    void execute(const driver::PreparedModel& model, const pb::Example& example, HalVersion version,
                 const Pools& modelPools) {
        const Attempt first = attempt(model, example, version, modelPools);
        if (mRewriting) {
            return;
        }
        const StatusCode code = first.result.status.code();
        require(code != StatusCode::INTERNAL && code != StatusCode::UNAVAILABLE,
                "executing fails on what the request asks for", first.result.status.toString());
        const Attempt second = attempt(model, example, version, modelPools);
        if (code != StatusCode::DEADLINE_EXCEEDED &&
            second.result.status.code() != StatusCode::DEADLINE_EXCEEDED) {
            requireSame(first, second);
        }
    }

    const std::shared_ptr<driver::Device> mCpuAcc = makeDevice(2);
    const std::shared_ptr<driver::Device> mCpuRef = makeDevice(2, {"CpuRef"});
    std::shared_ptr<driver::Device> mDevice;  // one of them
    Rewriter mRewriter;
    bool mRewriting = false;
    uint32_t mSeed = 0;
};

}  // namespace

void run(std::span<const uint8_t> bytes) {
    // Never destroyed: its threads outlive the last run.
    static Examiner& examiner = *new Examiner;
    if (const std::optional<pb::TestCase> testCase = parseCase(bytes)) {
        examiner.examine(*testCase, hashOf(bytes));
    }
}

}  // namespace halyard::fuzz

extern "C" {

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned seed) {
    return halyard::fuzz::mutateCase(data, size, maxSize, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t firstSize, const uint8_t* second,
                                 size_t secondSize, uint8_t* out, size_t maxOutSize,
                                 unsigned seed) {
    return halyard::fuzz::crossCases({first, firstSize}, {second, secondSize}, {out, maxOutSize},
                                     seed);
}

}  // extern "C"
