// SPDX-License-Identifier: Apache-2.0

#include "nnapi/compilation.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "engine/base/log.h"
#include "nnapi/compilation_files.h"
#include "nnapi/timeouts.h"

namespace halyard::nnapi {
namespace {

Result<std::vector<FileDescriptor>> duplicates(std::span<const int> descriptors) {
    std::vector<FileDescriptor> copies;
    for (const int each : descriptors) {
        FileDescriptor copy(fcntl(each, F_DUPFD_CLOEXEC, 0));
        if (!copy.valid()) {
            return invalidArgument("descriptor " + std::to_string(each) +
                                   " of a cache is not open");
        }
        copies.push_back(std::move(copy));
    }
    return copies;
}

}  // namespace

Answer addHint(ExtensionPrefixes& prefixes, std::string_view extension, uint16_t code,
               std::span<const uint8_t> data, driver::ExtensionHints& hints) {
    const std::optional<uint16_t> prefix = prefixes.prefixOf(extension);
    if (!prefix.has_value()) {
        return badData("no device has the extension " + std::string(extension));
    }
    const uint32_t token = uint32_t{*prefix} << 16 | code;
    if (std::ranges::find(hints.pairs, token, &driver::ExtensionHints::TokenValuePair::token) !=
        hints.pairs.end()) {
        return badData("attribute " + std::to_string(code) + " of " + std::string(extension) +
                       " is there already");
    }
    hints.pairs.push_back({.token = token, .value = {data.begin(), data.end()}});
    if (std::ranges::find(hints.extensionNameToPrefix, *prefix,
                          &driver::ExtensionNameAndPrefix::prefix) ==
        hints.extensionNameToPrefix.end()) {
        hints.extensionNameToPrefix.push_back({.name = std::string(extension), .prefix = *prefix});
    }
    return {};
}

Answer Compiled::fallBack(std::shared_ptr<const driver::Model> part, RunStep& step) const {
    if (reference == nullptr) {
        return badData("there is nothing to fall back to");
    }
    const std::lock_guard lock(mutex);
    const auto known =
            std::ranges::find_if(fallbacks, [&](const auto& each) { return each.first == part; });
    if (known != fallbacks.end()) {
        step.device = reference;
        step.prepared = known->second;
        return {};
    }
    PlanningOptions options = planning;
    options.deadline = {};
    HALYARD_RETURN_UNLESS_OK(prepareWhole(*reference, part, options, step));
    fallbacks.emplace_back(std::move(part), step.prepared);
    return {};
}

const Diagnosed& Compiled::diagnosed() const {
    const std::lock_guard lock(mutex);
    if (!whatIsTold.has_value()) {
        whatIsTold = diagnose(*model, devices);
        whatIsTold->isCached = isCached;
    }
    return *whatIsTold;
}

CompilationBuilder::CompilationBuilder(std::shared_ptr<const FinishedModel> model,
                                       ExtensionPrefixes& prefixes,
                                       std::vector<const RuntimeDevice*> devices, bool isExplicit)
    : mModel(std::move(model)),
      mPrefixes(prefixes),
      mDevices(std::move(devices)),
      mIsExplicit(isExplicit) {}

Answer CompilationBuilder::checkOpen() const {
    return mIsClosed ? badState("the compilation is finished") : Answer();
}

Answer CompilationBuilder::checkFinished() const {
    if (mCompiled != nullptr) {
        return {};
    }
    return badState(mIsClosed ? "the compilation has failed" : "the compilation is not finished");
}

Answer CompilationBuilder::checkBoundary(bool isInput, uint32_t index) const {
    HALYARD_RETURN_UNLESS_OK(checkFinished());
    const size_t count = (isInput ? mModel->inputs : mModel->outputs).size();
    return index < count ? Answer()
                         : badData("there is no " + std::string(isInput ? "input " : "output ") +
                                   std::to_string(index) + " of " + std::to_string(count));
}

Answer CompilationBuilder::setPreference(int32_t preference) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    if (preference < ANEURALNETWORKS_PREFER_LOW_POWER ||
        preference > ANEURALNETWORKS_PREFER_SUSTAINED_SPEED) {
        return badData("there is no preference " + std::to_string(preference));
    }
    mPreference = static_cast<driver::ExecutionPreference>(preference);
    return {};
}

Answer CompilationBuilder::setPriority(int priority) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    switch (priority) {
        case ANEURALNETWORKS_PRIORITY_LOW:
            mPriority = driver::Priority::LOW;
            return {};
        case ANEURALNETWORKS_PRIORITY_MEDIUM:
            mPriority = driver::Priority::MEDIUM;
            return {};
        case ANEURALNETWORKS_PRIORITY_HIGH:
            mPriority = driver::Priority::HIGH;
            return {};
        default:
            return badData("there is no priority " + std::to_string(priority));
    }
}

Answer CompilationBuilder::setTimeout(uint64_t nanoseconds) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    if (onlyDevice() == nullptr) {
        return badData("only a compilation for exactly one device takes a timeout");
    }
    mTimeout = clampedNanoseconds(nanoseconds);
    return {};
}

Answer CompilationBuilder::setCaching(std::string directory, std::span<const uint8_t, 32> token) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    Token copy = {};
    std::ranges::copy(token, copy.begin());
    mCache = std::make_shared<CompilationFiles>(std::move(directory), copy);
    return {};
}

Answer CompilationBuilder::setCachingFromDescriptors(std::span<const int> models,
                                                     std::span<const int> data,
                                                     std::span<const uint8_t, 32> token) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    if (onlyDevice() == nullptr) {
        return badData("only a compilation for exactly one device takes descriptors of a cache");
    }
    Result<std::vector<FileDescriptor>> modelFiles = duplicates(models);
    Result<std::vector<FileDescriptor>> dataFiles = duplicates(data);
    HALYARD_RETURN_UNLESS_OK(answerOf(modelFiles.status()));
    HALYARD_RETURN_UNLESS_OK(answerOf(dataFiles.status()));
    Token copy = {};
    std::ranges::copy(token, copy.begin());
    mCache =
            std::make_shared<CompilationFiles>(*std::move(modelFiles), *std::move(dataFiles), copy);
    return {};
}

Answer CompilationBuilder::addExtensionAttribute(std::string_view extension, uint16_t code,
                                                 std::span<const uint8_t> data) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    if (onlyDevice() == nullptr) {
        return badData("only a compilation for exactly one device takes attributes of extensions");
    }
    return addHint(mPrefixes, extension, code, data, mHints);
}

Answer CompilationBuilder::compileInto(Compiled& compiled) const {
    compiled.model = mModel;
    compiled.devices = mDevices;
    compiled.isCached = hasCache();
    compiled.onlyDevice = onlyDevice();
    compiled.isExplicit = mIsExplicit;
    compiled.prefixes = &mPrefixes;
    compiled.planning = {.devices = {},
                         .preference = mPreference,
                         .priority = mPriority,
                         .deadline = deadlineIn(mTimeout),
                         .hints = mHints,
                         .cache = nullptr};
    if (!mIsExplicit && mDevices.back()->isReference()) {
        compiled.reference = mDevices.back();
    }
    PlanningOptions options = compiled.planning;
    options.devices = mDevices;
    if (mCache != nullptr) {
        options.cache = [this](const RuntimeDevice& device, std::span<const uint32_t> operations,
                               bool isNew) {
            return mCache->open(device, operations,
                                {.preference = mPreference, .priority = mPriority, .hints = mHints},
                                isNew);
        };
    }
    // The model belongs to what is finished, and stays as long.
    const std::shared_ptr<const driver::Model> model(mModel, &mModel->model);
    const Answer planned = makePlan(model, options, compiled.plan);
    const bool isProgramsFault = planned.code() == ANEURALNETWORKS_UNEXPECTED_NULL ||
                                 planned.code() == ANEURALNETWORKS_BAD_DATA;
    if (planned.ok() || compiled.reference == nullptr || isProgramsFault) {
        return planned;
    }
    log(LogLevel::WARNING, "the reference takes the model: " + planned.reason());
    RunStep step;
    HALYARD_RETURN_UNLESS_OK(compiled.fallBack(model, step));
    compiled.plan = {.model = model, .steps = {}};
    compiled.plan.steps.emplace_back(std::move(step));
    return {};
}

Answer CompilationBuilder::finish() {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    mIsClosed = true;
    const auto begin = std::chrono::steady_clock::now();
    auto compiled = std::make_shared<Compiled>();
    const Answer answer = compileInto(*compiled);
    const auto took = std::chrono::steady_clock::now() - begin;
    if (Diagnostics::instance().wants()) {
        Diagnosed diagnosed = compiled->diagnosed();
        diagnosed.errorCode = answer.code();
        Diagnostics::instance().compilationFinished(diagnosed, took);
    }
    if (answer.ok()) {
        mCompiled = std::move(compiled);
    }
    return answer;
}

}  // namespace halyard::nnapi
