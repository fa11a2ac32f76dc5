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
// Products are volatile, so that they and the loads between them stay in the order in which they
// are written: compilers move loads far ahead, and products next to those that wait for them, and
// run out of registers. Highway 1.0.3 knows none of these instructions.

// For the assembler, which else knows no more than the file is compiled for.
#undef HALYARD_ARM_PRODUCTS
#define HALYARD_ARM_PRODUCTS ".arch armv8.2-a+crypto+dotprod+i8mm\n\t"

// Adds to each lane four products of signed bytes: of the lane's weights and of lane kLane of the
// row, which is of four bytes: sdot.
template <int kLane>
HWY_INLINE int32x4_t addDotLane(int32x4_t sum, int8x16_t weights, int8x16_t row) {
    asm volatile(HALYARD_ARM_PRODUCTS "sdot %0.4s, %1.16b, %2.4b[%3]"
                 : "+w"(sum)
                 : "w"(weights), "w"(row), "i"(kLane));
    return sum;
}

// Eight products of signed bytes, of two rows with two columns at once: smmla. Sums are of
// (row, column), (row, next column), (next row, column), (next row, next column).
HWY_INLINE int32x4_t addSquare(int32x4_t sum, int8x16_t rows, int8x16_t columns) {
    asm volatile(HALYARD_ARM_PRODUCTS "smmla %0.4s, %1.16b, %2.16b"
                 : "+w"(sum)
                 : "w"(rows), "w"(columns));
    return sum;
}

// The lower and the upper eight bytes of two rows.
HWY_INLINE int8x16_t lowerHalves(int8x16_t row, int8x16_t nextRow) {
    int8x16_t both;
    asm volatile("zip1 %0.2d, %1.2d, %2.2d" : "=w"(both) : "w"(row), "w"(nextRow));
    return both;
}
HWY_INLINE int8x16_t upperHalves(int8x16_t row, int8x16_t nextRow) {
    int8x16_t both;
    asm volatile("zip2 %0.2d, %1.2d, %2.2d" : "=w"(both) : "w"(row), "w"(nextRow));
    return both;
}

// The first bytes of a vector, of which no others are read.
HWY_INLINE int8x16_t loadEight(const int8_t* from) {
    int8x16_t eight;
    asm("ldr %d0, %1" : "=w"(eight) : "m"(*reinterpret_cast<const int8_t(*)[8]>(from)));
    return eight;
}
HWY_INLINE int8x16_t loadFour(const int8_t* from) {
    int8x16_t four;
    asm("ldr %s0, %1" : "=w"(four) : "m"(*reinterpret_cast<const int8_t(*)[4]>(from)));
    return four;
}

// Products of the lower or the upper eight bytes in 16 bits, and the sums of two neighbours in 32.
HWY_INLINE int16x8_t productsOfLower(int8x16_t x, int8x16_t weights) {
    int16x8_t products;
    asm volatile("smull %0.8h, %1.8b, %2.8b" : "=w"(products) : "w"(x), "w"(weights));
    return products;
}
HWY_INLINE int16x8_t productsOfUpper(int8x16_t x, int8x16_t weights) {
    int16x8_t products;
    asm volatile("smull2 %0.8h, %1.16b, %2.16b" : "=w"(products) : "w"(x), "w"(weights));
    return products;
}
HWY_INLINE int16x8_t addProductsOfUpper(int16x8_t sum, int8x16_t x, int8x16_t weights) {
    asm volatile("smlal2 %0.8h, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(weights));
    return sum;
}
HWY_INLINE int32x4_t sumsOfPairs(int16x8_t products) {
    int32x4_t sums;
    asm volatile("saddlp %0.4s, %1.8h" : "=w"(sums) : "w"(products));
    return sums;
}
HWY_INLINE int32x4_t addPairs(int32x4_t sum, int16x8_t products) {
    asm volatile("sadalp %0.4s, %1.8h" : "+w"(sum) : "w"(products));
    return sum;
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
