// SPDX-License-Identifier: Apache-2.0
//
// Which form computes a convolution or a fully connected layer.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "engine/backends/cpu/choice/form_choice.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"

namespace halyard::engine::cpu {

inline constexpr int64_t kUnknownExtent = -1;

// Larger multipliers than this one take sums of tiles beyond 32 bits.
inline constexpr float kMostAmxMultiplier = 0.5F;

// The layer that a GEMM form is chosen for. Extents that only a run tells are kUnknownExtent.
struct GemmLayer {
    enum class Elements : uint8_t { FLOAT, HALF, INT8 };

    Elements elements = Elements::FLOAT;
    bool isConvolution = true;  // otherwise fully connected
    int64_t batches = 1, outputH = 1, outputW = 1;
    int64_t rows = 1;  // of A: all of the output but its last axis
    int64_t inputC = 1, outputC = 1, groups = 1;
    int64_t filterH = 1, filterW = 1;
    int64_t strideH = 1, strideW = 1;
    int64_t dilationH = 1, dilationW = 1;
    // Of a channel's weights, as the GEMM reads them: so many runs of neighbouring elements.
    int64_t runs = 1, runLength = 1;
    // Results may be as rough as those of float16 are.
    bool isRough = false;
    // Of int8: whether results are of the input's type, and the largest multiplier.
    bool keepsType = true;
    float largestMultiplier = 0.0F;
    // And elements of a run that the GEMM by vectors multiplies together, and that vectors of
    // groups do; 0: bytes have none.
    int64_t depthTogether = 2;
    int64_t groupedTogether = 2;
    // Of the float micro-kernel: rows that wait for the weights, and columns of a packed B panel.
    int64_t fewRows = 3;
    int64_t lanes = 16;
    size_t threads = 1;  // as many as may ever share the weights

    int64_t depth() const { return runs * runLength; }
    int64_t groupColumns() const { return outputC / groups; }

    // A convolution of floats with square filters, for tables of layers.
    static GemmLayer convolution(int64_t output, int64_t inputC, int64_t outputC, int64_t side,
                                 int64_t stride = 1);
    static GemmLayer fullyConnected(int64_t rows, int64_t depth, int64_t columns);
    // Of the float GEMM.
    size_t packedBytes(bool hasBf16Weights) const;
    GemmLayer ofInt8() const {
        GemmLayer layer = *this;
        layer.elements = Elements::INT8;
        return layer;
    }
};

// Predicates of the weights' values. Asked last, of a form that would be taken: they read all
// weights.
enum class WeightFact : uint8_t {
    ARE_BFLOAT16,       // each of them, exactly
    ARE_IN_SAFE_RANGE,  // and the biases: of bf16 parts (bf16_split_block.h)
    ARE_TRANSFORMABLE,  // finite, and far from overflow
};
using AskWeights = std::function<Result<bool>(WeightFact)>;

struct GemmChoice {
    Form form = Form::FLOAT_GEMM;
    int leftParts = 0;  // of a BF16_SPLIT_GEMM: bf16 parts of A and of B
    int rightParts = 0;
    bool streamsWeights = false;  // of a float GEMM, if the rows stay as many as they are
    double cycles = 0.0;          // estimated, on one core
    LostForms lost;
};

// Fails as `ask` does.
Result<GemmChoice> chooseGemm(const GemmLayer& layer, const CpuTarget& target,
                              const AskWeights& ask);

// Of a layer of known rows as a GEMM by vectors, on one core.
int64_t vectorGemmCycles(const GemmLayer& layer, const CpuTuning& tuning);

// The int8 GEMM by vectors that a set has.
Form int8VectorForm(InstructionSet set);

// Whether a float layer has as few rows as wait for the weights, which may then be bf16.
Status isLegalWithBf16Weights(const GemmLayer& layer);

// Whether tiles take less time for an int8 layer than vectors do; otherwise the reason.
Status isLegalAndProfitableOnAmx(const GemmLayer& layer, const CpuTuning& tuning);

// Whether a float GEMM of `rows` rows reads packed weights of so many bytes, that `threads` threads
// share, once and from beyond L2.
Status isStreamed(int64_t rows, size_t bytes, size_t threads, const VectorTuning& tuning);

}  // namespace halyard::engine::cpu
