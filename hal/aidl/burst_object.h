// SPDX-License-Identifier: Apache-2.0
//
// IBurst over a driver::PreparedModel: executions one after the other, whose memory is sent with
// the first that uses it and called by a number from then on. There is no thread and no queue to
// it: what makes it fast is that nothing is mapped again.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "driver/execute/prepared_model.h"
#include "hal/aidl/answers.h"
#include "hal/aidl/kept_memory.h"
#include "hal/aidl/types.h"

namespace halyard::hal::aidl {

class BurstObject : public AidlObject {
  public:
    // Charged to the model's client. RESOURCE_EXHAUSTED: the account has no room.
    static Result<std::shared_ptr<BurstObject>> create(
            std::shared_ptr<const driver::PreparedModel> model, const Dialect& dialect);

  protected:
    Status serve(uint32_t code, Call& call) override;

  private:
    // The memory of a request, which stays mapped until the request has been served, whatever is
    // released meanwhile.
    using Held = std::vector<std::shared_ptr<const KeptMemory>>;

    BurstObject(std::shared_ptr<const driver::PreparedModel> model, Reservation held,
                const Dialect& dialect);
    Status executeSynchronously(Call& call);
    Status executeSynchronouslyWithConfig(Call& call);
    Status releaseMemoryResource(Call& call);
    Status execute(Call& call, std::string_view what, const nn::Request& request,
                   std::span<const int64_t> tokens, const Result<driver::ExecuteOptions>& options);
    Result<driver::Request> decodeRequest(const nn::Request& wire, std::span<const int64_t> tokens,
                                          Held& held);
    // The memory that is kept under the token, or the one that is sent with it now.
    Result<std::shared_ptr<const KeptMemory>> memoryOf(int64_t token, const nn::Memory& wire);

    const std::shared_ptr<const driver::PreparedModel> mModel;
    const Reservation mHeld;  // of the object
    const Dialect mDialect;
    std::atomic<bool> mComputing = false;
    driver::ExecutionResult mResult;  // of the execution in progress
    std::mutex mMutex;
    std::map<int64_t, std::shared_ptr<const KeptMemory>> mKnown;  // by token; guarded by mMutex
};

}  // namespace halyard::hal::aidl
