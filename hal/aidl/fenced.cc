// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/fenced.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "hal/aidl/boot_time.h"
#include "hal/aidl/conversion.h"
#include "hal/service/fences.h"

namespace halyard::hal::aidl {

using nn::IFencedExecutionCallback;

namespace {

// Bytes that an object takes, with the kernel's reference to it.
constexpr size_t kFencedOverhead = 1024;

// IFencedExecutionCallback of an execution that is over.
class FencedExecutionObject final : public AidlObject {
  public:
    FencedExecutionObject(const driver::ExecutionResult& result, Reservation held,
                          const Dialect& dialect)
        : AidlObject(IFencedExecutionCallback::info(), dialect.release, dialect.number()),
          mHeld(std::move(held)),
          mLaunched(result.timing),
          mFenced(result.timingFenced) {}

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        return call.answer(IFencedExecutionCallback::GetExecutionInfo::Results{
                .result = driver::ErrorStatus::NONE,
                .timingLaunched = encode(mLaunched),
                .timingFenced = encode(mFenced)});
    }

  private:
    const Reservation mHeld;
    const driver::Timing mLaunched;
    const driver::Timing mFenced;
};

}  // namespace

Result<driver::ExecuteOptions> fencedOptions(const Result<driver::ExecuteOptions>& options,
                                             std::span<const BorrowedDescriptor> waitFor,
                                             int64_t duration, const Caller& caller) {
    HALYARD_RETURN_IF_ERROR(options.status());
    driver::ExecuteOptions fenced = *options;
    HALYARD_ASSIGN_OR_RETURN(fenced.durationAfterFences, decodeDuration(duration, "durationNs"));
    std::vector<int> descriptors;
    for (const BorrowedDescriptor& fence : waitFor) {
        descriptors.push_back(fence.fd);
    }
    HALYARD_ASSIGN_OR_RETURN(fenced.waitFor, duplicateFences(descriptors, caller));
    return fenced;
}

Result<nn::FencedExecutionResult> executeFenced(const driver::PreparedModel& model,
                                                const driver::Request& request,
                                                const Result<driver::ExecuteOptions>& options,
                                                const Dialect& dialect) {
    HALYARD_RETURN_IF_ERROR(options.status());
    HALYARD_RETURN_IF_ERROR(model.validateFenced(request, dialect.version));
    // Charged first: a result that can't be answered is not computed.
    HALYARD_ASSIGN_OR_RETURN(Reservation held, Reservation::create(model.client()->account().memory,
                                                                   kFencedOverhead));
    const driver::ExecutionResult result = model.executeFenced(request, dialect.version, *options);
    HALYARD_RETURN_IF_ERROR(result.status);
    nn::FencedExecutionResult wire;
    wire.callback = std::make_shared<FencedExecutionObject>(result, std::move(held), dialect);
    return wire;
}

}  // namespace halyard::hal::aidl
