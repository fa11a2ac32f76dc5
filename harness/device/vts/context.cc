// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/context.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "driver/model/error_status.h"
#include "driver/model/expressible.h"
#include "harness/device/cases/canonical_model.h"
#include "harness/device/runner/case_run.h"
#include "harness/device/vts/request_layout.h"

namespace halyard::vts {

using driver::ErrorStatus;

Context::Context(driver::IDevice& device, std::string serviceName, const pb::TestCase& testCase,
                 driver::IDevice* withoutConfigs)
    : mDevice(device),
      mWithoutConfigs(withoutConfigs),
      mServiceName(std::move(serviceName)),
      mCase(testCase) {}

const Result<driver::Model>& Context::model() {
    if (!mModel.has_value()) {
        mModel = runner::toCanonical(mCase.model());
        if (mModel->ok()) {
            if (Status status = checkExpressible(**mModel, version()); !status.ok()) {
                mModel = std::move(status);
            }
        }
    }
    return *mModel;
}

const Preparation& Context::prepared(Methods methods) {
    return preparedAs("", methods, [](driver::Model&) {});
}

const Preparation& Context::preparedAs(const std::string& form, Methods methods,
                                       void (*change)(driver::Model& model)) {
    const auto [known, isNew] = mPrepared.try_emplace({form, methods});
    Preparation& prepared = known->second;
    if (!isNew) {
        return prepared;
    }
    if (model().ok()) {
        driver::Model changed = **mModel;
        change(changed);
        prepared = prepare(changed, methods);
    } else {
        prepared.verdict = failed(mModel->status().toString());
    }
    return prepared;
}

Preparation Context::prepare(const driver::Model& asked, Methods methods) {
    const Result<std::vector<bool>> supported = mDevice.supportedOperations(asked);
    if (!supported.ok()) {
        return {.model = nullptr,
                .verdict = expectStatus(supported.status(), version(), {ErrorStatus::NONE},
                                        "getSupportedOperations")};
    }
    if (supported->size() != asked.main.operations.size()) {
        return {.model = nullptr,
                .verdict = failed("getSupportedOperations has " +
                                  std::to_string(supported->size()) + " answers for " +
                                  std::to_string(asked.main.operations.size()) + " operations")};
    }
    Result<std::shared_ptr<driver::IPreparedModel>> prepared = device(methods).prepare(asked, {});
    const auto refused = std::ranges::find(*supported, false);
    if (!prepared.ok() && refused != supported->end() &&
        toErrorStatus(prepared.status(), version()) != ErrorStatus::DEVICE_UNAVAILABLE) {
        const auto at = static_cast<size_t>(refused - supported->begin());
        return {.model = nullptr,
                .verdict = skipped("getSupportedOperations does not promise " +
                                   labelOf(asked.main.operations[at], at) +
                                   ", so prepareModel may refuse the model")};
    }
    if (!prepared.ok()) {
        return {.model = nullptr,
                .verdict = expectStatus(prepared.status(), version(), {ErrorStatus::NONE},
                                        "prepareModel of operations that are all supported")};
    }
    return {.model = std::move(*prepared), .verdict = passed()};
}

Result<driver::Request> Context::request() const {
    if (mCase.examples().empty()) {
        return invalidArgument("the case has no example");
    }
    return runner::toCanonical(mCase.examples(0));
}

Result<driver::Request> Context::generatedRequest() const {
    if (mCase.examples().empty()) {
        return invalidArgument("the case has no example");
    }
    return vts::generatedRequest(mCase.examples(0), version());
}

bool Context::hasOpenOutput() const {
    const pb::Subgraph& main = mCase.model().main();
    return std::ranges::any_of(main.output_indexes(), [&main](uint32_t index) {
        const auto& dimensions = main.operands(static_cast<int>(index)).dimensions();
        return std::ranges::find(dimensions, 0U) != dimensions.end();
    });
}

namespace {

// Of an execution, which must not write to what it is given to read.
Verdict checkInputs(const driver::Request& request, const pb::Example& given) {
    for (size_t i = 0; i < request.inputs.size(); ++i) {
        const driver::RequestArgument& input = request.inputs[i];
        const auto* const memory =
                input.hasNoValue || input.location.poolIndex >= request.pools.size()
                        ? nullptr
                        : std::get_if<driver::SharedMemory>(
                                  &request.pools[input.location.poolIndex]);
        if (memory == nullptr) {
            continue;
        }
        const Result<std::span<uint8_t>> pool = (*memory)->map();
        if (!pool.ok()) {
            return failed("input " + std::to_string(i) +
                          " can't be read again: " + pool.status().toString());
        }
        const std::string& data = given.inputs(static_cast<int>(i)).data();
        if (!std::ranges::equal(
                    pool->subspan(input.location.offset, input.location.length),
                    std::span(reinterpret_cast<const uint8_t*>(data.data()), data.size()))) {
            return failed("the execution has written to input " + std::to_string(i));
        }
    }
    return passed();
}

}  // namespace

Verdict Context::handOver(const driver::Request& request, const driver::ExecutionResult& result,
                          const pb::Example& given,
                          const std::function<void(pb::ExampleResult& outputs)>& change) {
    if (Verdict verdict = checkInputs(request, given); !verdict.hasPassed()) {
        return verdict;
    }
    pb::ExampleResult outputs;
    const Status collected = runner::collectOutputs(mCase.model(), request, result, true, outputs);
    if (!collected.ok()) {
        return failed("the outputs can't be read: " + collected.toString());
    }
    if (change != nullptr) {
        change(outputs);
    }
    const std::string bytes = outputs.SerializeAsString();
    const auto known = std::ranges::find_if(mOutputs, [&](const pb::ExampleResult& each) {
        return each.SerializeAsString() == bytes;
    });
    mHandedOver.push_back(static_cast<uint32_t>(known - mOutputs.begin()));
    if (known == mOutputs.end()) {
        mOutputs.push_back(std::move(outputs));
    }
    return passed();
}

std::vector<uint32_t> Context::takeHandedOver() {
    return std::exchange(mHandedOver, {});
}

Verdict byAllMethods(const Context& context, const std::function<Verdict(Methods methods)>& check) {
    for (const Methods methods : methodsOf(context.version())) {
        if (Verdict verdict = check(methods); !verdict.hasPassed()) {
            return verdict;
        }
    }
    return passed();
}

}  // namespace halyard::vts
