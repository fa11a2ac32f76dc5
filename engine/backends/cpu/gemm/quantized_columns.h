// SPDX-License-Identifier: Apache-2.0
//
// Columns of bytes as panels of quantized_gemm.h, and rows of bytes as what it multiplies them
// with, for products whose sums are all that is wanted: nothing is requantised.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/backends/cpu/gemm/quantized_gemm.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/checkpoint.h"
#include "engine/base/fields.h"
#include "engine/base/status.h"
#include "engine/plan/packing_recipe.h"

namespace halyard::engine::cpu {

// The bytes of a column, or of a part of one.
struct ColumnPart {
    const uint8_t* first = nullptr;
    ptrdiff_t step = 1;
    int64_t depth = 0;
};

// How bytes of a matrix are read: what they stand for, and what the product makes of them.
struct ByteColumns {
    ByteZeros zeros;       // of rows and columns, as the product sees them
    int32_t rowsZero = 0;  // and as the tensors have them
    int32_t columnsZero = 0;
    bool rowsAreSigned = false;
    bool columnsAreSigned = false;

    HALYARD_FIELDS(zeros, rowsZero, columnsZero, rowsAreSigned, columnsAreSigned)

    static ByteColumns of(const QuantizedGemm& form, const TensorType& rows,
                          const TensorType& columns) {
        return {.zeros = byteZerosOf(rows, columns, form.signedLeft),
                .rowsZero = rows.quantization.zeroPoint,
                .columnsZero = columns.quantization.zeroPoint,
                .rowsAreSigned = rows.type == DataType::QUANT8_ASYMM_SIGNED,
                .columnsAreSigned = columns.type != DataType::QUANT8_ASYMM};
    }
};

// Elements of a row, zeros behind the last one included.
inline int64_t paddedDepth(const QuantizedGemm& form, int64_t depth) {
    return (depth + form.depthGroup - 1) / form.depthGroup * form.depthGroup;
}

// Bytes of an element of the left matrix.
inline size_t rowElementBytes(const QuantizedGemm& form) {
    return form.bytes ? 1 : sizeof(int16_t);
}

// Writes a lane of a panel that is otherwise zeros. The parts follow one another; `bias` is added
// to the sum of the products of differences from the zero points. Where columns have a zero point
// that the product does not know of (ByteZeros::weights), it also needs
// QuantizedBlock::weightsZero.
void packColumn(const QuantizedGemm& form, const ByteColumns& bytes,
                std::span<const ColumnPart> parts, int32_t bias, std::byte* panel, int64_t lane);

// Columns of a matrix: from the first of them, `along` bytes from a row to the next and `across` to
// the next column.
struct ByteMatrix {
    const uint8_t* first = nullptr;
    ptrdiff_t along = 1;
    ptrdiff_t across = 0;
    int64_t depth = 0;
    int64_t columns = 0;  // at most as many as a panel has
};

// Writes a panel that is zeros, without biases, as packColumn() for each of the columns does.
void packPanel(const QuantizedGemm& form, const ByteColumns& bytes, const ByteMatrix& matrix,
               std::byte* panel);

// A row, or a part of one, as the form reads it. What lies behind it has to be zeros.
void fillRow(const QuantizedGemm& form, const ByteColumns& bytes, const uint8_t* from,
             int64_t count, std::byte* to);

// Columns of several matrices, which a kernel's nodes share: by turns a panel of each of them. A
// PackingRecipe.
struct PackedByteColumns {
    // A matrix whose columns consist of a column of each part, one after the other, all of which
    // lie as the rows of a tensor.
    struct Source {
        struct Part {
            ConstantSource<uint8_t> weights;
            int64_t depth = 0;

            HALYARD_FIELDS(weights, depth)
        };
        std::vector<Part> parts;
        ConstantSource<int32_t> bias;  // left out: zeros

        HALYARD_FIELDS(parts, bias)
    };

    InstructionSet set = InstructionSet::PORTABLE;
    ByteColumns zeros;
    std::vector<Source> sources;
    int64_t columns = 0;  // of each source

    static constexpr std::string_view kName = "byte columns";
    HALYARD_FIELDS(set, zeros, sources, columns)

    int64_t depth() const;
    // RESOURCE_EXHAUSTED where that is out of reach.
    Result<size_t> bytes() const;
    Status fill(std::span<std::byte> to, const Checkpoint& checkpoint) const;
};

}  // namespace halyard::engine::cpu
