// SPDX-License-Identifier: Apache-2.0
//
// halyard_mutations --bundle FILE [--workers N]: every mutant of every case of a bundle, at
// each HAL version from the lowest that carries the case on. Writes the counts by mutation as JSON.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "driver/device/device.h"
#include "driver/device/device_interface.h"
#include "driver/device/local_device.h"
#include "driver/ops/lowest_version.h"
#include "harness/device/cases/canonical_model.h"
#include "harness/device/vts/validation/judgement.h"
#include "harness/device/vts/validation/mutant.h"
#include "tests/validation/ledger.h"
#include "tests/validation/work.h"

namespace halyard::validation {
namespace {

using driver::HalVersion;
using runner::pb::TestCase;
using vts::Mutant;
using vts::MutantSource;
using vts::Mutation;
using vts::rowOf;

// One case in one version, and where what becomes of its mutants is written.
class Examination {
  public:
    Examination(driver::IDevice& device, std::string name, size_t worker, Ledger& ledger)
        : mDevice(device),
          mVersion(device.version()),
          mName(std::move(name)),
          mWorker(worker),
          mLedger(ledger) {}

    void ofModel(const driver::Model& model) const {
        MutantSource source = {.model = model,
                               .version = mVersion,
                               .referenced = {},
                               .judge = [this](const Mutant& mutant) { judge(mutant); }};
        vts::mutateArguments(source);
        mutateSubgraph(source);
        for (size_t i = 0; i < model.referenced.size(); ++i) {
            source.referenced = i;
            mutateSubgraph(source);
        }
    }

    // Each argument left out in turn.
    void ofRequest(driver::IPreparedModel& model, const driver::Request& request) const {
        const auto leaveOut = [&](Mutation mutation, auto arguments) {
            for (size_t i = 0; i < (request.*arguments).size(); ++i) {
                driver::Request mutant = request;
                (mutant.*arguments)
                        .erase((mutant.*arguments).begin() + static_cast<std::ptrdiff_t>(i));
                const std::string what = "argument " + std::to_string(i);
                begin(mutation, what);
                end(mutation, what, false, vts::complaint(model, mVersion, mutant));
            }
        };
        leaveOut(Mutation::REMOVE_INPUT, &driver::Request::inputs);
        leaveOut(Mutation::REMOVE_OUTPUT, &driver::Request::outputs);
    }

    // The model itself is wrong, so that its mutants would prove nothing.
    void reject(std::string_view why) const {
        mLedger.report(rowOf(Mutation::EXECUTION_ORDER),
                       mName + ": the model itself does not prepare: " + std::string(why));
    }

  private:
    static void mutateSubgraph(const MutantSource& source) {
        vts::mutateOperands(source);
        vts::mutateLifetimes(source);
        vts::mutateOperations(source);
    }
    std::string place(const std::string& what) const {
        return mName + " at HAL " + std::string(toString(mVersion)) + ", " + what;
    }
    void begin(Mutation mutation, const std::string& what) const {
        mLedger.note(mWorker,
                     std::string(vts::kMutationNames[rowOf(mutation)]) + ": " + place(what));
    }
    void end(Mutation mutation, const std::string& what, bool exempt,
             const std::optional<std::string>& wrong) const {
        if (wrong.has_value()) {
            mLedger.report(rowOf(mutation), place(what) + ": " + *wrong);
        } else {
            mLedger.count(rowOf(mutation), exempt ? Verdict::EXEMPT : Verdict::HELD);
        }
    }
    void judge(const Mutant& mutant) const {
        begin(mutant.mutation, mutant.what);
        end(mutant.mutation, mutant.what, mutant.exempt, vts::complaint(mDevice, mutant));
    }

    driver::IDevice& mDevice;
    const HalVersion mVersion;
    const std::string mName;
    const size_t mWorker;
    Ledger& mLedger;
};

void examine(const std::shared_ptr<const driver::Device>& driver, const TestCase& testCase,
             size_t worker, Ledger& ledger) {
    const Result<driver::Model> model = runner::toCanonical(testCase.model());
    const Result<HalVersion> lowest =
            model.ok() ? driver::lowestVersion(*model) : Result<HalVersion>(model.status());
    for (const HalVersion version : driver::allVersions()) {
        const std::shared_ptr<driver::IDevice> device = driver::makeLocalDevice(driver, version);
        const Examination examination(*device, testCase.name(), worker, ledger);
        if (!lowest.ok()) {
            examination.reject(lowest.status().toString());
            return;
        }
        // AIDL's versions differ in operations.
        if (version < *lowest || (version > HalVersion::V1_3 && version < driver::kNewestVersion)) {
            continue;
        }
        const auto prepared = device->prepare(*model, {});
        if (!prepared.ok()) {
            examination.reject(prepared.status().toString());
            continue;
        }
        examination.ofModel(*model);
        for (const runner::pb::Example& example : testCase.examples()) {
            if (const auto request = runner::toCanonical(example); request.ok()) {
                examination.ofRequest(**prepared, *request);
            } else {
                examination.reject(request.status().toString());
            }
        }
    }
}

CaseWork makeWork(const Cases& cases, uint64_t /*seed*/) {
    driver::Options options;
    options.backends = {"CpuRef"};
    options.threads = 1;
    Result<std::unique_ptr<driver::Device>> made = driver::Device::create(options);
    if (!made.ok()) {
        std::fprintf(stderr, "%s\n", made.status().toString().c_str());
        std::abort();
    }
    const std::shared_ptr<const driver::Device> device = std::move(*made);
    return [device, &cases](size_t index, size_t worker, Ledger& ledger) {
        examine(device, cases[index], worker, ledger);
    };
}

}  // namespace
}  // namespace halyard::validation

int main(int argc, char** argv) {
    using namespace halyard::validation;  // NOLINT(google-build-using-namespace)
    const halyard::Result<WorkOptions> options = parseWorkOptions(argc, argv);
    const halyard::Status done =
            options.ok() ? workThrough(*options, halyard::vts::kMutationNames, makeWork)
                         : options.status();
    if (!done.ok()) {
        std::fprintf(stderr, "%s\n", done.toString().c_str());
        return 1;
    }
    return 0;
}
