// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/context.h"

#include <algorithm>
#include <utility>

#include "driver/error_status.h"
#include "driver/model/expressible.h"
#include "harness/device/runner/canonical_model.h"
#include "harness/device/runner/case_run.h"

namespace halyard::vts {

using driver::ErrorStatus;

Context::Context(driver::IDevice& device, std::string serviceName, const pb::TestCase& testCase)
    : mDevice(device), mServiceName(std::move(serviceName)), mCase(testCase) {}

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

const Preparation& Context::prepared() {
    return preparedAs("", [](driver::Model&) {});
}

const Preparation& Context::preparedAs(const std::string& form,
                                       void (*change)(driver::Model& model)) {
    if (const auto known = mPrepared.find(form); known != mPrepared.end()) {
        return known->second;
    }
    Preparation& prepared = mPrepared[form];
    if (model().ok()) {
        driver::Model changed = **mModel;
        change(changed);
        prepared = prepare(changed);
    } else {
        prepared.verdict = failed(mModel->status().toString());
    }
    return prepared;
}

Preparation Context::prepare(const driver::Model& asked) {
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
    Result<std::shared_ptr<driver::IPreparedModel>> prepared = mDevice.prepare(asked, {});
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

Verdict Context::handOver(const driver::Request& request, const driver::ExecutionResult& result,
                          const std::function<void(pb::ExampleResult& outputs)>& change) {
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

}  // namespace halyard::vts
