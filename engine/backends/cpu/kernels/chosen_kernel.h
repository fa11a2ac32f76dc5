// SPDX-License-Identifier: Apache-2.0
//
// Kernels that tell which other forms there were for their nodes.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Another kernel, with what was lost to it before what it tells itself.
class ChosenKernel final : public StepKernel {
  public:
    ChosenKernel(std::unique_ptr<const StepKernel> kernel, std::string lost)
        : mKernel(std::move(kernel)), mLost(std::move(lost)) {
        if (const std::string_view own = mKernel->lostForms(); !own.empty()) {
            mLost.append(mLost.empty() ? "" : "; ").append(own);
        }
    }

    std::string_view name() const override { return mKernel->name(); }
    std::string_view lostForms() const override { return mLost; }
    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return mKernel->specialize(types);
    }

  private:
    const std::unique_ptr<const StepKernel> mKernel;
    std::string mLost;
};

// `lost`: as LostForms::toString() has it; empty: the kernel as it is.
inline std::unique_ptr<const StepKernel> withLostForms(std::unique_ptr<const StepKernel> kernel,
                                                       std::string lost) {
    if (lost.empty()) {
        return kernel;
    }
    return std::make_unique<ChosenKernel>(std::move(kernel), std::move(lost));
}
inline Result<std::unique_ptr<const StepKernel>> withLostForms(
        Result<std::unique_ptr<const StepKernel>> kernel, std::string lost) {
    HALYARD_RETURN_IF_ERROR(kernel.status());
    return withLostForms(*std::move(kernel), std::move(lost));
}

}  // namespace halyard::engine::cpu
