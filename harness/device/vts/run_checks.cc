// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/run_checks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "harness/device/runner/case_run.h"
#include "harness/device/vts/fixture/context.h"
#include "harness/device/vts/registry.h"

namespace halyard::vts {
namespace {

using Clock = std::chrono::steady_clock;

pb::CheckOutcome toMessage(Verdict::Outcome outcome) {
    switch (outcome) {
        case Verdict::Outcome::PASSED:
            return pb::CHECK_OUTCOME_PASSED;
        case Verdict::Outcome::FAILED:
            return pb::CHECK_OUTCOME_FAILED;
        case Verdict::Outcome::SKIPPED:
            return pb::CHECK_OUTCOME_SKIPPED;
    }
    return pb::CHECK_OUTCOME_UNDECIDED;
}

// Sends the result that is left of the case if the check crashes or hangs.
void announce(const runner::ParentLink& parent, const pb::CaseResult& begun,
              const std::string& id) {
    pb::CaseResult step;
    step.set_name(begun.name());
    step.set_target(begun.target());
    step.set_hal_version(begun.hal_version());
    step.set_version_string(begun.version_string());
    step.set_message("checking " + id);
    step.add_checks()->set_name(id);
    parent.sendProgress(step);
    parent.sendReady();
}

// What the HAL says and NNAPI's C functions do not: files of a cache are named by the library,
// which also finds an order of the operations and the lifetime of an operand, and knows memories by
// their objects.
constexpr std::array<std::string_view, 7> kNotInC = {
        "CompilationCachingTest", "CompilationCachingSecurityTest", "getNumberOfCacheFilesNeeded",
        "GetDeviceNameTest",      "mutateExecutionOrderTest",       "mutateOperandInputOutputTest",
        "validateBurst",
};

bool isSaidInC(std::string_view id) {
    return std::ranges::none_of(kNotInC, [id](std::string_view part) {
        return id.find(part) != std::string_view::npos;
    });
}

Verdict verdictOf(const std::string& id, bool isLibrary, Context& context) {
    if (isLibrary && !isSaidInC(id)) {
        return skipped("NNAPI's C functions have nothing for it");
    }
    const Check* const check = findCheck(id, context.version());
    return check == nullptr ? failed("HAL " + std::string(toString(context.version())) +
                                     " has no check of this name")
                            : check->run(context);
}

void run(const runner::Target& target, const pb::TestCase& testCase,
         const runner::ParentLink& parent, pb::CaseResult& result) {
    // "hidl:halyard-default".
    const size_t colon = result.target().find(':');
    const bool isLibrary = result.target().starts_with("ndk");
    Context context(*target.device,
                    colon == std::string::npos ? "" : result.target().substr(colon + 1), testCase,
                    target.withoutConfigs.get());
    result.set_version_string(runner::versionString(target));
    for (const std::string& id : testCase.checks()) {
        announce(parent, result, id);
        const Clock::time_point start = Clock::now();
        const Verdict verdict = verdictOf(id, isLibrary, context);
        pb::CheckResult& row = *result.add_checks();
        row.set_name(id);
        row.set_outcome(toMessage(verdict.outcome));
        row.set_reason(verdict.reason);
        row.set_elapsed_ns(static_cast<uint64_t>(
                std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start)
                        .count()));
        for (const uint32_t index : context.takeHandedOver()) {
            row.add_examples(index);
        }
        if (verdict.outcome == Verdict::Outcome::FAILED && !target.device->ping().ok()) {
            result.set_failed_stage(pb::STAGE_CRASH);
            result.set_status(pb::ERROR_STATUS_DEVICE_UNAVAILABLE);
            result.set_message("the service died while checking " + id);
            break;
        }
    }
    for (const pb::ExampleResult& outputs : context.outputs()) {
        *result.add_examples() = outputs;
    }
}

// Nothing in it needs to be escaped.
std::string list() {
    std::string text = "[";
    std::string_view between = "\n";
    for (const Check& check : allChecks()) {
        text.append(between).append("  {\"suite\": \"").append(check.suite);
        text.append("\", \"name\": \"").append(check.name);
        text.append("\", \"variant\": \"").append(check.variant);
        text.append("\", \"scope\": \"").append(nameOf(check.scope));
        text.append("\", \"since\": \"").append(toString(check.since));
        text.append("\", \"until\": \"").append(toString(check.until)).append("\"}");
        between = ",\n";
    }
    return text + "\n]\n";
}

}  // namespace

const runner::CaseChecks& caseChecks() {
    static constexpr runner::CaseChecks kChecks = {.run = run, .list = list};
    return kChecks;
}

}  // namespace halyard::vts
