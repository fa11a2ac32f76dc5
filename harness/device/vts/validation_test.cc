// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/validation_test.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hal/hidl/client/prepared_model.h"
#include "harness/device/vts/fixture/context.h"
#include "harness/device/vts/validation/burst.h"
#include "harness/device/vts/validation/judgement.h"
#include "harness/device/vts/validation/mutant.h"

namespace halyard::vts {
namespace {

using driver::HalVersion;
using driver::Request;

// ---- Models -------------------------------------------------------------------------------------

void makeMutants(const MutantSource& source) {
    mutateOperands(source);
    mutateLifetimes(source);
    mutateOperations(source);
    mutateArguments(source);
}

Verdict checkMutants(Context& context, Mutation mutation) {
    const Result<driver::Model>& model = context.model();
    if (!model.ok()) {
        return failed(model.status().toString());
    }
    size_t tried = 0;
    std::string complaints;
    const auto judge = [&](const Mutant& mutant) {
        // A mutant that may be valid after all is not checked here.
        if (mutant.exempt || mutant.further || !complaints.empty()) {
            return;
        }
        ++tried;
        std::optional<std::string> wrong = complaint(context.device(Methods::PLAIN), mutant);
        if (!wrong.has_value() && context.version() >= HalVersion::AIDL_V4) {
            wrong = complaintAboutPrepare(context.device(Methods::WITH_CONFIG), mutant);
        }
        if (wrong.has_value()) {
            complaints = mutant.what + ": " + *wrong + ", not INVALID_ARGUMENT";
        }
    };
    makeMutants({.model = *model, .version = context.version(), .judge = judge, .only = mutation});
    if (!complaints.empty()) {
        return failed(complaints);
    }
    return tried != 0 ? passed()
                      : skipped("nothing of the model can be changed in this way and be invalid");
}

struct MutationRow {
    Mutation mutation;
    HalVersion since = HalVersion::V1_0;
    HalVersion until = driver::kNewestVersion;
};

constexpr MutationRow kMutations[] = {
        {Mutation::EXECUTION_ORDER},
        {Mutation::OPERAND_TYPE},
        {Mutation::OPERAND_RANK},
        {Mutation::OPERAND_SCALE},
        {Mutation::OPERAND_ZERO_POINT},
        {Mutation::OPERAND_LIFE_TIME},
        {Mutation::OPERAND_INPUT_OUTPUT},
        {Mutation::OPERAND_NUMBER_OF_CONSUMERS, HalVersion::V1_0, HalVersion::V1_3},
        {Mutation::OPERAND_ADD_WRITER},
        {Mutation::OPERATION_OPERAND_TYPE},
        {Mutation::OPERATION_TYPE},
        {Mutation::OPERATION_INPUT_OPERAND_INDEX},
        {Mutation::OPERATION_OUTPUT_OPERAND_INDEX},
        {Mutation::OPERATION_REMOVE_WRITE},
        {Mutation::REMOVE_OPERAND},
        {Mutation::REMOVE_OPERATION},
        {Mutation::REMOVE_OPERATION_INPUT},
        {Mutation::REMOVE_OPERATION_OUTPUT},
        {Mutation::ADD_OPERATION_INPUT},
        {Mutation::ADD_OPERATION_OUTPUT},
        {Mutation::EXECUTION_PREFERENCE, HalVersion::V1_1},
        {Mutation::EXECUTION_PRIORITY, HalVersion::V1_3},
};

// ---- Requests -----------------------------------------------------------------------------------

// The case's model and request, or why there are none.
Verdict fetch(Context& context, std::shared_ptr<driver::IPreparedModel>& model, Request& request,
              Methods methods = Methods::PLAIN) {
    const Preparation& prepared = context.prepared(methods);
    if (prepared.model == nullptr) {
        return prepared.verdict;
    }
    Result<Request> made = context.request();
    if (!made.ok()) {
        return failed(made.status().toString());
    }
    model = prepared.model;
    request = std::move(*made);
    return passed();
}

// Every request with one argument left out.
template <typename Arguments, typename Check>
std::optional<std::string> complaintWithout(Arguments Request::*arguments, const Request& request,
                                            std::string_view kind, const Check& check) {
    for (size_t i = 0; i < (request.*arguments).size(); ++i) {
        Request mutant = request;
        (mutant.*arguments).erase((mutant.*arguments).begin() + static_cast<std::ptrdiff_t>(i));
        if (const auto wrong = check(mutant, i % 2 == 1)) {
            return "without " + std::string(kind) + " " + std::to_string(i) + ", " + *wrong;
        }
    }
    return std::nullopt;
}

Verdict verdictOf(const std::optional<std::string>& complaint) {
    return complaint.has_value() ? failed(*complaint + ", not INVALID_ARGUMENT") : passed();
}

template <typename Arguments>
Verdict removeTest(Context& context, Arguments Request::*arguments, std::string_view kind) {
    return byAllMethods(context, [&](Methods methods) {
        std::shared_ptr<driver::IPreparedModel> model;
        Request request;
        if (Verdict verdict = fetch(context, model, request, methods); !verdict.hasPassed()) {
            return verdict;
        }
        return verdictOf(complaintWithout(
                arguments, request, kind, [&](const Request& mutant, bool measureTiming) {
                    return complaint(*model, context.version(), mutant, measureTiming);
                }));
    });
}

Verdict removeInputTest(Context& context) {
    return removeTest(context, &Request::inputs, "input");
}

Verdict removeOutputTest(Context& context) {
    return removeTest(context, &Request::outputs, "output");
}

Verdict validateReusableExecution(Context& context) {
    std::shared_ptr<driver::IPreparedModel> model;
    Request request;
    if (Verdict verdict = fetch(context, model, request, Methods::WITH_CONFIG);
        !verdict.hasPassed()) {
        return verdict;
    }
    const auto check = [&](const Request& mutant, bool measureTiming) {
        return reusableExecutor().complaint(*model, mutant, measureTiming);
    };
    std::optional<std::string> wrong = complaintWithout(&Request::inputs, request, "input", check);
    if (!wrong.has_value()) {
        wrong = complaintWithout(&Request::outputs, request, "output", check);
    }
    return verdictOf(wrong);
}

// A request that must fail, of a model that need not.
Verdict validateRequestFailure(Context& context, Methods methods) {
    std::shared_ptr<driver::IPreparedModel> model;
    Request request;
    if (Verdict verdict = fetch(context, model, request, methods); !verdict.hasPassed()) {
        return verdict;
    }
    const driver::ExecutionResult result = model->execute(request, {});
    if (result.status.ok()) {
        return failed("executeSynchronously of a request that must fail gives NONE");
    }
    if (!result.outputShapes.empty() || result.timing != driver::Timing()) {
        return failed("executeSynchronously tells shapes or times of a request that failed");
    }
    return passed();
}

// A fence that is none, which HIDL has words for.
Verdict validateExecuteFenced(Context& context) {
    std::shared_ptr<driver::IPreparedModel> model;
    Request request;
    if (Verdict verdict = fetch(context, model, request); !verdict.hasPassed()) {
        return verdict;
    }
    driver::ExecuteOptions options;
    options.waitFor = {nullptr};
    return expectStatus(model->executeFenced(request, options).status(), context.version(),
                        {driver::ErrorStatus::INVALID_ARGUMENT},
                        "executeFenced with a fence that is null");
}

// ---- Bursts of AIDL -----------------------------------------------------------------------------

constexpr int64_t kNoIdentifier = -1;
constexpr int64_t kInvalidIdentifier = -2;

Verdict validateBurst(Context& context, Methods methods) {
    std::shared_ptr<driver::IPreparedModel> model;
    Request request;
    if (Verdict verdict = fetch(context, model, request, methods); !verdict.hasPassed()) {
        return verdict;
    }
    const Result<std::shared_ptr<driver::IBurst>> burst = model->makeBurst();
    if (!burst.ok()) {
        return expectStatus(burst.status(), context.version(), {driver::ErrorStatus::NONE},
                            "configureExecutionBurst");
    }
    const size_t pools = request.pools.size();
    std::vector<std::vector<int64_t>> wrong = {std::vector<int64_t>(pools + 1, kNoIdentifier)};
    if (pools != 0) {
        wrong.emplace_back(pools - 1, kNoIdentifier);
    }
    for (size_t i = 0; i < pools; ++i) {
        std::vector<int64_t>& identifiers = wrong.emplace_back();
        for (size_t pool = 0; pool < pools; ++pool) {
            identifiers.push_back(pool == i ? kInvalidIdentifier : static_cast<int64_t>(pool));
        }
    }
    for (const std::vector<int64_t>& identifiers : wrong) {
        const Verdict verdict =
                expectStatus((*burst)->execute(request, identifiers, {}).status, context.version(),
                             {driver::ErrorStatus::INVALID_ARGUMENT},
                             std::to_string(identifiers.size()) + " memory identifiers for " +
                                     std::to_string(pools) + " pools, or one of " +
                                     std::to_string(kInvalidIdentifier));
        if (!verdict.hasPassed()) {
            return verdict;
        }
    }
    return expectStatus((*burst)->releaseMemory(kInvalidIdentifier), context.version(),
                        {driver::ErrorStatus::INVALID_ARGUMENT},
                        "releaseMemoryResource(" + std::to_string(kInvalidIdentifier) + ")");
}

// ---- Bursts of HIDL -----------------------------------------------------------------------------

Verdict checkBurst(Context& context, BurstCheck* check) {
    if (context.serviceName().empty()) {
        return skipped("the device runs in-process, where a burst has no queues");
    }
    std::shared_ptr<driver::IPreparedModel> model;
    Request request;
    if (Verdict verdict = fetch(context, model, request); !verdict.hasPassed()) {
        return verdict;
    }
    return check(
            [&](const hal::hidl::BurstChannel::Lengths& lengths) {
                return hal::hidl::openBurstChannel(*model, lengths);
            },
            request);
}

struct BurstRow {
    std::string_view name;
    BurstCheck* check;
};

constexpr BurstRow kBurstChecks[] = {
        {"removeDatumTest", removeDatumTest},
        {"addDatumTest", addDatumTest},
        {"mutateDatumTest", mutateDatumTest},
        {"validateBurstFmqLength", validateBurstFmqLength},
        {"validateBurstSanitized", validateBurstSanitized},
};

}  // namespace

Checks validationTest() {
    Checks checks;
    const auto add = [&checks](std::string_view variant, HalVersion since, HalVersion until,
                               std::function<Verdict(Context&)> run,
                               Scope scope = Scope::EACH_CASE) {
        checks.push_back({.suite = "ValidationTest",
                          .name = "Test",
                          .variant = std::string(variant),
                          .scope = scope,
                          .since = since,
                          .until = until,
                          .run = std::move(run)});
    };
    for (const MutationRow& row : kMutations) {
        add(
                kMutationNames[rowOf(row.mutation)], row.since, row.until,
                [mutation = row.mutation](Context& context) {
                    return checkMutants(context, mutation);
                },
                Scope::ANY_CASE);
    }
    add("removeInputTest", HalVersion::V1_0, driver::kNewestVersion, removeInputTest);
    add("removeOutputTest", HalVersion::V1_0, driver::kNewestVersion, removeOutputTest);
    // Before 1.2 no case must fail.
    add(
            "validateRequestFailure", HalVersion::V1_2, driver::kNewestVersion,
            [](Context& context) {
                return byAllMethods(context, [&](Methods methods) {
                    return validateRequestFailure(context, methods);
                });
            },
            Scope::FAILING_CASE);
    add("validateExecuteFenced", HalVersion::V1_3, HalVersion::V1_3, validateExecuteFenced);
    for (const BurstRow& row : kBurstChecks) {
        add(row.name, HalVersion::V1_2, HalVersion::V1_3,
            [check = row.check](Context& context) { return checkBurst(context, check); });
    }
    add("validateBurst", HalVersion::AIDL_V1, driver::kNewestVersion, [](Context& context) {
        return byAllMethods(context,
                            [&](Methods methods) { return validateBurst(context, methods); });
    });
    add("validateReusableExecution", HalVersion::AIDL_V4, driver::kNewestVersion,
        validateReusableExecution);
    return checks;
}

}  // namespace halyard::vts
