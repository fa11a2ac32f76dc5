// SPDX-License-Identifier: Apache-2.0
//
// Elements chosen by their order, by an index or by a key.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "engine/backends/gpu/kernels/finding.h"
#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {
namespace {

// An index beyond the axis makes the run fail; meanwhile it is one of those there are.
constexpr KernelFamily kGather = {.kernel = "gather",
                                  .text = R"(
__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void gather(
        IN(px), IN(indices), OUT(pr), const int count, const int picked, const int inner,
        const int extent) {
    const int at = (int)get_global_id(0);
    if (at >= count) {
        return;
    }
    BIND_IN(X, px);
    BIND_IN(I32, indices);
    BIND_OUT(X, pr);
    const int outer = at / inner / picked;
    const int index = clamp(indices[at / inner % picked], 0, extent - 1);
    pr[at] = px[(outer * extent + index) * inner + at % inner];
}
)",
                                  .local = {128, 1, 1}};

constexpr KernelFamily kCheckIndices = {.kernel = "check_indices",
                                        .shared = {kFindingText},
                                        .text = R"(
__kernel __attribute__((reqd_work_group_size(CHECK_WORK_ITEMS, 1, 1))) void check_indices(
        IN(indices), OUT(finding), const int count, const int extent) {
    BIND_IN(I32, indices);
    int wrong = NOTHING;
    int value = 0;
    EACH_VALUE(i, count) {
        if (wrong == NOTHING && (indices[i] < 0 || indices[i] >= extent)) {
            wrong = i;
            value = indices[i];
        }
    }
    REPORT(wrong, 0, value)
}
)",
                                        .local = {kCheckWorkItems, 1, 1}};

// An element of x for each work-item, which goes where so many of its row come before it: larger
// ones, NaN first, and of equals the later ones. Those that have k before them go nowhere.
constexpr KernelFamily kTopK = {.kernel = "rank_elements",
                                .text = R"(
#ifdef FLOATS
#define IS_LARGER(a, b) ((a) > (b) || (isnan(a) && !isnan(b)))
#else
#define IS_LARGER(a, b) ((a) > (b))
#endif

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void rank_elements(
        IN(px), OUT(values), OUT(indices), const int count, const int along, const int k) {
    const int at = (int)get_global_id(0);
    if (at >= count) {
        return;
    }
    BIND_IN(X, px);
    const int row = at / along;
    const int own = at % along;
    const int first = row * along;
    const VALUE(X) x = LOAD(X, px, at);
    int before = 0;
    for (int i = along - 1; i >= 0 && before < k; --i) {
        const VALUE(X) other = LOAD(X, px, first + i);
        before += IS_LARGER(other, x) || (i > own && !IS_LARGER(x, other)) ? 1 : 0;
    }
    if (before < k) {
        const __global ELEMENT(MOVED)* const moved =
            (const __global ELEMENT(MOVED)*)PLACE(px);
        BIND_OUT(MOVED, values);
        BIND_OUT(I32, indices);
        values[row * k + before] = moved[at];
        indices[row * k + before] = own;
    }
}
)",
                                .local = {64, 1, 1}};

// Of keys that do not ascend some are not found, and nothing worse.
constexpr KernelFamily kFindKeys = {.kernel = "find_keys",
                                    .text = R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void find_keys(
        IN(lookups), IN(keys), OUT(rows), OUT(hits), const int count, const int key_count) {
    const int at = (int)get_global_id(0);
    if (at >= count) {
        return;
    }
    BIND_IN(I32, lookups);
    BIND_IN(I32, keys);
    BIND_OUT(I32, rows);
    BIND_OUT(U8, hits);
    const int wanted = lookups[at];
    int first = 0;
    int length = key_count;
    while (length > 0) {
        const int half_length = length / 2;
        if (keys[first + half_length] < wanted) {
            first += half_length + 1;
            length -= half_length + 1;
        } else {
            length = half_length;
        }
    }
    const bool hit = first < key_count && keys[first] == wanted;
    rows[at] = hit ? first : -1;
    hits[at] = hit ? 1 : 0;
}
)",
                                    .local = {64, 1, 1}};

constexpr KernelFamily kTakeRows = {.kernel = "take_rows",
                                    .text = R"(
__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void take_rows(
        IN(rows), IN(values), OUT(pr), const int count, const int length) {
    const int at = (int)get_global_id(0);
    if (at >= count) {
        return;
    }
    BIND_IN(I32, rows);
    BIND_IN(X, values);
    BIND_OUT(X, pr);
    const int row = rows[at / length];
    pr[at] = row < 0 ? 0 : values[row * length + at % length];
}
)",
                                    .local = {128, 1, 1}};

std::string elementsAre(std::string_view storage) {
    return "#define X " + std::string(storage) + "\n";
}

// Unless they are the graph's own and inside.
Status checkIndices(StepPlan& step, size_t axis) {
    const int32_t extent = step.input(0).shape[axis];
    const int64_t count = countOf(step.input(1).shape);
    const auto isInside = [&](int32_t index) { return index >= 0 && index < extent; };
    const KnownInput known = step.known(1);
    const bool isConstant = known.data != nullptr;
    if (count == 0 ||
        (isConstant && std::ranges::all_of(std::span(static_cast<const int32_t*>(known.data),
                                                     static_cast<size_t>(count)),
                                           isInside))) {
        return {};
    }
    const Operand finding = step.check([=](const Finding& found) {
        return invalidArgument("index " + std::to_string(found.index) + " of the indices is " +
                               std::to_string(found.value) + ", but axis " + std::to_string(axis) +
                               " has " + std::to_string(extent) + " elements");
    });
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kCheckIndices, ""));
    launch->with(step.in(1)).with(finding).with(static_cast<int32_t>(count)).with(extent);
    launch->workItems = {kCheckWorkItems, 1, 1};
    launch->work = static_cast<uint64_t>(count) * 4;
    return {};
}

}  // namespace

Status supports(const Gather& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const Gather& node, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.rank()));
    HALYARD_RETURN_IF_ERROR(checkIndices(step, axis));
    const int64_t count = countOf(step.output().shape);
    if (count == 0 || x[axis] == 0) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch,
                             step.launch(kGather, elementsAre(movedStorageOf(step.output().type))));
    launch->with(step.in(0)).with(step.in(1)).with(step.out()).with(static_cast<int32_t>(count));
    launch->with(static_cast<int32_t>(countOf(step.input(1).shape)));
    launch->with(static_cast<int32_t>(countOf(Shape(x.extents().subspan(axis + 1)))));
    launch->with(x[axis]);
    launch->workItems = {static_cast<size_t>(count), 1, 1};
    launch->work = static_cast<uint64_t>(count) * 8;
    return {};
}

Status supports(const TopK& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const TopK& node, StepPlan& step) {
    const TensorType& x = step.input(0);
    const int64_t count = countOf(x.shape);
    if (count == 0) {
        return {};
    }
    const int32_t along = x.shape[x.shape.rank() - 1];
    std::string defines = elementsAre(storageOf(x.type));
    defines.append("#define MOVED ").append(movedStorageOf(x.type)).append("\n");
    if (isFloat(x.type)) {
        defines += "#define FLOATS 1\n";
    }
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kTopK, defines));
    launch->with(step.in(0)).with(step.out(0)).with(step.out(1));
    launch->with(static_cast<int32_t>(count)).with(along).with(node.k);
    launch->workItems = {static_cast<size_t>(count), 1, 1};
    launch->work = static_cast<uint64_t>(count) * (static_cast<uint64_t>(along) + 4);
    return {};
}

Status supports(const HashtableLookup& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const HashtableLookup& /*node*/, StepPlan& step) {
    const int64_t lookups = countOf(step.input(0).shape);
    if (lookups == 0) {
        return {};
    }
    const Operand rows = step.scratch(static_cast<size_t>(lookups) * sizeof(int32_t));
    HALYARD_ASSIGN_OR_RETURN(Launch* const find, step.launch(kFindKeys, ""));
    find->with(step.in(0)).with(step.in(1)).with(rows).with(step.out(1));
    find->with(static_cast<int32_t>(lookups)).with(step.input(1).shape[0]);
    find->workItems = {static_cast<size_t>(lookups), 1, 1};
    find->work = static_cast<uint64_t>(lookups) * 64;
    const int64_t count = countOf(step.output(0).shape);
    if (count == 0) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(
            Launch* const take,
            step.launch(kTakeRows, elementsAre(movedStorageOf(step.output(0).type))));
    take->with(rows).with(step.in(2)).with(step.out(0)).with(static_cast<int32_t>(count));
    take->with(static_cast<int32_t>(count / lookups));
    take->workItems = {static_cast<size_t>(count), 1, 1};
    take->work = static_cast<uint64_t>(count) * 8;
    return {};
}

}  // namespace halyard::engine::gpu
