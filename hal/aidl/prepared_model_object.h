// SPDX-License-Identifier: Apache-2.0
//
// IPreparedModel over a driver::PreparedModel.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "driver/execute/prepared_model.h"
#include "hal/aidl/answers.h"
#include "hal/aidl/types.h"

namespace halyard::hal::aidl {

class PreparedModelObject : public AidlObject {
  public:
    PreparedModelObject(std::shared_ptr<const driver::PreparedModel> model, const Dialect& dialect);

    // That of an object of this class of ours; null: it is none.
    static std::shared_ptr<const driver::PreparedModel> modelOf(const ObjectRef& object);
    void* as(const void* kind) override;

  protected:
    Status serve(uint32_t code, Call& call) override;
    // The model's report: memory and where each operation runs, as text.
    std::string debugText(std::span<const std::string> options) const override;
    // As with executions: the model's client, whichever process calls.
    Result<std::shared_ptr<driver::Client>> debuggedBy(const Caller& caller) const override;

  private:
    Status executeSynchronously(Call& call);
    Status executeSynchronouslyWithConfig(Call& call);
    Status execute(Call& call, std::string_view what, const nn::Request& request,
                   const Result<driver::ExecuteOptions>& options);
    Status executeFenced(Call& call);
    Status executeFencedWithConfig(Call& call);
    Status configureExecutionBurst(Call& call);
    Status createReusableExecution(Call& call);

    const std::shared_ptr<const driver::PreparedModel> mModel;
    const Dialect mDialect;
};

}  // namespace halyard::hal::aidl
