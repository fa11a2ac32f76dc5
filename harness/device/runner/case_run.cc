// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/case_run.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "driver/model/expressible.h"
#include "harness/device/cases/canonical_model.h"
#include "harness/device/runner/cache_directory.h"
#include "harness/device/runner/node_profile.h"
#include "harness/device/runner/placement_report.h"
#include "harness/device/runner/verdict_report.h"

namespace halyard::runner {

namespace {

using Clock = std::chrono::steady_clock;

uint64_t nanosecondsBetween(Clock::time_point start, Clock::time_point end) {
    return static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(end - start).count());
}

uint64_t nanosecondsSince(Clock::time_point start) {
    return nanosecondsBetween(start, Clock::now());
}

void fail(pb::CaseResult& result, pb::Stage stage, const Outcome& outcome) {
    result.set_failed_stage(outcome.targetDied ? pb::STAGE_CRASH : stage);
    result.set_status(static_cast<pb::ErrorStatus>(outcome.status));
    result.set_message(reasonOf(outcome));
}

// Shape of an output: what the target reports, else what the request or the model says.
std::vector<uint32_t> shapeOf(const pb::Model& model, const driver::Request& request,
                              const driver::ExecutionResult& execution, size_t output) {
    if (output < execution.outputShapes.size()) {
        return execution.outputShapes[output].dimensions;
    }
    const std::vector<uint32_t>& asked = request.outputs[output].dimensions;
    if (!asked.empty()) {
        return asked;
    }
    const auto index = static_cast<int>(output);
    if (index < model.main().output_indexes_size()) {
        const uint32_t operand = model.main().output_indexes(index);
        if (operand < static_cast<uint32_t>(model.main().operands_size())) {
            const auto& dimensions = model.main().operands(static_cast<int>(operand)).dimensions();
            return {dimensions.begin(), dimensions.end()};
        }
    }
    return {};
}

// Bytes of an output's buffer that hold its result; all of them where that can't be told.
uint64_t resultSize(const pb::Model& model, const std::vector<uint32_t>& shape, size_t output,
                    bool shapeIsReported, uint64_t bufferSize) {
    const auto index = static_cast<int>(output);
    if (index >= model.main().output_indexes_size()) {
        return bufferSize;
    }
    const uint32_t operand = model.main().output_indexes(index);
    if (operand >= static_cast<uint32_t>(model.main().operands_size())) {
        return bufferSize;
    }
    const driver::OperandTypeInfo* type = driver::findOperandType(static_cast<driver::OperandType>(
            model.main().operands(static_cast<int>(operand)).type()));
    const bool unspecified = std::find(shape.begin(), shape.end(), 0U) != shape.end();
    if (type == nullptr || type->elementSize == 0 || (unspecified && !shapeIsReported) ||
        (shape.empty() && type->isTensor() && !shapeIsReported)) {
        return bufferSize;
    }
    uint64_t size = type->elementSize;
    for (const uint32_t extent : shape) {
        if (__builtin_mul_overflow(size, uint64_t{extent}, &size)) {
            return bufferSize;
        }
    }
    return std::min(size, bufferSize);
}

// The executions of one example. The outcome is that of the first one that failed.
Outcome runExample(const Target& target, driver::IPreparedModel& prepared,
                   const pb::TestCase& testCase, const pb::Example& example,
                   const pb::RunOptions& options, pb::CaseResult& caseResult,
                   pb::ExampleResult& result) {
    const Result<driver::Request> request = toCanonical(example);
    if (!request.ok()) {
        return {.status = driver::ErrorStatus::INVALID_ARGUMENT,
                .message = request.status().toString()};
    }
    driver::ExecutionResult last;
    Outcome outcome = executeRepeatedly(target, prepared, *request, options, last, result);
    const bool tooSmall = outcome.status == driver::ErrorStatus::OUTPUT_INSUFFICIENT_SIZE;
    if (outcome.ok() || tooSmall) {
        const Status collected =
                collectOutputs(testCase.model(), *request, last, outcome.ok(), result);
        if (!collected.ok()) {
            return {.status = driver::ErrorStatus::GENERAL_FAILURE,
                    .message = collected.toString()};
        }
    }
    const bool isFirst = &example == &testCase.examples(0);
    if (outcome.ok() && isFirst && options.profile() > 0) {
        return profile(target, prepared, *request, options, options.profile(), caseResult);
    }
    return outcome;
}

// Executions of which the times are kept, where it is a time that says how many there are.
constexpr int kMostTimings = 1'000'000;

// How many executions there are, one after the other.
struct RunLimits {
    uint32_t least = 0;
    double leastSeconds = 0;
    double mostSeconds = 0;  // 0: no limit

    bool goesOn(int done, double seconds) const {
        if (done > 0 && mostSeconds > 0 && seconds >= mostSeconds) {
            return false;
        }
        return static_cast<uint32_t>(done) < least ||
               (seconds < leastSeconds && done < kMostTimings);
    }
};

// `last` is good before, and after each but the last.
void executeWithin(Executions& executions, const RunLimits& limits, driver::ExecutionResult& last,
                   google::protobuf::RepeatedPtrField<pb::Timing>& timings) {
    const Clock::time_point begin = Clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    while (last.status.ok() && limits.goesOn(timings.size(), seconds())) {
        const Clock::time_point start = Clock::now();
        last = executions.run();
        const uint64_t wall = nanosecondsSince(start);
        if (!last.status.ok()) {
            return;
        }
        pb::Timing& timing = *timings.Add();
        const driver::Timing& told = last.timing;
        if (told.timeOnDevice.has_value()) {
            timing.set_time_on_device_ns(static_cast<uint64_t>(told.timeOnDevice->count()));
        }
        if (told.timeInDriver.has_value()) {
            timing.set_time_in_driver_ns(static_cast<uint64_t>(told.timeInDriver->count()));
        }
        timing.set_wall_ns(wall);
        timing.set_begin_ns(nanosecondsBetween({}, start));
    }
}

// "; not supported: operation 3 (POW)", or nothing.
std::string refusedOperations(const driver::Model& model, const pb::CaseResult& result) {
    constexpr size_t kMostNamed = 5;
    std::string text;
    size_t refused = 0;
    const auto& supported = result.supported_operations();
    const size_t count =
            std::min<size_t>(static_cast<size_t>(supported.size()), model.main.operations.size());
    for (size_t i = 0; i < count; ++i) {
        if (!supported[static_cast<int>(i)] && ++refused <= kMostNamed) {
            text += (text.empty() ? "; not supported: " : ", ") +
                    labelOf(model.main.operations[i], i);
        }
    }
    if (refused > kMostNamed) {
        text += " and " + std::to_string(refused - kMostNamed) + " more";
    }
    return text;
}

// With the verdicts, where the driver is in this process.
Result<std::vector<bool>> askForSupport(const Target& target, const driver::Model& model,
                                        pb::CaseResult& result) {
    if (target.driver == nullptr) {
        return target.device->supportedOperations(model);
    }
    driver::Verdicts verdicts(model);
    Result<std::vector<bool>> supported =
            target.driver->supportedOperations(model, target.device->version(), nullptr, &verdicts);
    reportVerdicts(std::move(verdicts), result);
    return supported;
}

std::string nameOf(const pb::Example& example, int index) {
    return example.name().empty() ? "example " + std::to_string(index) : example.name();
}

void runExamples(const Target& target, driver::IPreparedModel& prepared,
                 const pb::TestCase& testCase, const pb::RunOptions& options,
                 const Progress& progress, pb::CaseResult& result) {
    for (int i = 0; i < testCase.examples_size(); ++i) {
        const pb::Example& example = testCase.examples(i);
        const std::string name = nameOf(example, i);
        if (i == 0) {
            // The later ones would send all earlier results along.
            result.set_message("executing");
            progress(result);
            result.clear_message();
        }
        pb::ExampleResult& executed = *result.add_examples();
        executed.set_name(example.name());
        const Outcome outcome =
                runExample(target, prepared, testCase, example, options, result, executed);
        executed.set_status(static_cast<pb::ErrorStatus>(outcome.status));
        executed.set_message(reasonOf(outcome));
        if (!outcome.ok() && result.failed_stage() == pb::STAGE_NONE) {
            fail(result, pb::STAGE_EXECUTE, outcome);
            result.set_message(name + ": " + reasonOf(outcome));
        }
        if (outcome.targetDied) {
            result.set_failed_stage(pb::STAGE_CRASH);
            result.set_message(name + ": " + outcome.message);
            return;
        }
    }
}

}  // namespace

std::string versionString(const Target& target) {
    const Result<std::string> text = target.device->versionString();
    return text.ok() ? *text : std::string();
}

std::string reasonOf(const Outcome& outcome) {
    const std::string status = std::string(driver::nameOf(outcome.status)) + ": ";
    return outcome.message.starts_with(status) ? outcome.message.substr(status.size())
                                               : outcome.message;
}

pb::CaseResult beginResult(const pb::TestCase& testCase, const std::string& targetName,
                           driver::HalVersion version) {
    pb::CaseResult result;
    result.set_name(testCase.name());
    result.set_target(targetName);
    result.set_hal_version(toMessage(version));
    return result;
}

std::optional<driver::Model> loadModel(const Target& target, const pb::TestCase& testCase,
                                       pb::CaseResult& result) {
    Result<driver::Model> model = toCanonical(testCase.model());
    Status loadable = model.status();
    if (loadable.ok()) {
        loadable = checkExpressible(*model, target.device->version());
    }
    if (!loadable.ok()) {
        fail(result, pb::STAGE_LOAD,
             {.status = driver::ErrorStatus::INVALID_ARGUMENT, .message = loadable.toString()});
        return std::nullopt;
    }
    return std::move(*model);
}

PrepareSettings prepareSettings(const pb::RunOptions& options) {
    return {.preference = static_cast<driver::ExecutionPreference>(options.preference()),
            .priority = static_cast<driver::Priority>(options.priority())};
}

ExecuteSettings executeSettings(const pb::RunOptions& options) {
    return {.mode = options.mode(), .measureTiming = options.measure_timing()};
}

std::shared_ptr<driver::IPreparedModel> prepareModel(const Target& target,
                                                     const driver::Model& model,
                                                     const PrepareSettings& settings,
                                                     pb::CaseResult& result) {
    const Clock::time_point start = Clock::now();
    Result<PreparedModel> prepared = prepare(target, model, settings);
    result.set_prepare_ns(nanosecondsSince(start));
    if (!prepared.ok()) {
        Outcome outcome = outcomeOf(target, prepared.status());
        if (target.driver == nullptr && !outcome.targetDied) {
            // HIDL itself has no words for a reason.
            outcome.message += refusedOperations(model, result);
        }
        if (target.driver != nullptr) {
            reportPreparation(model, prepared.status(), result);
        }
        fail(result, pb::STAGE_PREPARE, outcome);
        return nullptr;
    }
    result.set_prepared_from_cache(prepared->fromCache);
    return std::move(prepared->model);
}

Outcome executeRepeatedly(const Target& target, driver::IPreparedModel& prepared,
                          const driver::Request& request, const pb::RunOptions& options,
                          driver::ExecutionResult& last, pb::ExampleResult& result) {
    Result<Executions> executions = Executions::create(prepared, request, executeSettings(options));
    if (!executions.ok()) {
        return outcomeOf(target, executions.status());
    }
    last = {};
    const RunLimits warmup{.least = options.warmup(),
                           .leastSeconds = options.warmup_s(),
                           .mostSeconds = options.max_s()};
    const RunLimits counted{.least = std::max<uint32_t>(options.repeat(), 1),
                            .leastSeconds = options.min_s(),
                            .mostSeconds = options.max_s()};
    executeWithin(*executions, warmup, last, *result.mutable_warmup_timings());
    executeWithin(*executions, counted, last, *result.mutable_timings());
    return outcomeOf(target, last.status);
}

Status collectOutputs(const pb::Model& model, const driver::Request& request,
                      const driver::ExecutionResult& last, bool withData,
                      pb::ExampleResult& result) {
    HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes,
                             std::get<driver::SharedMemory>(request.pools[kOutputPool])->map());
    for (size_t i = 0; i < request.outputs.size(); ++i) {
        const driver::DataLocation& location = request.outputs[i].location;
        const bool reported = i < last.outputShapes.size();
        const std::vector<uint32_t> shape = shapeOf(model, request, last, i);
        pb::OutputResult& output = *result.add_outputs();
        output.mutable_dimensions()->Assign(shape.begin(), shape.end());
        output.set_is_sufficient(!reported || last.outputShapes[i].isSufficient);
        if (withData) {
            const uint64_t size = resultSize(model, shape, i, reported, location.length);
            output.set_data(bytes.data() + location.offset, size);
        }
    }
    return {};
}

void runCase(const Target& target, const pb::TestCase& testCase, const pb::RunOptions& options,
             const Progress& progress, pb::CaseResult& result) {
    result.set_version_string(versionString(target));
    const std::optional<driver::Model> model = loadModel(target, testCase, result);
    if (!model.has_value()) {
        return;
    }

    result.set_message("asking for supported operations");
    progress(result);
    // Every client asks for them; they have no place in the result, but must be readable.
    const Status capable = target.device->capabilities().status();
    const Result<std::vector<bool>> supported =
            capable.ok() ? askForSupport(target, *model, result) : capable;
    if (!supported.ok()) {
        return fail(result, pb::STAGE_SUPPORT, outcomeOf(target, supported.status()));
    }
    for (const bool flag : *supported) {
        result.add_supported_operations(flag);
    }

    result.set_message("preparing");
    progress(result);
    PrepareSettings settings = prepareSettings(options);
    if (!options.cache_folder().empty()) {
        Result<std::shared_ptr<const driver::CompilationCache>> cache =
                openCache(options.cache_folder(), testCase.model(), settings.preference, target);
        if (!cache.ok()) {
            return fail(result, pb::STAGE_LOAD, outcomeOf(target, cache.status()));
        }
        settings.cache = std::move(*cache);
    }
    const std::shared_ptr<driver::IPreparedModel> prepared =
            prepareModel(target, *model, settings, result);
    if (prepared == nullptr) {
        return;
    }
    result.clear_message();
    readPlacement(prepared->report(), result);

    runExamples(target, *prepared, testCase, options, progress, result);
    if (result.failed_stage() != pb::STAGE_CRASH) {
        // The arena's size is known once the model has run.
        readPlacement(prepared->report(), result);
        result.mutable_memory()->set_peak_rss_bytes(peakRssBytes(target));
    }
}

}  // namespace halyard::runner
