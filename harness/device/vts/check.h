// SPDX-License-Identifier: Apache-2.0
//
// A check: one test of the vendor test suite (VTS), named as there, of a device behind
// driver::IDevice, whosoever it is. A file of checks is named after its class and gives them as a
// table, which registry.cc lists.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/model/codes.h"
#include "driver/model/versions.h"
#include "engine/base/status.h"

namespace halyard::vts {

class Context;

struct Verdict {
    enum class Outcome : uint8_t { PASSED, FAILED, SKIPPED };
    Outcome outcome = Outcome::PASSED;
    std::string reason;  // unless it passed

    bool hasPassed() const { return outcome == Outcome::PASSED; }
};

inline Verdict passed() {
    return {};
}
// A sentence that names the call, what it answered, and what the contract wants.
inline Verdict failed(std::string reason) {
    return {.outcome = Verdict::Outcome::FAILED, .reason = std::move(reason)};
}
// A sentence that names what it rests on: the rule by which VTS does not go on, or what the version
// lacks.
inline Verdict skipped(std::string reason) {
    return {.outcome = Verdict::Outcome::SKIPPED, .reason = std::move(reason)};
}

// Passed where a call ended in one of these ways; `call` names it, with what was wrong about it:
// "prepareModel of a model with a cycle".
Verdict expectStatus(const Status& found, driver::HalVersion version,
                     const std::vector<driver::ErrorStatus>& wanted, std::string_view call);

// What a check is for: the device, once, or each golden case of a kind.
enum class Scope : uint8_t {
    DEVICE,
    ANY_CASE,            // whatever is to come of it
    EACH_CASE,           // all but those of the next two
    FAILING_CASE,        // those that must fail
    INFINITE_LOOP_CASE,  // those with a WHILE that never ends
    SHAPED_CASE,         // of EACH_CASE those all of whose outputs are tensors
    COUPLED_CASE,        // of EACH_CASE those with one operation, and QUANT8_ASYMM operands
};
// Those that `--list-checks` uses: "each_case".
std::string_view nameOf(Scope scope);

struct Check {
    std::string_view suite;  // "GeneratedTest"
    std::string_view name;   // "Test"
    std::string variant;     // of several that VTS makes one after the other: "BURST"
    Scope scope = Scope::DEVICE;
    driver::HalVersion since = driver::HalVersion::V1_0;
    driver::HalVersion until = driver::kNewestVersion;
    std::function<Verdict(Context&)> run;

    // "GeneratedTest.Test_BURST".
    std::string id() const;
    bool isOf(driver::HalVersion version) const { return since <= version && version <= until; }
};

using Checks = std::vector<Check>;

}  // namespace halyard::vts
