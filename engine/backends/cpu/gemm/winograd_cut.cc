// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/winograd_cut.h"

#include <algorithm>
#include <optional>

#include "engine/base/checked_math.h"
#include "engine/plan/backend.h"

namespace halyard::engine::cpu {
namespace {

constexpr int64_t kFloat = sizeof(float);
constexpr int64_t kLine = kTensorAlignment / kFloat;

// Of the transformed windows that are kept at a time: with filters beside them they should stay in
// L2. Filters that do not fit there are better read less often.
constexpr int64_t kFewestWindowBytes = int64_t{512} << 10;
constexpr int64_t kMostWindowBytes = int64_t{1} << 20;
// Each thread brings a L2. Of all of them together; more gains little.
constexpr int64_t kMostSharedBytes = int64_t{8} << 20;
// Filters that stay in L2 beside them: then a thread multiplies the windows that it
// transformed and does not fetch them from another one's cache.
constexpr int64_t kFewFilterBytes = int64_t{1536} << 10;
// Of a thread's products before they are transformed back.
constexpr int64_t kProductBytes = int64_t{64} << 10;
// What a unit costs besides its rows, in parts of a tile of the product; and what a thread that is
// late holds up, in parts of a unit.
constexpr int64_t kReadingAgain = 16;
constexpr int64_t kLate = 4;

int64_t ceilDivide(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

// At most `most` of `count` at a time, in equal shares of whole multiples.
int64_t shareOf(int64_t count, int64_t most, int64_t multiple) {
    const int64_t shares = ceilDivide(count, std::max(most / multiple * multiple, multiple));
    return ceilDivide(ceilDivide(count, shares), multiple) * multiple;
}

// So many of `count` rows, `most` or fewer, in whole multiples, that threads which have `chunks`
// units for each are done soonest.
int64_t soonest(int64_t count, int64_t most, const WinogradShape& shape, int64_t chunks) {
    const int64_t multiple = shape.tileRows;
    int64_t best = most;
    int64_t fewest = 0;
    for (int64_t rows = most / multiple * multiple; rows > 0; rows -= multiple) {
        const int64_t each = ceilDivide(chunks * ceilDivide(count, rows), shape.threads);
        const int64_t cost =
                each * (rows * kReadingAgain + multiple) + rows * kReadingAgain / kLate;
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
    const int64_t windowBytes =
            std::clamp(shape.filterBytes / 4, kFewestWindowBytes, kMostWindowBytes);
    // The gaps keep what lies at the same place of each position, or row, from sharing a place in
    // the cache.
    cut.row = shape.positions * shape.chunkColumns + kLine;
    const auto rowsOf = [&](int64_t count, int64_t chunks) {
        const int64_t most = shareOf(count, kProductBytes / (cut.row * kFloat), shape.tileRows);
        return threads == 1 ? most : soonest(count, most, shape, chunks);
    };
    cut.sharesFilters = shape.filterBytes > kFewFilterBytes;
    if (!cut.sharesFilters && threads > 1) {
        cut.rows = rowsOf(shape.tiles, 1);
        cut.isAlone = ceilDivide(shape.tiles, cut.rows) >= threads - threads / 4;
    }
    if (cut.isAlone) {
        cut.atOnce = cut.rows;
    } else {
        const int64_t shared = std::min(windowBytes * threads, kMostSharedBytes);
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
