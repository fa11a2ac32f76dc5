// SPDX-License-Identifier: Apache-2.0
//
// What a check is given: the device, the case, and what several checks of a case share.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/device/device_interface.h"
#include "driver/model/model.h"
#include "driver/model/request.h"
#include "engine/base/status.h"
#include "harness/device/cases/messages.h"
#include "harness/device/vts/check.h"
#include "harness/device/vts/methods.h"

namespace halyard::vts {

namespace pb = runner::pb;

// A prepared model, or why a check that needs it ends here.
struct Preparation {
    std::shared_ptr<driver::IPreparedModel> model;
    Verdict verdict;
};

class Context {
  public:
    // A check of the device has a case without a model. `serviceName`: empty in-process.
    // `withoutConfigs`: the device by its plain methods, where those are others.
    Context(driver::IDevice& device, std::string serviceName, const pb::TestCase& testCase,
            driver::IDevice* withoutConfigs = nullptr);

    // By the newest methods of the version, or by those.
    driver::IDevice& device() const { return mDevice; }
    driver::IDevice& device(Methods methods) const {
        return methods == Methods::PLAIN && mWithoutConfigs != nullptr ? *mWithoutConfigs : mDevice;
    }
    driver::HalVersion version() const { return mDevice.version(); }
    const std::string& serviceName() const { return mServiceName; }
    const pb::TestCase& testCase() const { return mCase; }

    // The case's model; INVALID_ARGUMENT if it can't be put into words of this version.
    const Result<driver::Model>& model();
    // It, prepared the first time that a check asks.
    const Preparation& prepared(Methods methods = Methods::PLAIN);
    // The same of a form of it that several checks use, which has a name.
    const Preparation& preparedAs(const std::string& form, Methods methods,
                                  void (*change)(driver::Model& model));
    // A model, prepared as VTS does for whatever is to be executed: it may be refused only where
    // getSupportedOperations has not promised it, and the check is skipped then.
    Preparation prepare(const driver::Model& model, Methods methods = Methods::PLAIN);
    // The case's inputs, and room for its outputs, in memory of its own.
    Result<driver::Request> request() const;
    // The same, laid out as where VTS looks at what comes of it (request_layout.h).
    Result<driver::Request> generatedRequest() const;
    // Whether an output may turn out to be of size 0: the model can't say its dimensions then, and
    // executeFenced has to refuse it.
    bool hasOpenOutput() const;

    // Sees that the inputs are still what they were, and has the outputs compared with what is
    // expected, which the host knows: the check that passes here may fail there. An execution that
    // reports no shapes has those of the model.
    Verdict handOver(const driver::Request& request, const driver::ExecutionResult& result) {
        return handOver(request, result, mCase.examples(0), nullptr);
    }
    // The same of another model than the case's, which was given other inputs: `change` makes its
    // outputs what is expected.
    Verdict handOver(const driver::Request& request, const driver::ExecutionResult& result,
                     const pb::Example& given,
                     const std::function<void(pb::ExampleResult& outputs)>& change);

    // What checks have handed over, each different set of outputs once; and which the last check
    // did, which are forgotten then.
    const std::vector<pb::ExampleResult>& outputs() const { return mOutputs; }
    std::vector<uint32_t> takeHandedOver();

  private:
    driver::IDevice& mDevice;
    driver::IDevice* const mWithoutConfigs;
    const std::string mServiceName;
    const pb::TestCase& mCase;
    std::optional<Result<driver::Model>> mModel;
    std::map<std::pair<std::string, Methods>, Preparation> mPrepared;
    std::vector<pb::ExampleResult> mOutputs;
    std::vector<uint32_t> mHandedOver;
};

// The first verdict that is none of passing, by each kind of method that the version has.
Verdict byAllMethods(const Context& context, const std::function<Verdict(Methods methods)>& check);

}  // namespace halyard::vts
