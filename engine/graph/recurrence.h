// SPDX-License-Identifier: Apache-2.0
//
// Rules that the recurrent kinds share, and the positions of an LSTM's inputs: Lstm, LstmSequence
// and QuantizedLstm have the first 24 in common, and with them the rules for their optional parts.

#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {

// The type of x, which is FLOAT32 or FLOAT16, is that of every input and output.
Status checkSameFloats(std::span<const KnownInput> inputs, std::span<const TensorType> outputs);

// [time, batch, size], or [batch, time, size] where not time-major.
Shape sequenceShape(bool timeMajor, int32_t time, int32_t batch, int32_t size);
// agree() for such a shape.
Status agreeSequence(const Shape& shape, std::string_view role, bool timeMajor, int32_t& time,
                     int32_t& batch, int32_t& size);

// Whether a sequence takes aux instead of x.
inline bool takesAuxForX(bool backward, const KnownInput& aux, const KnownInput& auxWeights) {
    return backward && aux.present() && !auxWeights.present();
}

// Infers the shapes of a sequence by `infer`, a function of inputs. What aux is for depends on
// whether its weights, the inputs from `auxWeights` on, are there: where only a run will tell, its
// shape has to fit one of the two.
template <typename Infer>
Status inferWithOrWithoutAuxWeights(std::span<const KnownInput> inputs, size_t auxWeights,
                                    Infer infer) {
    const Status with = infer(inputs);
    if (with.ok()) {
        return with;
    }
    std::vector<KnownInput> left(inputs.begin(), inputs.end());
    bool differs = false;
    for (size_t i = auxWeights; i < left.size(); ++i) {
        if (left[i].present() && left[i].mayBeLeftOut) {
            left[i] = {};
            differs = true;
        }
    }
    return differs && infer(left).ok() ? Status() : with;
}

namespace lstm {

enum Input : size_t {
    kX,
    kInputToInputWeights,
    kInputToForgetWeights,
    kInputToCellWeights,
    kInputToOutputWeights,
    kRecurrentToInputWeights,
    kRecurrentToForgetWeights,
    kRecurrentToCellWeights,
    kRecurrentToOutputWeights,
    kCellToInputWeights,
    kCellToForgetWeights,
    kCellToOutputWeights,
    kInputGateBias,
    kForgetGateBias,
    kCellGateBias,
    kOutputGateBias,
    kProjectionWeights,
    kProjectionBias,
    kOutputState,
    kCellState,
    kInputLayerNormWeights,
    kForgetLayerNormWeights,
    kCellLayerNormWeights,
    kOutputLayerNormWeights,
    kAux,  // LstmSequence only, as are the next
    kAuxToInputWeights,
    kAuxToForgetWeights,
    kAuxToCellWeights,
    kAuxToOutputWeights,
};
static_assert(std::size(Lstm::kInputs) == kAux);
static_assert(std::size(QuantizedLstm::kInputs) == kAux);
static_assert(std::size(LstmSequence::kInputs) == kAuxToOutputWeights + 1);

// The extents that the inputs share: what one of them shows, the others have to have.
struct Extents {
    int32_t batch = kUnknownDimension;
    int32_t input = kUnknownDimension;   // k
    int32_t units = kUnknownDimension;   // n
    int32_t output = kUnknownDimension;  // m
    int32_t aux = kUnknownDimension;     // l
};

// INVALID_ARGUMENT where an optional part is there by half: the input gate, the peepholes, the
// projection, the layer normalisation, the auxiliary input. Without an input gate its peephole and
// its normalisation may be left out or not, and are not read.
Status checkParts(std::span<const KnownInput> inputs);

// Checks the shapes of all inputs but x and aux. `extents` may know some already.
Status checkShapes(std::span<const KnownInput> inputs, Extents& extents);

Status checkClips(float cellClip, float projectionClip);

// Keeps a row whose elements are all the same from a division by zero where it is normalised.
inline constexpr float kLayerNormEpsilon = 1e-8F;

// The binary logarithm of the scale of a QuantizedLstm's cell state, which is shifted, not
// multiplied: a whole number from -15 to -9. A scale may be off by what a decimal fraction of six
// digits loses.
Result<int> cellScaleLog2(float scale);

}  // namespace lstm
}  // namespace halyard::engine
