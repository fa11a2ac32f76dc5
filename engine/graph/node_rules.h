// SPDX-License-Identifier: Apache-2.0
//
// Rules that the shape inference of several node families shares. Each fails with INVALID_ARGUMENT
// and names the tensor by the role that it plays in its node ("filter", "input 2"). Unknown ranks
// and extents agree with everything.

#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "engine/base/status.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {

// ---- Element types ------------------------------------------------------------------------------

// A set of element types, and what to call one of them: "a float type".
struct TypeSet {
    std::string_view name;
    uint16_t bits = 0;

    constexpr TypeSet(std::string_view called, std::initializer_list<DataType> types)
        : name(called) {
        for (const DataType type : types) {
            bits |= static_cast<uint16_t>(1U << static_cast<unsigned>(type));
        }
    }
    constexpr bool contains(DataType type) const {
        return (bits >> static_cast<unsigned>(type) & 1U) != 0;
    }
};

inline constexpr TypeSet kFloats = {"FLOAT32 or FLOAT16", {DataType::FLOAT32, DataType::FLOAT16}};
inline constexpr TypeSet kEightBits = {"an asymmetric 8-bit type",
                                       {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}};
// Types that nodes computing real numbers take.
inline constexpr TypeSet kReals = {"a float or asymmetric 8-bit type",
                                   {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                    DataType::QUANT8_ASYMM_SIGNED}};
inline constexpr TypeSet kNumbers = {"INT32, a float or an asymmetric 8-bit type",
                                     {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32,
                                      DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}};
inline constexpr TypeSet kFloatsOrInt32 = {"INT32 or a float type",
                                           {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32}};
inline constexpr TypeSet kNumbersOrBools = {
        "BOOL8, INT32, a float or an asymmetric 8-bit type",
        {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32, DataType::BOOL8,
         DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}};
// Types that nodes moving elements take: the scales of a per-channel type belong to an axis, which
// moving would not keep.
inline constexpr TypeSet kMovable = {
        "a type that is not quantised per channel",
        {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32, DataType::BOOL8,
         DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_SYMM,
         DataType::QUANT16_SYMM, DataType::QUANT16_ASYMM}};
inline constexpr TypeSet kInt32 = {"INT32", {DataType::INT32}};
inline constexpr TypeSet kBool8 = {"BOOL8", {DataType::BOOL8}};

Status checkType(const TensorType& type, std::string_view role, const TypeSet& legal);

// The same element type, whatever the quantisation.
Status checkSameType(const TensorType& a, std::string_view roleOfA, const TensorType& b,
                     std::string_view roleOfB);

// The same element type and, for quantised types, the same scale and zero point: the elements of
// one can be moved into the other.
Status checkSameElements(const TensorType& a, std::string_view roleOfA, const TensorType& b,
                         std::string_view roleOfB);

// `input` is legal, and the output has its type.
Status checkMapped(const TensorType& input, const TensorType& output, const TypeSet& legal);
// `input` is movable, and the output has its type and quantisation.
Status checkMoved(const TensorType& input, const TensorType& output);

// The element types of a node that sums products of x and weights and adds a bias, and the scales
// of per-channel weights: `channels` of them along dimension `channelDim`.
Status checkWeights(std::span<const KnownInput> inputs, const TensorType& output,
                    uint32_t channelDim, int32_t channels);

// ---- Shapes -------------------------------------------------------------------------------------

Shape unknownExtents(size_t rank);

// UNSUPPORTED above kMaxRank.
Status checkRankLimit(size_t rank);

// `shape` as one of `rank` extents, all of them unknown where its rank is.
Result<Shape> asRank(const Shape& shape, size_t rank, std::string_view role);

// The extent that two tensors share; the known one if only one is.
Result<int32_t> sameExtent(int32_t a, std::string_view whatIsA, int32_t b,
                           std::string_view whatIsB);

// One tensor's shape against the extents that others have shown: unknown ones of `expected` are
// learnt from it. Start from unknownExtents().
Status agree(const Shape& shape, std::string_view role, std::initializer_list<int32_t*> expected);

// The product or sum of two extents, unknown where one of them is. INVALID_ARGUMENT past int32.
Result<int32_t> multiplyExtents(int32_t a, int32_t b, std::string_view what);
Result<int32_t> addExtents(int32_t a, int32_t b, std::string_view what);
// One `parts`-th of an extent, which has to be a multiple of it. `parts` > 0.
Result<int32_t> divideExtent(int32_t extent, int32_t parts, std::string_view what);

// Whether a tensor that may be left out is declared as nothing in particular: [?], which is what
// models write for an input that no request brings. It then has any rank until a run shows it.
bool isPlaceholder(const Shape& shape);

// A scalar, or a tensor whose every extent is 1.
Status checkOneElement(const Shape& shape, std::string_view role);

// INVALID_ARGUMENT below `least`.
Status checkAtLeast(int32_t value, int32_t least, std::string_view what);
// INVALID_ARGUMENT unless finite and above 0.
Status checkPositive(float value, std::string_view what);
Status checkFinite(float value, std::string_view what);

}  // namespace halyard::engine
