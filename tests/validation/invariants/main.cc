// SPDX-License-Identifier: Apache-2.0
//
// halyard_invariants --bundle FILE [--workers N] [--seed N]: what has to hold of every case of a
// bundle, whatever it computes. Writes the counts by invariant as JSON.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "driver/execute/prepared_model.h"
#include "driver/ops/lowest_version.h"
#include "harness/device/cases/canonical_model.h"
#include "tests/validation/invariants/chains.h"
#include "tests/validation/invariants/cuts.h"
#include "tests/validation/invariants/guarded_memory.h"
#include "tests/validation/invariants/support.h"
#include "tests/validation/ledger.h"
#include "tests/validation/runs.h"
#include "tests/validation/work.h"

namespace halyard::validation {
namespace {

using driver::HalVersion;
using driver::Model;
using driver::OperandLifeTime;

enum Row : uint8_t {
    CUTS,
    CUTS_OF_CHAINS,
    INPUTS_FOR_CONSTANTS,
    NOT_SUPPORTED,
    PROMISED,
    TWINS,
    TWINS_NOT_SUPPORTED,
    REPEATED_RUNS,
    THREADS,
    GUARD_BEHIND,
    GUARD_BEFORE,
    LOWERED,
};
constexpr std::array<std::string_view, 12> kRows = {
        "supported equals preparable: cuts",
        "supported equals preparable: cuts of chains",
        "supported equals preparable: inputs for constants",
        "  of all these, those that do not prepare",
        "  of those, what is supported, cut out",
        "both of two quantised twins prepare, or none",
        "  of these, those that do not prepare",
        "same results: repeated runs",
        "same results: 1 and 2 threads",
        "same results: guard pages behind memory",
        "same results: guard pages before memory",
        "same results: optimised and as lowered",
};

constexpr size_t kChains = 4;        // that begin with each case
constexpr size_t kLongestChain = 6;  // models

// Without the inputs and outputs of an example.
std::optional<Model> modelOf(const runner::pb::TestCase& testCase,
                             std::vector<driver::Model>& alive) {
    Result<driver::Model> model = runner::toCanonical(testCase.model());
    if (!model.ok()) {
        return std::nullopt;
    }
    alive.push_back(std::move(*model));
    return alive.back();
}

class Examiner {
  public:
    Examiner(const Cases& cases, uint64_t seed, std::shared_ptr<const driver::Device> oneThread,
             std::shared_ptr<const driver::Device> twoThreads,
             std::shared_ptr<const driver::Device> notOptimizing)
        : mCases(cases),
          mSeed(seed),
          mOneThread(std::move(oneThread)),
          mTwoThreads(std::move(twoThreads)),
          mNotOptimizing(std::move(notOptimizing)) {}

    void examine(size_t index, size_t worker, Ledger& ledger) const {
        const runner::pb::TestCase& testCase = mCases[index];
        std::vector<driver::Model> alive;
        const std::optional<Model> model = modelOf(testCase, alive);
        const auto lowest = model.has_value() ? driver::lowestVersion(*model)
                                              : Result<HalVersion>(internalError("no model"));
        if (!lowest.ok()) {
            ledger.report(CUTS, testCase.name() + ": " + lowest.status().toString());
            return;
        }
        const Place place = {.name = testCase.name(), .worker = worker, .ledger = ledger};
        std::mt19937_64 random(mSeed + index);
        for (const HalVersion version :
             std::set<HalVersion>{*lowest, std::max(*lowest, HalVersion::V1_3)}) {
            checkCuts(place, CUTS, *model, version, random);
        }
        for (size_t i = 0; i < kChains; ++i) {
            checkCuts(place, CUTS_OF_CHAINS, chainFrom(*model, random, alive),
                      driver::kNewestVersion, random);
        }
        checkInputs(place, *model);
        for (const runner::pb::Example& example : testCase.examples()) {
            checkRuns(place, *model, example);
        }
    }

  private:
    struct Place {
        std::string name;
        size_t worker;
        Ledger& ledger;

        // Before what may crash.
        void begin(Row row, const std::string& what) const {
            ledger.note(worker, std::string(kRows[row]) + ": " + name + what);
        }
        void end(Row row, const std::string& what, const std::optional<std::string>& wrong) const {
            if (wrong.has_value()) {
                ledger.report(row, name + what + ": " + *wrong);
            } else {
                ledger.count(row, Verdict::HELD);
            }
        }
    };

    Model chainFrom(const Model& first, std::mt19937_64& random,
                    std::vector<driver::Model>& alive) const {
        Model chain = first;
        const size_t length = 2 + random() % (kLongestChain - 1);
        for (size_t i = 1; i < length; ++i) {
            const std::optional<Model> next = modelOf(mCases[random() % mCases.size()], alive);
            if (next.has_value() && (chain.referenced.empty() || next->referenced.empty())) {
                append(chain, *next, random);
            }
        }
        return chain;
    }

    void checkCuts(const Place& place, Row row, const Model& model, HalVersion version,
                   std::mt19937_64& random) const {
        if (!driver::validateForVersion(model, version).ok()) {
            place.ledger.count(row, Verdict::EXEMPT);  // a chain that breaks the rules of a rank
            return;
        }
        for (const std::vector<bool>& taken : choices(model.main.operations.size(), random)) {
            std::string what = " at HAL " + std::string(toString(version)) + ", operations";
            for (size_t i = 0; i < taken.size(); ++i) {
                if (taken[i]) {
                    what += " " + driver::labelOf(model.main.operations[i], i);
                }
            }
            if (const std::optional<Model> part = cut(model, taken)) {
                checkSupport(place, row, *part, version, what);
            }
        }
    }

    void checkSupport(const Place& place, Row row, const Model& model, HalVersion version,
                      const std::string& what) const {
        place.begin(row, what);
        const SupportFindings findings = examineSupport(*mOneThread, model, version);
        place.end(row, what, findings.wrong);
        if (!findings.prepares) {
            place.end(NOT_SUPPORTED, what, findings.wrong);
        }
        if (findings.promised.has_value()) {
            place.end(PROMISED, what,
                      findings.promised->ok() ? std::nullopt
                                              : std::optional(findings.promised->toString()));
        }
    }

    void checkInputs(const Place& place, const Model& model) const {
        checkTwins(place, model, "");
        for (uint32_t i = 0; i < model.main.operands.size(); ++i) {
            const OperandLifeTime lifetime = model.main.operands[i].lifetime;
            if (lifetime != OperandLifeTime::CONSTANT_COPY &&
                lifetime != OperandLifeTime::CONSTANT_REFERENCE) {
                continue;
            }
            const Model changed = withInput(model, i);
            const std::string what = " with operand " + std::to_string(i) + " as an input";
            checkSupport(place, INPUTS_FOR_CONSTANTS, changed, driver::kNewestVersion, what);
            checkTwins(place, changed, what);
        }
    }

    void checkTwins(const Place& place, const Model& model, const std::string& what) const {
        if (signedTwin(model).has_value()) {
            place.begin(TWINS, what);
            const TwinFindings findings = examineTwins(*mOneThread, model);
            place.end(TWINS, what, findings.wrong);
            if (!findings.prepares) {
                place.end(TWINS_NOT_SUPPORTED, what, findings.wrong);
            }
        }
    }

    void checkRuns(const Place& place, const Model& model,
                   const runner::pb::Example& example) const {
        constexpr HalVersion kVersion = driver::kNewestVersion;
        const auto prepared = mOneThread->prepare(model, kVersion, {});
        place.begin(REPEATED_RUNS, "");
        if (!prepared.ok()) {
            place.end(REPEATED_RUNS, "", prepared.status().toString());
            return;
        }
        const Outcome expected = run(**prepared, example, kVersion, driver::allocateHeapMemory);
        for (int again = 0; again < 2; ++again) {
            place.end(REPEATED_RUNS, "",
                      difference(expected,
                                 run(**prepared, example, kVersion, driver::allocateHeapMemory)));
        }
        place.begin(THREADS, "");
        if (const auto other = mTwoThreads->prepare(model, kVersion, {}); other.ok()) {
            place.end(THREADS, "",
                      difference(expected,
                                 run(**other, example, kVersion, driver::allocateHeapMemory)));
        } else {
            place.end(THREADS, "", other.status().toString());
        }
        place.begin(LOWERED, "");
        if (const auto lowered = mNotOptimizing->prepare(model, kVersion, {}); lowered.ok()) {
            place.end(LOWERED, "",
                      differenceBeyondRounding(
                              model, run(**lowered, example, kVersion, driver::allocateHeapMemory),
                              expected));
        } else {
            place.end(LOWERED, "", lowered.status().toString());
        }
        checkGuarded(place, GUARD_BEHIND, Guard::BEHIND, model, example, expected);
        checkGuarded(place, GUARD_BEFORE, Guard::BEFORE, model, example, expected);
    }

    void checkGuarded(const Place& place, Row row, Guard guard, const Model& model,
                      const runner::pb::Example& example, const Outcome& expected) const {
        place.begin(row, "");
        const Allocate allocate = [guard](size_t size) { return allocateGuarded(size, guard); };
        const Model guarded = withConstantsIn(model, allocate);
        const auto prepared = mTwoThreads->prepare(guarded, driver::kNewestVersion, {});
        if (!prepared.ok()) {
            place.end(row, "", prepared.status().toString());
            return;
        }
        place.end(row, "",
                  difference(expected, run(**prepared, example, driver::kNewestVersion, allocate)));
    }

    const Cases& mCases;
    const uint64_t mSeed;
    const std::shared_ptr<const driver::Device> mOneThread;
    const std::shared_ptr<const driver::Device> mTwoThreads;
    const std::shared_ptr<const driver::Device> mNotOptimizing;
};

std::shared_ptr<const driver::Device> makeDevice(size_t threads, bool optimize) {
    driver::Options options;
    options.optimize = optimize;
    options.backends = {"CpuRef"};
    options.threads = threads;
    Result<std::unique_ptr<driver::Device>> device = driver::Device::create(options);
    if (!device.ok()) {
        std::fprintf(stderr, "%s\n", device.status().toString().c_str());
        std::abort();
    }
    return std::move(*device);
}

CaseWork makeWork(const Cases& cases, uint64_t seed) {
    const auto examiner = std::make_shared<const Examiner>(
            cases, seed, makeDevice(1, true), makeDevice(2, true), makeDevice(2, false));
    return [examiner](size_t index, size_t worker, Ledger& ledger) {
        examiner->examine(index, worker, ledger);
    };
}

}  // namespace
}  // namespace halyard::validation

int main(int argc, char** argv) {
    using namespace halyard::validation;  // NOLINT(google-build-using-namespace)
    const halyard::Result<WorkOptions> options = parseWorkOptions(argc, argv);
    const halyard::Status done =
            options.ok() ? workThrough(*options, kRows, makeWork) : options.status();
    if (!done.ok()) {
        std::fprintf(stderr, "%s\n", done.toString().c_str());
        return 1;
    }
    return 0;
}
