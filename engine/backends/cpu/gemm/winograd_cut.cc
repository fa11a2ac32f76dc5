// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/winograd_cut.h"

#include <algorithm>
#include <optional>

#include "engine/base/checked_math.h"
#include "engine/numerics/whole_division.h"
#include "engine/plan/backend.h"

namespace halyard::engine::cpu {
namespace {

constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kLine = kTensorAlignment / kFloat;

// At most `most` of `count` at a time, in equal shares of whole multiples.
int64_t shareOf(int64_t count, int64_t most, int64_t multiple) {
    const int64_t shares = ceilDivide(count, std::max(most / multiple * multiple, multiple));
    return ceilDivide(ceilDivide(count, shares), multiple) * multiple;
}

// So many of `count` rows, `most` or fewer, in whole multiples, that threads which have `chunks`
// work items for each are done soonest.
int64_t soonest(int64_t count, int64_t most, const WinogradShape& shape, int64_t chunks) {
    const int64_t multiple = shape.tileRows;
    int64_t best = most;
    int64_t fewest = 0;
    for (int64_t rows = most / multiple * multiple; rows > 0; rows -= multiple) {
        const int64_t each = ceilDivide(chunks * ceilDivide(count, rows), shape.threads);
        const int64_t cost = each * (rows * shape.tuning.readingAgain + multiple) +
                             rows * shape.tuning.readingAgain / shape.tuning.late;
        if (fewest == 0 || cost < fewest) {
            fewest = cost;
            best = rows;
        }
    }
    return best;
}

}  // namespace

Result<WinogradCut> WinogradCut::create(const WinogradShape& shape) {
    WinogradCut cut;
    const int64_t threads = std::max<int64_t>(shape.threads, 1);
    const int64_t rowBytes = shape.positions * shape.channels * kFloat;
    const int64_t windowBytes = std::clamp(shape.filterBytes / 4, shape.tuning.fewestWindowBytes,
                                           shape.tuning.mostWindowBytes);
    // The gaps keep what lies at the same place of each position, or row, from sharing a place in
    // the cache.
    cut.row = shape.positions * shape.chunkColumns + kLine;
    const auto rowsOf = [&](int64_t count, int64_t chunks) {
        const int64_t most =
                shareOf(count, shape.tuning.productBytes / (cut.row * kFloat), shape.tileRows);
        return threads == 1 ? most : soonest(count, most, shape, chunks);
    };
    cut.sharesFilters = shape.filterBytes > shape.tuning.fewFilterBytes;
    if (!cut.sharesFilters && threads > 1) {
        cut.rows = rowsOf(shape.tiles, 1);
        cut.isAlone = ceilDivide(shape.tiles, cut.rows) >= threads - threads / 4;
    }
    if (cut.isAlone) {
        cut.atOnce = cut.rows;
    } else {
        const int64_t shared = std::min(windowBytes * threads, shape.tuning.mostSharedBytes);
        cut.atOnce = std::min(shape.tiles, shareOf(shape.tiles, shared / rowBytes, shape.tileRows));
        cut.rows = rowsOf(cut.atOnce, shape.chunks);
    }
    cut.position = ceilDivide(cut.atOnce * shape.channels, kLine) * kLine + kLine;
    const std::optional<size_t> windows = checkedMultiply(
            static_cast<size_t>(shape.positions * cut.position), static_cast<size_t>(kFloat));
    const std::optional<size_t> products =
            checkedMultiply(static_cast<size_t>(cut.rows * cut.row), static_cast<size_t>(kFloat));
    if (windows.has_value() && products.has_value()) {
        cut.windowBytes = *windows;
        cut.productBytes = *products;
        const std::optional<size_t> each = checkedAdd(*windows, *products);
        if (each.has_value() && checkedMultiply(*each, static_cast<size_t>(threads)).has_value()) {
            return cut;
        }
    }
    return outOfReach("its transformed input is out of reach");
}

}  // namespace halyard::engine::cpu
