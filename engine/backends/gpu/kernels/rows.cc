// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/rows.h"

#include <algorithm>
#include <vector>

namespace halyard::engine::gpu {
namespace {

constexpr uint64_t kFewElements = 3;

}  // namespace

Status addRows(StepPlan& step, const Rows& rows) {
    std::vector<Variant> variants;
    for (size_t i = 0; i < kRowWorkItems.size(); ++i) {
        // Most work-items of a larger work-group would have nothing to do, or the device has none
        // such.
        if (i > 0 && (static_cast<uint64_t>(rows.length) <= kRowWorkItems[i - 1] ||
                      step.facts().maxWorkGroupSize < kRowWorkItems[i])) {
            break;
        }
        variants.push_back({.name = std::to_string(kRowWorkItems[i]),
                            .plan = [&rows, i](StepPlan& plan) -> Status {
                                const size_t size = kRowWorkItems[i];
                                HALYARD_ASSIGN_OR_RETURN(
                                        Launch* const launch,
                                        plan.launch(rows.families[i], "#define WORK_ITEMS " +
                                                                              std::to_string(size) +
                                                                              "\n" + rows.defines));
                                rows.hand(*launch);
                                launch->workItems = {rows.rows * size, 1, 1};
                                launch->work = rows.work;
                                return {};
                            }});
    }
    // On GPUs a row goes fastest by as many work-items as have a few elements each.
    for (size_t i = variants.size(); step.facts().prefersTiles && i-- > 1;) {
        if (static_cast<uint64_t>(rows.length) >= kFewElements * kRowWorkItems[i]) {
            std::rotate(variants.begin(), variants.begin() + static_cast<std::ptrdiff_t>(i),
                        variants.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            break;
        }
    }
    std::string key(rows.families.front().kernel);
    key.append(" ").append(rows.defines).append(" rows ").append(std::to_string(rows.rows));
    key.append(" of ").append(std::to_string(rows.length)).append(" ").append(rows.shape);
    return step.choose(key, variants);
}

}  // namespace halyard::engine::gpu
