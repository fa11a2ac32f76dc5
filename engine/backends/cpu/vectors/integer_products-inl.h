// SPDX-License-Identifier: Apache-2.0
//
// Instructions for sums of integer products, for sources that targets.h compiles once for
// each instruction set.
//
// Element: of the left matrix. Weight: of the packed one. A step multiplies a group of kGroup
// neighbours of a row with as many weights of each lane and adds the products to the lane's sum.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_INTEGER_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_INTEGER_PRODUCTS_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_INTEGER_PRODUCTS_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_INTEGER_PRODUCTS_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Ints = hn::CappedTag<int32_t, 16>;
constexpr Ints kInts;
using IntVector = hn::Vec<Ints>;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
// Two products of 16 bits: pmaddwd.
struct PairProducts {
    using Element = int16_t;
    using Weight = int16_t;
    using Halves = hn::Repartition<int16_t, Ints>;
    using Weights = hn::Vec<Halves>;
    static constexpr int kGroup = 2;

    static HWY_INLINE Weights load(const Weight* from) { return hn::Load(Halves(), from); }
    static HWY_INLINE IntVector group(const Element* from) {
        int32_t pair = 0;
        std::memcpy(&pair, from, sizeof(pair));
        return hn::Set(kInts, pair);
    }
    static HWY_INLINE IntVector add(IntVector sum, IntVector group, Weights weights) {
        IntVector unused = hn::Zero(kInts);  // on x86 all goes to `sum`
        return hn::ReorderWidenMulAccumulate(kInts, hn::BitCast(Halves(), group), weights, sum,
                                             unused);
    }
};
using Products = PairProducts;
#else
// One product of 16 bits at a time, in 32 bits.
struct SingleProducts {
    using Element = int16_t;
    using Weight = int16_t;
    using Weights = IntVector;
    static constexpr int kGroup = 1;

    static HWY_INLINE Weights load(const Weight* from) {
        return hn::PromoteTo(kInts, hn::Load(hn::Rebind<int16_t, Ints>(), from));
    }
    static HWY_INLINE IntVector group(const Element* from) { return hn::Set(kInts, *from); }
    static HWY_INLINE IntVector add(IntVector sum, IntVector group, Weights weights) {
        return hn::Add(sum, hn::Mul(group, weights));
    }
};
using Products = SingleProducts;
#endif

// The common interface of instructions for four products of bytes.
template <typename ByteT>
struct FourBytes {
    using Element = ByteT;
    using Weight = int8_t;
    using Weights = hn::Vec<hn::Repartition<int8_t, Ints>>;
    static constexpr int kGroup = 4;

    static HWY_INLINE Weights load(const Weight* from) {
        return hn::Load(hn::Repartition<int8_t, Ints>(), from);
    }
    static HWY_INLINE IntVector group(const Element* from) {
        int32_t four = 0;
        std::memcpy(&four, from, sizeof(four));
        return hn::Set(kInts, four);
    }
};

#if HWY_TARGET == HWY_AVX3
// Four products of unsigned and signed bytes: vpdpbusd, of which Highway 1.0.3 does not know.
struct ByteProducts : FourBytes<uint8_t> {
    static HWY_INLINE IntVector add(IntVector sum, IntVector group, Weights weights) {
        asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(group.raw), "v"(weights.raw));
        return sum;
    }
};
#endif

#if HWY_TARGET == HWY_NEON
// For the assembler, which else knows no more than the file is compiled for.
#undef HALYARD_ARM_PRODUCTS
#define HALYARD_ARM_PRODUCTS ".arch armv8.2-a+crypto+dotprod+i8mm\n\t"

// Four products of signed bytes: sdot, of which Highway 1.0.3 does not know.
struct SignedProducts : FourBytes<int8_t> {
    static HWY_INLINE IntVector add(IntVector sum, IntVector group, Weights weights) {
        asm(HALYARD_ARM_PRODUCTS "sdot %0.4s, %1.16b, %2.16b"
            : "+w"(sum.raw)
            : "w"(group.raw), "w"(weights.raw));
        return sum;
    }
};

// Eight products of signed bytes, of two rows with two columns at once: smmla. Sums are of
// (row, column), (row, next column), (next row, column), (next row, next column).
struct SquareProducts {
    using Element = int8_t;
    using Weight = int8_t;
    static constexpr int kGroup = 8;

    static HWY_INLINE int8x16_t group(const Element* row, const Element* nextRow) {
        return vcombine_s8(vld1_s8(row), vld1_s8(nextRow));
    }
    static HWY_INLINE int32x4_t add(int32x4_t sum, int8x16_t group, int8x16_t weights) {
        asm(HALYARD_ARM_PRODUCTS "smmla %0.4s, %1.16b, %2.16b"
            : "+w"(sum)
            : "w"(group), "w"(weights));
        return sum;
    }
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
