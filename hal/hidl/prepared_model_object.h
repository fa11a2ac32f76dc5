// SPDX-License-Identifier: Apache-2.0
//
// IPreparedModel 1.0–1.3 over a driver::PreparedModel. A fenced execution is over when it is
// answered, with no fence.

#pragma once

#include <memory>
#include <span>
#include <string>

#include "driver/execute/prepared_model.h"
#include "hal/binder/process.h"
#include "hal/hidl/hidl_object.h"

namespace halyard::hal::hidl {

class PreparedModelObject : public HidlObject {
  public:
    PreparedModelObject(std::weak_ptr<BinderProcess> process,
                        std::shared_ptr<const driver::PreparedModel> model);

    // The model of an object of this process that is a prepared model; else null.
    static std::shared_ptr<const driver::PreparedModel> modelOf(const ObjectRef& object);

    void* as(const void* kind) override;

  protected:
    Status serve(uint32_t code, Call& call) override;
    // The model's report: memory and where each operation runs, as text.
    std::string debugText(std::span<const std::string> options) const override;
    // As with executions: the model's client, whichever process calls.
    Result<std::shared_ptr<driver::Client>> debuggedBy(const Caller& caller) const override;

  private:
    struct Arguments;
    Result<driver::ExecuteOptions> readOptions(Call& call) const;
    Result<Arguments> readArguments(Call& call) const;
    // execute, execute_1_2, execute_1_3
    Status execute(Call& call);
    // executeSynchronously, executeSynchronously_1_3
    Status executeSynchronously(Call& call);
    Status configureExecutionBurst(Call& call);
    Status executeFenced(Call& call);

    std::weak_ptr<BinderProcess> mProcess;
    std::shared_ptr<const driver::PreparedModel> mModel;
};

}  // namespace halyard::hal::hidl
