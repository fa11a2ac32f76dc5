// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose work is cut into work items that threads share, each with memory of its own.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "engine/backends/cpu/kernels/memory_parts.h"
#include "engine/base/status.h"
#include "engine/numerics/elements.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

class WorkItemKernel : public ShapedKernel {
  public:
    size_t threadBytes() const final { return mMemory.bytes(); }

    Status run(KernelCall& call) const final {
        return call.inParallel(mWorkItems, mWorkItemOperations,
                               [&](int64_t begin, int64_t end, size_t worker) {
                                   for (int64_t item = begin; item < end; ++item) {
                                       compute(call, item, call.memoryOf(worker));
                                   }
                               });
    }

  protected:
    // On any of the run's threads. `memory` is of the thread, as large as mMemory says.
    virtual void compute(const KernelCall& call, int64_t item, std::byte* memory) const = 0;

    void setWorkItems(int64_t items, int64_t operations) {
        mWorkItems = items;
        mWorkItemOperations = operations;
    }

    MemoryParts mMemory;

  private:
    int64_t mWorkItems = 0;
    int64_t mWorkItemOperations = 1;
};

// The result of make(), a Result of a pointer to a kernel; where the only output has no elements, a
// kernel that does nothing.
template <typename Make>
Result<std::shared_ptr<const ShapedKernel>> unlessEmpty(const StepTypes& types, Make make) {
    if (countOf(types.outputs[0]->shape) == 0) {
        return std::shared_ptr<const ShapedKernel>(std::make_shared<EmptyKernel>());
    }
    auto kernel = make();
    if (!kernel.ok()) {
        return kernel.status();
    }
    return std::shared_ptr<const ShapedKernel>(*std::move(kernel));
}

}  // namespace halyard::engine::cpu
