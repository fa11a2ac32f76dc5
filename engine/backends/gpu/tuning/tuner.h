// SPDX-License-Identifier: Apache-2.0
//
// Tuner: takes one of several ways to compute a step, for the plans of one partition: the one that
// the program has kept, that the device's tuning knows, that is the fastest as measured now, or
// that the cost model thinks best.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/device/gpu_memory.h"
#include "engine/backends/gpu/launches/bound_kernels.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/backends/gpu/tuning/tuning.h"
#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/plan/blobs.h"

namespace halyard::engine::gpu {

// One thread at a time.
class Tuner final : public VariantChooser {
  public:
    struct Surroundings {
        std::shared_ptr<const Device> device;
        GpuMemory& memory;
        Tuning& tuning;
        const Blobs& blobs;                    // the program's, which keep what was taken
        std::shared_ptr<Budget> deviceMemory;  // null: not limited
        // Where a constant of the partition lies; nothing for what is none.
        std::function<std::optional<Placed>(LocalId)> constant;
        Checkpoint checkpoint;
    };
    explicit Tuner(Surroundings surroundings) : mAround(std::move(surroundings)) {}

    // Fails if each of those that were measured did, with what the first one said, and as the
    // checkpoint says.
    Result<size_t> choose(const StepPlan::Environment& environment, size_t step,
                          std::string_view key, std::span<const Variant> variants) const override;
    // Says in the log that a variant has failed.
    bool forgives(const Variant& variant, const Status& failure) const override;

  private:
    // Nothing where memory is too short to measure.
    Result<std::optional<size_t>> measure(const StepPlan::Environment& environment, size_t step,
                                          const std::string& key,
                                          std::span<const Variant> variants) const;
    // That it does without the variant, once for each kernel of that name.
    void warn(const Variant& variant, const Status& failure) const;
    std::optional<size_t> kept(const std::string& key, std::span<const Variant> variants) const;
    Status keep(const std::string& key, const std::string& name) const;

    const Surroundings mAround;
};

}  // namespace halyard::engine::gpu
