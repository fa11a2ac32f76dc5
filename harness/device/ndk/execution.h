// SPDX-License-Identifier: Apache-2.0
//
// One execution of a library, from a canonical request to what is told of it.

#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/execute/execution_result.h"
#include "driver/model/call_options.h"
#include "harness/device/ndk/compiled.h"

namespace halyard::ndk {

class Execution {
  public:
    explicit Execution(CompiledModel compiled);

    // Makes it, and binds the request's arguments. What the library says of a call is a failure.
    Status prepare(const driver::Request& request, const driver::ExecuteOptions& options,
                   bool isReusable);
    ANeuralNetworksExecution* get() const { return mObject.get(); }
    // What a computation has answered, and what can be asked then.
    driver::ExecutionResult result(Status status) const;

  private:
    driver::Duration duration(int32_t code) const;
    // Whether the model or the request says how much it takes.
    bool hasKnownSize(size_t output, const driver::RequestArgument& argument) const;
    Status bind(const driver::Request& request, bool isInput, size_t index);

    const CompiledModel mCompiled;
    Owned<ANeuralNetworksExecution> mObject;
    size_t mOutputs = 0;
    bool mMeasures = false;
    uint8_t mNoElements = 0;
};

}  // namespace halyard::ndk
