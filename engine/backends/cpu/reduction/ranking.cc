// SPDX-License-Identifier: Apache-2.0
//
// Where the largest or smallest element along an axis lies: x is seen as [outer, length, inner].

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/reduction/ranking.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/lanes-inl.h"

#include <algorithm>

#include "engine/backends/cpu/elementwise/element_forms.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/graph/shape_inference.h"

#ifndef HALYARD_ENGINE_BACKENDS_CPU_RANKING_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_RANKING_CC_
namespace halyard::engine::cpu {

// Columns of `length` elements, `stride` apart, whose results lie side by side.
struct RankedColumns {
    bool largest = true;
    const void* x = nullptr;
    int64_t length = 1;
    int64_t stride = 1;
    int64_t count = 0;
    int32_t* to = nullptr;
};
struct FindBest {
    void (*columns)(const RankedColumns& columns);
    void (*row)(const RankedColumns& columns);  // a single one, whose elements are neighbours
};

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

template <typename T, typename Count>
HWY_INLINE auto loadRanked(const T* from, Count there) {
    if constexpr (std::is_integral_v<T>) {
        return loadInts(from, there);
    } else {
        return loadFloats(from, there);
    }
}

// Larger or smaller than the best; a NaN is both, but for another one.
HWY_INLINE auto isBetter(FloatVector each, FloatVector best, bool largest) {
    const auto beyond = largest ? hn::Gt(each, best) : hn::Lt(each, best);
    return hn::Or(beyond, hn::And(hn::IsNaN(each), hn::Eq(best, best)));
}
HWY_INLINE auto isBetter(IntVector each, IntVector best, bool largest) {
    return largest ? hn::Gt(each, best) : hn::Lt(each, best);
}

template <typename T>
void findInColumns(const RankedColumns& columns) {
    const auto* x = static_cast<const T*>(columns.x);
    forEachVector(columns.count, [&](int64_t i, auto there) HWY_ATTR {
        auto best = loadRanked(x + i, there);
        IntVector index = hn::Zero(kInts);
        for (int64_t k = 1; k < columns.length; ++k) {
            const auto each = loadRanked(x + k * columns.stride + i, there);
            const auto better = isBetter(each, best, columns.largest);
            best = hn::IfThenElse(better, each, best);
            index = hn::IfThenElse(hn::RebindMask(kInts, better),
                                   hn::Set(kInts, static_cast<int32_t>(k)), index);
        }
        storeInts(index, columns.to + i, there);
    });
}

// Each lane finds the best of every so many elements; of equals in several lanes the first one
// counts. Lanes beyond the row hold its first element.
template <typename T>
void findInRow(const RankedColumns& columns) {
    const auto* x = static_cast<const T*>(columns.x);
    const auto first = loadRanked(x, Some{.count = 1});
    using Tag = hn::DFromV<decltype(first)>;
    using Value = hn::TFromD<Tag>;
    auto best = hn::Set(Tag(), hn::GetLane(first));
    IntVector index = hn::Zero(kInts);
    forEachVector(columns.length, [&](int64_t i, auto there) HWY_ATTR {
        const auto each = loadRanked(x + i, there);
        const auto better =
                hn::And(isBetter(each, best, columns.largest), hn::FirstN(Tag(), countIn(there)));
        best = hn::IfThenElse(better, each, best);
        index = hn::IfThenElse(hn::RebindMask(kInts, better),
                               hn::Iota(kInts, static_cast<int32_t>(i)), index);
    });
    alignas(64) Value values[kMostLanes];
    alignas(64) int32_t indices[kMostLanes];
    hn::Store(best, Tag(), values);
    hn::Store(index, kInts, indices);
    const auto isNan = [](Value value) { return value != value; };
    size_t found = 0;
    for (size_t lane = 1; lane < hn::Lanes(kInts); ++lane) {
        const Value each = values[lane];
        const Value least = values[found];
        const bool beyond = columns.largest ? each > least : each < least;
        const bool equal = each == least || (isNan(each) && isNan(least));
        if (beyond || (isNan(each) && !isNan(least)) || (equal && indices[lane] < indices[found])) {
            found = lane;
        }
    }
    *columns.to = indices[found];
}

template <typename T>
constexpr FindBest findBestOf() {
    return {.columns = findInColumns<T>, .row = findInRow<T>};
}

}  // namespace

const ElementForms<FindBest>* findBestForms() {
    static const ElementForms<FindBest> kForms = {.floats = findBestOf<float>(),
                                                  .halves = findBestOf<Half>(),
                                                  .unsignedBytes = findBestOf<uint8_t>(),
                                                  .signedBytes = findBestOf<int8_t>(),
                                                  .ints = findBestOf<int32_t>()};
    return &kForms;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {
namespace {

Status find(const ArgMinMax& node, const FindBest& form, KernelCall& call) {
    constexpr int64_t kColumns = 256;  // of a tile
    const ConstTensorView& x = call.input(0);
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.shape().rank()));
    const int64_t length = x.shape()[axis];
    const int64_t inner = countOf(Shape(x.shape().extents().subspan(axis + 1)));
    const int64_t outer = countOf(Shape(x.shape().extents().first(axis)));
    const int64_t chunks = (inner + kColumns - 1) / kColumns;
    const auto size = static_cast<int64_t>(elementSize(x.type->type));
    const auto* from = x.as<std::byte>();
    auto* to = call.output(0).as<int32_t>();
    const int64_t operations = 16 + length * std::min(inner, kColumns) / 4;
    return call.inParallel(outer * chunks, operations,
                           [&](int64_t begin, int64_t end, size_t /*worker*/) {
                               for (int64_t i = begin; i < end; ++i) {
                                   const int64_t column = i % chunks * kColumns;
                                   const int64_t row = i / chunks;
                                   (inner == 1 ? form.row : form.columns)(
                                           {.largest = node.function == ArgMinMax::Function::MAX,
                                            .x = from + (row * length * inner + column) * size,
                                            .length = length,
                                            .stride = inner,
                                            .count = std::min(kColumns, inner - column),
                                            .to = to + row * inner + column});
                               }
                           });
}

}  // namespace

Status supports(const ArgMinMax& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}

Result<std::unique_ptr<const StepKernel>> compile(const ArgMinMax& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const DataType type = inputType(arguments.graph, arguments.node).type;
    const FindBest form = HALYARD_CPU_CHOOSE(target.set, findBestForms)()->of(type);
    return plainKernel(arguments, toString(target.set),
                       [node, form](KernelCall& call) { return find(node, form, call); });
}

}  // namespace halyard::engine::cpu
#endif
