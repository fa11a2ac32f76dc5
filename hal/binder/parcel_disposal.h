// SPDX-License-Identifier: Apache-2.0
//
// ParcelDisposal: closes the descriptors of a received parcel on the sender's worker
// (client_workers.h), where closing them may block on the sender.

#pragma once

#include <linux/android/binder.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hal/binder/kernel.h"
#include "hal/binder/received_parcel.h"
#include "hal/descriptors/client_workers.h"

namespace halyard::hal {

// Not thread-safe; belongs to one parcel.
class ParcelDisposal final : public DescriptorDisposal {
  public:
    // `settleFirst`: called before a buffer is freed, so that what the thread owes the kernel is
    // not overtaken; null: there is nothing.
    ParcelDisposal(std::shared_ptr<BinderKernel> kernel, const binder_transaction_data& data,
                   std::function<void()> settleFirst);

    static ClientWorkers::Owner ownerOf(const binder_transaction_data& data) {
        return {.pid = data.sender_pid, .uid = data.sender_euid};
    }
    // On the calling thread, whatever the kernel closes then. A failure is logged.
    static void freeNow(BinderKernel& kernel, binder_uintptr_t address);

    void close(std::vector<FileDescriptor> descriptors) override;
    void freeBuffer(std::span<const int> inArrays) override;

  private:
    const std::shared_ptr<BinderKernel> mKernel;
    const ClientWorkers::Owner mOwner;
    const binder_uintptr_t mAddress;
    const std::function<void()> mSettleFirst;
};

}  // namespace halyard::hal
