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
#include <vector>

#include "driver/device_interface.h"
#include "driver/model/model.h"
#include "driver/model/request.h"
#include "engine/base/status.h"
#include "harness/device/runner/messages.h"
#include "harness/device/vts/check.h"

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
    Context(driver::IDevice& device, std::string serviceName, const pb::TestCase& testCase);

    driver::IDevice& device() const { return mDevice; }
    driver::HalVersion version() const { return mDevice.version(); }
    const std::string& serviceName() const { return mServiceName; }
    const pb::TestCase& testCase() const { return mCase; }

    // The case's model; INVALID_ARGUMENT if it can't be put into words of this version.
    const Result<driver::Model>& model();
    // It, prepared the first time that a check asks.
    const Preparation& prepared();
    // The same of a form of it that several checks use, which has a name.
    const Preparation& preparedAs(const std::string& form, void (*change)(driver::Model& model));
    // A model, prepared as VTS does for whatever is to be executed: it may be refused only where
    // getSupportedOperations has not promised it, and the check is skipped then.
    Preparation prepare(const driver::Model& model);
    // The case's inputs, and room for its outputs, in memory of its own.
    Result<driver::Request> request() const;

    // Has the outputs compared with what is expected, which the host knows: the check that passes
    // here may fail there. An execution that reports no shapes has those of the model. `change`
    // makes them what is expected, where another model than the case's was executed.
    Verdict handOver(const driver::Request& request, const driver::ExecutionResult& result,
                     const std::function<void(pb::ExampleResult& outputs)>& change = nullptr);

    // What checks have handed over, each different set of outputs once; and which the last check
    // did, which are forgotten then.
    const std::vector<pb::ExampleResult>& outputs() const { return mOutputs; }
    std::vector<uint32_t> takeHandedOver();

  private:
    driver::IDevice& mDevice;
    const std::string mServiceName;
    const pb::TestCase& mCase;
    std::optional<Result<driver::Model>> mModel;
    std::map<std::string, Preparation> mPrepared;
    std::vector<pb::ExampleResult> mOutputs;
    std::vector<uint32_t> mHandedOver;
};

}  // namespace halyard::vts
