// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/parcel_disposal.h"

#include <utility>

#include "engine/base/log.h"
#include "hal/binder/commands.h"
#include "hal/descriptors/descriptor_kind.h"

namespace halyard::hal {

ParcelDisposal::ParcelDisposal(std::shared_ptr<BinderKernel> kernel,
                               const binder_transaction_data& data,
                               std::function<void()> settleFirst)
    : mKernel(std::move(kernel)),
      mOwner(ownerOf(data)),
      mAddress(data.data.ptr.buffer),
      mSettleFirst(std::move(settleFirst)) {}

void ParcelDisposal::close(std::vector<FileDescriptor> descriptors) {
    ClientWorkers::here().close(mOwner, std::move(descriptors));
}

void ParcelDisposal::freeBuffer(std::span<const int> inArrays) {
    if (mSettleFirst != nullptr) {
        mSettleFirst();
    }
    const Status freed = mKernel->freeBufferOnly(mAddress);
    if (freed.code() == StatusCode::UNSUPPORTED) {
        // The kernel closes them before the buffer is free again.
        ClientWorkers::here().run(
                mOwner, [kernel = mKernel, address = mAddress] { freeNow(*kernel, address); });
        return;
    }
    if (!freed.ok()) {
        log(LogLevel::WARNING, freed.withContext("freeing a buffer").toString());
    }
    std::vector<FileDescriptor> slow;
    for (const int fd : inArrays) {
        FileDescriptor owned(fd);
        if (!closesAtOnce(fd)) {
            slow.push_back(std::move(owned));
        }
    }
    close(std::move(slow));
}

void ParcelDisposal::freeNow(BinderKernel& kernel, binder_uintptr_t address) {
    CommandBuffer commands;
    commands.add(BC_FREE_BUFFER, address);
    if (Status sent = kernel.write(commands.bytes()); !sent.ok()) {
        log(LogLevel::WARNING, sent.withContext("freeing a buffer").toString());
    }
}

}  // namespace halyard::hal
