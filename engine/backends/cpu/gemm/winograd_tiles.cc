// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/gemm/winograd_tiles.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include "engine/backends/cpu/gemm/winograd_tiles.h"
#include "engine/backends/cpu/vectors/bounds-inl.h"
#include "engine/backends/cpu/vectors/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// The transforms of one dimension; those of two apply them to columns and then to rows.
template <int kSide>
struct OneDimension;

template <>
struct OneDimension<2> {
    static HWY_INLINE void ofInput(const FloatVector (&x)[4], FloatVector (&to)[4]) {
        to[0] = hn::Sub(x[0], x[2]);
        to[1] = hn::Add(x[1], x[2]);
        to[2] = hn::Sub(x[2], x[1]);
        to[3] = hn::Sub(x[1], x[3]);
    }
    static HWY_INLINE void ofProducts(const FloatVector (&p)[4], FloatVector (&to)[2]) {
        to[0] = hn::Add(p[0], hn::Add(p[1], p[2]));
        to[1] = hn::Sub(hn::Sub(p[1], p[2]), p[3]);
    }
    // Back from transformFilter().
    static HWY_INLINE void filterOf(const FloatVector (&u)[4], FloatVector (&to)[3]) {
        to[0] = u[0];
        to[1] = hn::Sub(u[1], u[2]);
        to[2] = u[3];
    }
};

template <>
struct OneDimension<4> {
    static HWY_INLINE void ofInput(const FloatVector (&x)[6], FloatVector (&to)[6]) {
        const FloatVector two = hn::Set(kFloats, 2.0F);
        const FloatVector four = hn::Set(kFloats, 4.0F);
        const FloatVector five = hn::Set(kFloats, 5.0F);
        to[0] = hn::MulAdd(four, x[0], hn::NegMulAdd(five, x[2], x[4]));
        const FloatVector even = hn::NegMulAdd(four, x[2], x[4]);
        const FloatVector odd = hn::NegMulAdd(four, x[1], x[3]);
        to[1] = hn::Add(even, odd);
        to[2] = hn::Sub(even, odd);
        const FloatVector outer = hn::Sub(x[4], x[2]);
        const FloatVector inner = hn::Sub(x[3], x[1]);
        to[3] = hn::MulAdd(two, inner, outer);
        to[4] = hn::NegMulAdd(two, inner, outer);
        to[5] = hn::MulAdd(four, x[1], hn::NegMulAdd(five, x[3], x[5]));
    }
    static HWY_INLINE void ofProducts(const FloatVector (&p)[6], FloatVector (&to)[4]) {
        const FloatVector two = hn::Set(kFloats, 2.0F);
        const FloatVector four = hn::Set(kFloats, 4.0F);
        const FloatVector eight = hn::Set(kFloats, 8.0F);
        const FloatVector sum1 = hn::Add(p[1], p[2]);
        const FloatVector difference1 = hn::Sub(p[1], p[2]);
        const FloatVector sum2 = hn::Add(p[3], p[4]);
        const FloatVector difference2 = hn::Sub(p[3], p[4]);
        to[0] = hn::Add(p[0], hn::Add(sum1, sum2));
        to[1] = hn::MulAdd(two, difference2, difference1);
        to[2] = hn::MulAdd(four, sum2, sum1);
        to[3] = hn::Add(hn::MulAdd(eight, difference2, difference1), p[5]);
    }
    static HWY_INLINE void filterOf(const FloatVector (&u)[6], FloatVector (&to)[3]) {
        to[0] = hn::Mul(hn::Set(kFloats, 4.0F), u[0]);
        to[1] = hn::Mul(hn::Set(kFloats, 3.0F), hn::Sub(u[2], u[1]));
        to[2] = u[5];
    }
};

HWY_INLINE bool isThere(const TileWindow& window, int line, int pixel) {
    return line >= window.firstLine && line < window.endLine && pixel >= window.firstPixel &&
           pixel < window.endPixel;
}

template <int kSide, typename T, bool kWhole, typename Count>
HWY_INLINE void transformWindow(const TileWindow& from, int64_t channel, Count count, float* to,
                                ptrdiff_t position) {
    constexpr int kWindow = kSide + 2;
    const auto* const pixels = static_cast<const T*>(from.x);
    FloatVector lines[kWindow][kWindow];
    HALYARD_UNROLL
    for (int j = 0; j < kWindow; ++j) {
        FloatVector x[kWindow];
        HALYARD_UNROLL
        for (int i = 0; i < kWindow; ++i) {
            if (kWhole || isThere(from, i, j)) {
                x[i] = loadFloats(pixels + (from.origin + i * from.line + j * from.pixel + channel),
                                  count);
            } else {
                x[i] = hn::Zero(kFloats);
            }
        }
        FloatVector column[kWindow];
        OneDimension<kSide>::ofInput(x, column);
        HALYARD_UNROLL
        for (int i = 0; i < kWindow; ++i) {
            lines[i][j] = column[i];
        }
    }
    HALYARD_UNROLL
    for (int i = 0; i < kWindow; ++i) {
        FloatVector line[kWindow];
        OneDimension<kSide>::ofInput(lines[i], line);
        HALYARD_UNROLL
        for (int j = 0; j < kWindow; ++j) {
            storeStored(line[j], to + (i * kWindow + j) * position + channel, count);
        }
    }
}

template <int kSide, typename T>
void transformInput(const TileWindow& from, float* to, ptrdiff_t position) {
    constexpr int kWindow = kSide + 2;
    const bool whole = from.firstLine == 0 && from.endLine == kWindow && from.firstPixel == 0 &&
                       from.endPixel == kWindow;
    if (whole) {
        forEachVector(from.channels, [&](int64_t channel, auto count) {
            transformWindow<kSide, T, true>(from, channel, count, to, position);
        });
    } else {
        forEachVector(from.channels, [&](int64_t channel, auto count) {
            transformWindow<kSide, T, false>(from, channel, count, to, position);
        });
    }
}

// Clamps a spatial position of a tile, once it has all its terms, and stores it if it is there.
template <typename T, typename Count>
HWY_INLINE void storePixel(FloatVector value, const TileOutput& output, int i, int j,
                           int64_t channel, Count count) {
    if (i < output.lines && j < output.pixels) {
        const FloatVector y =
                keepWithin(value, hn::Set(kFloats, output.low), hn::Set(kFloats, output.high));
        storeFloats(y,
                    static_cast<T*>(output.y) +
                            (output.origin + i * output.line + j * output.pixel + channel),
                    count);
    }
}

template <int kSide, typename T>
bool transformOutput(const float* products, ptrdiff_t position, const TileOutput& output) {
    constexpr int kWindow = kSide + 2;
    const FloatVector zero = hn::Zero(kFloats);
    FloatVector probe = zero;  // stays zero as long as all results are finite
    forEachVector(output.channels, [&](int64_t channel, auto count) {
        FloatVector lines[kSide][kWindow];
        HALYARD_UNROLL
        for (int j = 0; j < kWindow; ++j) {
            FloatVector p[kWindow];
            HALYARD_UNROLL
            for (int i = 0; i < kWindow; ++i) {
                p[i] = loadStored(products + (i * kWindow + j) * position + channel, count);
            }
            FloatVector column[kSide];
            OneDimension<kSide>::ofProducts(p, column);
            HALYARD_UNROLL
            for (int i = 0; i < kSide; ++i) {
                lines[i][j] = column[i];
            }
        }
        const FloatVector bias = loadStored(output.bias + channel, count);
        FloatVector seen = zero;
        HALYARD_UNROLL
        for (int i = 0; i < kSide; ++i) {
            FloatVector line[kSide];
            OneDimension<kSide>::ofProducts(lines[i], line);
            HALYARD_UNROLL
            for (int j = 0; j < kSide; ++j) {
                const FloatVector y = hn::Add(line[j], bias);
                seen = hn::MulAdd(y, zero, seen);
                storePixel<T>(y, output, i, j, channel, count);
            }
        }
        probe = hn::Add(probe, seen);
    });
    return hn::AllTrue(kFloats, hn::Eq(probe, zero));
}

template <int kSide, typename T>
void computeDirectly(const TileWindow& from, const TileFilters& filters, const TileOutput& output) {
    constexpr int kWindow = kSide + 2;
    const auto* const pixels = static_cast<const T*>(from.x);
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    forEachVector(output.channels, [&](int64_t channel, auto count) {
        const float* panel = filters.panels + channel / lanes * filters.panel;
        FloatVector sums[kSide][kSide];
        for (auto& line : sums) {
            for (FloatVector& sum : line) {
                sum = loadStored(output.bias + channel, count);
            }
        }
        for (int64_t k = 0; k < from.channels; ++k) {
            const float* u = panel + (k + 1) * lanes;  // behind the product's own bias
            FloatVector columns[3][kWindow];
            for (int j = 0; j < kWindow; ++j) {
                FloatVector column[kWindow];
                for (int i = 0; i < kWindow; ++i) {
                    column[i] = hn::Load(kFloats, u + (i * kWindow + j) * filters.position);
                }
                FloatVector taps[3];
                OneDimension<kSide>::filterOf(column, taps);
                for (int i = 0; i < 3; ++i) {
                    columns[i][j] = taps[i];
                }
            }
            FloatVector filter[3][3];
            for (int i = 0; i < 3; ++i) {
                OneDimension<kSide>::filterOf(columns[i], filter[i]);
            }
            for (int i = 0; i < kWindow; ++i) {
                for (int j = 0; j < kWindow; ++j) {
                    if (!isThere(from, i, j)) {
                        continue;
                    }
                    const FloatVector x = hn::Set(
                            kFloats,
                            toReal(pixels[from.origin + i * from.line + j * from.pixel + k]));
                    for (int a = std::max(i - 2, 0); a <= std::min(i, kSide - 1); ++a) {
                        for (int b = std::max(j - 2, 0); b <= std::min(j, kSide - 1); ++b) {
                            sums[a][b] = hn::MulAdd(x, filter[i - a][j - b], sums[a][b]);
                        }
                    }
                }
            }
        }
        for (int i = 0; i < kSide; ++i) {
            for (int j = 0; j < kSide; ++j) {
                storePixel<T>(sums[i][j], output, i, j, channel, count);
            }
        }
    });
}

template <int kSide, typename T>
const WinogradTiles* tilesOf() {
    static const WinogradTiles kTiles = {.side = kSide,
                                         .window = kSide + 2,
                                         .transformInput = transformInput<kSide, T>,
                                         .transformOutput = transformOutput<kSide, T>,
                                         .computeDirectly = computeDirectly<kSide, T>};
    return &kTiles;
}

}  // namespace

const WinogradTiles* winogradTilesOf(int32_t side, bool halves) {
    if (halves) {
        return side == 2 ? tilesOf<2, Half>() : tilesOf<4, Half>();
    }
    return side == 2 ? tilesOf<2, float>() : tilesOf<4, float>();
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {
namespace {

template <size_t kWindow>
void transformWith(const double (&points)[kWindow][3], const double (&filter)[3][3], double* to) {
    for (size_t i = 0; i < kWindow; ++i) {
        double line[3];
        for (size_t b = 0; b < 3; ++b) {
            line[b] = points[i][0] * filter[0][b] + points[i][1] * filter[1][b] +
                      points[i][2] * filter[2][b];
        }
        for (size_t j = 0; j < kWindow; ++j) {
            *to++ = points[j][0] * line[0] + points[j][1] * line[1] + points[j][2] * line[2];
        }
    }
}

}  // namespace

const WinogradTiles& winogradTiles(int32_t side, bool halves, InstructionSet set) {
    return *HALYARD_CPU_CHOOSE(set, winogradTilesOf)(side, halves);
}

void transformFilter(int32_t side, const double (&filter)[3][3], double* to) {
    if (side == 2) {
        constexpr double kPoints[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
        transformWith(kPoints, filter, to);
    } else {
        constexpr double kPoints[6][3] = {{1.0 / 4, 0, 0},
                                          {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                          {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                          {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                          {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                          {0, 0, 1}};
        transformWith(kPoints, filter, to);
    }
}

}  // namespace halyard::engine::cpu
#endif
