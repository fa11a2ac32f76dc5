// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/choice/gemm_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "engine/numerics/whole_division.h"

namespace halyard::engine::cpu {
namespace {

// Tiles of AMX: 16 rows by 16 columns, over 64 bytes or 32 bf16 of depth.
constexpr int64_t kTileRows = 16;
constexpr int64_t kTileColumns = 16;
constexpr int64_t kInt8Depth = 64;
constexpr int64_t kBf16Depth = 32;
// Channels that the costs of vectors are for.
constexpr int64_t kVectorColumns = 16;
constexpr int64_t kInt8Group = 4;
// An instruction multiplies so many times as many halves as floats.
constexpr double kHalvesAtATime = 2.0;
// What transforming an element costs beside a GEMM of halves, as WinogradTuning::transform. F(4x4)
// takes 0.86 of that GEMM's instructions with 64 channels on 56x56, which filters of eight times
// the bytes are not worth, and 0.69 with 128 on 28x28 (counted on a Cortex-A76).
constexpr int64_t kTransformBesideHalves = 17;

std::string extents(int64_t rows, int64_t columns) {
    return std::to_string(rows) + "x" + std::to_string(columns);
}

Status isDearer(double cycles, double others, std::string_view other) {
    return unsupported("costs " + std::to_string(std::llround(cycles)) + " cycles, and the " +
                       std::string(other) + " " + std::to_string(std::llround(others)));
}

// ---- Costs, in cycles ---------------------------------------------------------------------------

// Estimates are whole: comparisons are as exact as the numbers they were measured for.
int64_t int8VectorCycles(const GemmLayer& layer, const CpuTuning& tuning) {
    return layer.rows * ceilDivide(layer.groupColumns(), kVectorColumns) *
           (ceilDivide(layer.depth(), kInt8Group) / tuning.vectors.int8GroupsPerCycle);
}

// A tile takes the same time whatever it has. Rows that are copied cost, and so does each tile of
// sums, which goes through memory.
int64_t int8AmxCycles(const GemmLayer& layer, const AmxTuning& amx) {
    const int64_t steps = ceilDivide(layer.depth(), kInt8Depth);
    const int64_t copies =
            layer.runLength % kInt8Depth == 0 ? 0 : layer.rows * steps * amx.copyCycles;
    return ceilDivide(layer.rows, kTileRows) * ceilDivide(layer.groupColumns(), kTileColumns) *
                   (steps * amx.tileCycles + amx.storeSums) +
           copies + amx.begin;
}

int64_t floatVectorCycles(const GemmLayer& layer, const VectorTuning& vectors) {
    return layer.rows * ceilDivide(layer.groupColumns(), kVectorColumns) *
           (layer.depth() + vectors.floatExtraSteps) * vectors.floatNumerator /
           vectors.floatDenominator;
}

// Splitting a tile's depth of a row into each of its parts costs, and so does each tile of sums.
int64_t bf16SplitCycles(const GemmLayer& layer, int left, int right, const Bf16SplitTuning& costs) {
    const int64_t columns = ceilDivide(layer.groupColumns(), kTileColumns);
    const int64_t steps = ceilDivide(layer.depth(), kBf16Depth);
    const int64_t products = left * right - (right - 1);
    const bool gathers = layer.runs > 1 && layer.runLength % kBf16Depth != 0;
    const int64_t splitting =
            layer.rows * steps * (costs.split * left + (gathers ? costs.gather : 0));
    const int64_t tiles = ceilDivide(layer.rows, kTileRows) * columns;
    return tiles * (steps * products * costs.tileCycles + costs.storeSums) + splitting +
           costs.begin;
}

// In multiply-adds: of transformed windows of (side + 2) squared positions, the transforms and the
// fetching of filters, of which there are more.
double winogradOperations(const GemmLayer& layer, int64_t side, const WinogradTuning& costs) {
    const int64_t batches = layer.batches == kUnknownExtent ? 1 : layer.batches;
    const double tiles = static_cast<double>(batches) *
                         static_cast<double>(ceilDivide(layer.outputH, side)) *
                         static_cast<double>(ceilDivide(layer.outputW, side));
    const auto weights = static_cast<double>(layer.inputC * layer.outputC);
    const auto transform = static_cast<double>(costs.transform * (layer.inputC + layer.outputC));
    return static_cast<double>((side + 2) * (side + 2)) *
           (tiles * (weights + transform) + static_cast<double>(costs.fetch) * weights);
}
double directOperations(const GemmLayer& layer, const WinogradTuning& costs) {
    const int64_t batches = layer.batches == kUnknownExtent ? 1 : layer.batches;
    const double pixels = static_cast<double>(batches) * static_cast<double>(layer.outputH) *
                          static_cast<double>(layer.outputW);
    return 9 * static_cast<double>(layer.inputC * layer.outputC) *
           (pixels + static_cast<double>(costs.fetch));
}
double cyclesOf(double operations, const VectorTuning& vectors) {
    return operations / kVectorColumns * static_cast<double>(vectors.floatNumerator) /
           static_cast<double>(vectors.floatDenominator);
}

// ---- Predicates ---------------------------------------------------------------------------------

Status hasTiles(InstructionSet set) {
    return set == InstructionSet::AVX512_AMX
                   ? Status()
                   : unsupported(std::string(toString(set)) + " has no tiles");
}

Status isLegalAsHalf(const GemmLayer& layer, InstructionSet set) {
    if (!hasHalfArithmetic(set)) {
        return unsupported(std::string(toString(set)) + " has no arithmetic of binary16");
    }
    return layer.isRough ? Status() : unsupported("results have to be as exact as sums of floats");
}

Status knowsRows(const GemmLayer& layer) {
    return layer.rows == kUnknownExtent ? unsupported("how many rows there are, only a run tells")
                                        : Status();
}

Status isLegalForWinograd(const GemmLayer& layer, const WinogradTuning& costs) {
    if (layer.filterH != 3 || layer.filterW != 3) {
        return unsupported("takes filters of 3x3, not of " + extents(layer.filterH, layer.filterW));
    }
    if (layer.strideH != 1 || layer.strideW != 1 || layer.dilationH != 1 || layer.dilationW != 1) {
        return unsupported("takes strides and dilations of 1");
    }
    if (layer.groups != 1 || layer.inputC <= 0) {
        return unsupported("takes one group of channels");
    }
    if (layer.outputH == kUnknownExtent || layer.outputW == kUnknownExtent) {
        return unsupported("how large the feature map is, only a run tells");
    }
    if (std::max(layer.inputC, layer.outputC) > costs.mostChannels) {
        return unsupported("takes no more than " + std::to_string(costs.mostChannels) +
                           " channels");
    }
    return {};
}

// The side of the squares that cost the least; F(4x4) is some times less exact.
int64_t bestSide(const GemmLayer& layer, const WinogradTuning& costs) {
    return layer.isRough &&
                           winogradOperations(layer, 4, costs) < winogradOperations(layer, 2, costs)
                   ? 4
                   : 2;
}

// ---- Choices ------------------------------------------------------------------------------------

class Chooser {
  public:
    Chooser(const GemmLayer& layer, const CpuTarget& target, const AskWeights& ask)
        : mLayer(layer), mTarget(target), mTuning(target.tuning), mAsk(ask) {}

    Result<GemmChoice> choose() {
        if (mLayer.elements == GemmLayer::Elements::INT8) {
            return chooseInt8();
        }
        mHasHalfGemm = mLayer.elements == GemmLayer::Elements::HALF &&
                       mChoice.lost.takes(Form::HALF_GEMM, isLegalAsHalf(mLayer, mTarget.set));
        // Winograd's transforms and bf16 parts were not measured against each other: the former
        // come first. Both are measured against the float GEMM, which takes any layer.
        HALYARD_ASSIGN_OR_RETURN(const bool isWinograd, tryWinograd());
        if (isWinograd) {
            if (mHasHalfGemm) {
                mChoice.lost.add(Form::HALF_GEMM, costText(productOperations()));
            } else {
                mChoice.lost.add(Form::BF16_SPLIT_GEMM, "comes after Winograd's transforms");
                mChoice.lost.add(Form::FLOAT_GEMM, costText(productOperations()));
            }
            return std::move(mChoice);
        }
        if (mHasHalfGemm) {
            mChoice.form = Form::HALF_GEMM;
            mChoice.cycles = mLayer.rows == kUnknownExtent ? 0.0 : floatCycles() / kHalvesAtATime;
            mChoice.lost.add(Form::FLOAT_GEMM, "multiplies half as many elements at a time");
            return std::move(mChoice);
        }
        HALYARD_ASSIGN_OR_RETURN(const bool isSplit, tryBf16Split());
        if (isSplit) {
            mChoice.lost.takes(Form::FLOAT_GEMM,
                               isDearer(floatCycles(), mChoice.cycles, "bf16 split GEMM"));
            return std::move(mChoice);
        }
        HALYARD_ASSIGN_OR_RETURN(const bool hasBf16Weights, tryBf16Weights());
        mChoice.form = hasBf16Weights ? Form::BF16_WEIGHT_GEMM : Form::FLOAT_GEMM;
        mChoice.cycles = mLayer.rows == kUnknownExtent ? 0.0 : floatCycles();
        if (mLayer.rows == 1) {
            mChoice.streamsWeights = mChoice.lost.takes(
                    Form::STREAMED_WEIGHTS, isStreamed(1, mLayer.packedBytes(hasBf16Weights),
                                                       mLayer.threads, mTuning.vectors));
        }
        return std::move(mChoice);
    }

  private:
    double floatCycles() const {
        return static_cast<double>(floatVectorCycles(mLayer, mTuning.vectors));
    }
    // Of the product that Winograd's transforms stand in for, in multiply-adds of floats.
    double productOperations() const {
        const double operations = directOperations(mLayer, mTuning.winograd);
        return mHasHalfGemm ? operations / kHalvesAtATime : operations;
    }
    std::string costText(double operations) const {
        return std::string(isDearer(cyclesOf(operations, mTuning.vectors), mChoice.cycles,
                                    toString(mChoice.form))
                                   .message());
    }

    GemmChoice chooseInt8() {
        const Form byVectors = int8VectorForm(mTarget.set);
        Status legal = hasTiles(mTarget.set);
        if (legal.ok()) {
            legal = isLegalAndProfitableOnAmx(mLayer, mTuning);
        }
        const bool isOnAmx = mChoice.lost.takes(Form::INT8_GEMM_AMX, legal);
        mChoice.form = isOnAmx ? Form::INT8_GEMM_AMX : byVectors;
        if (mLayer.rows != kUnknownExtent) {
            const auto vectors = static_cast<double>(int8VectorCycles(mLayer, mTuning));
            mChoice.cycles =
                    isOnAmx ? static_cast<double>(int8AmxCycles(mLayer, mTuning.amx)) : vectors;
            if (isOnAmx) {
                mChoice.lost.add(byVectors,
                                 std::string(isDearer(vectors, mChoice.cycles, "tiles").message()));
            }
        }
        if (byVectors == Form::INT8_GEMM_WIDENED) {
            mChoice.lost.add(Form::INT8_GEMM_DOT,
                             std::string(toString(mTarget.set)) + " has no dot products of bytes");
        }
        if (byVectors != Form::INT8_GEMM_I8MM && mTarget.set >= InstructionSet::NEON) {
            mChoice.lost.add(Form::INT8_GEMM_I8MM,
                             std::string(toString(mTarget.set)) + " has no matrix products");
        }
        return std::move(mChoice);
    }

    Result<bool> tryWinograd() {
        WinogradTuning costs = mTuning.winograd;
        if (mHasHalfGemm) {
            costs.transform = std::max(costs.transform, kTransformBesideHalves);
        }
        if (!mLayer.isConvolution ||
            !mChoice.lost.takes(Form::WINOGRAD_2X2, isLegalForWinograd(mLayer, costs))) {
            return false;
        }
        const int64_t side = bestSide(mLayer, costs);
        const Form form = side == 4 ? Form::WINOGRAD_4X4 : Form::WINOGRAD_2X2;
        const double operations = winogradOperations(mLayer, side, costs);
        const double direct = productOperations();
        if (operations >= costs.worthwhile * direct) {
            mChoice.lost.add(form,
                             std::string(isDearer(cyclesOf(operations, mTuning.vectors),
                                                  cyclesOf(direct, mTuning.vectors),
                                                  mHasHalfGemm ? "half GEMM" : "direct product")
                                                 .message()));
            return false;
        }
        HALYARD_ASSIGN_OR_RETURN(const bool possible, mAsk(WeightFact::ARE_TRANSFORMABLE));
        if (!possible) {
            mChoice.lost.add(form, "the weights are not finite, or near overflow");
            return false;
        }
        mChoice.form = form;
        mChoice.cycles = cyclesOf(operations, mTuning.vectors);
        if (side == 2 && !mLayer.isRough) {
            mChoice.lost.add(Form::WINOGRAD_4X4, "results have to be more exact than its");
        } else {
            const int64_t other = 6 - side;
            mChoice.lost.add(other == 4 ? Form::WINOGRAD_4X4 : Form::WINOGRAD_2X2,
                             costText(winogradOperations(mLayer, other, costs)));
        }
        return true;
    }

    Result<bool> tryBf16Split() {
        LostForms& lost = mChoice.lost;
        constexpr Form kForm = Form::BF16_SPLIT_GEMM;
        if (!lost.takes(kForm, hasTiles(mTarget.set)) || !lost.takes(kForm, knowsRows(mLayer))) {
            return false;
        }
        if (mLayer.elements != GemmLayer::Elements::FLOAT) {
            lost.add(kForm, "takes floats");
            return false;
        }
        HALYARD_ASSIGN_OR_RETURN(const bool areBfloats, mAsk(WeightFact::ARE_BFLOAT16));
        if (!mLayer.isRough && !areBfloats) {
            lost.add(kForm,
                     "results have to be more exact than two parts, and weights are no bf16");
            return false;
        }
        const int left = mLayer.isRough ? 2 : 3;
        const int right = areBfloats ? 1 : 2;
        const auto cycles =
                static_cast<double>(bf16SplitCycles(mLayer, left, right, mTuning.bf16Split));
        if (cycles >= floatCycles()) {
            lost.takes(kForm, isDearer(cycles, floatCycles(), "float GEMM"));
            return false;
        }
        HALYARD_ASSIGN_OR_RETURN(const bool isSafe, mAsk(WeightFact::ARE_IN_SAFE_RANGE));
        if (!isSafe) {
            lost.add(kForm, "weights or biases are beyond the safe range of bf16 parts");
            return false;
        }
        mChoice.form = kForm;
        mChoice.leftParts = left;
        mChoice.rightParts = right;
        mChoice.cycles = cycles;
        return true;
    }

    // Whether there are as few rows as wait for the weights, and these are half as many bytes as
    // they seem.
    Result<bool> tryBf16Weights() {
        LostForms& lost = mChoice.lost;
        constexpr Form kForm = Form::BF16_WEIGHT_GEMM;
        if (!lost.takes(kForm, isLegalWithBf16Weights(mLayer))) {
            return false;
        }
        HALYARD_ASSIGN_OR_RETURN(const bool areBfloats, mAsk(WeightFact::ARE_BFLOAT16));
        if (!areBfloats) {
            lost.add(kForm, "the weights are no bf16");
        }
        return areBfloats;
    }

    const GemmLayer& mLayer;
    const CpuTarget& mTarget;
    const CpuTuning& mTuning;
    const AskWeights& mAsk;
    bool mHasHalfGemm = false;  // the layer is one of halves that may be summed up as such
    GemmChoice mChoice;
};

}  // namespace

GemmLayer GemmLayer::convolution(int64_t output, int64_t inputC, int64_t outputC, int64_t side,
                                 int64_t stride) {
    return {.outputH = output,
            .outputW = output,
            .rows = output * output,
            .inputC = inputC,
            .outputC = outputC,
            .filterH = side,
            .filterW = side,
            .strideH = stride,
            .strideW = stride,
            .runs = side,
            .runLength = side * inputC};
}

GemmLayer GemmLayer::fullyConnected(int64_t rows, int64_t depth, int64_t columns) {
    return {.isConvolution = false,
            .rows = rows,
            .inputC = depth,
            .outputC = columns,
            .runLength = depth};
}

size_t GemmLayer::packedBytes(bool hasBf16Weights) const {
    const int64_t steps = hasBf16Weights ? ceilDivide(depth(), 2) : depth();
    return static_cast<size_t>(ceilDivide(groupColumns(), lanes) * groups * (steps + 1) * lanes) *
           sizeof(float);
}

int64_t vectorGemmCycles(const GemmLayer& layer, const CpuTuning& tuning) {
    return layer.elements == GemmLayer::Elements::INT8 ? int8VectorCycles(layer, tuning)
                                                       : floatVectorCycles(layer, tuning.vectors);
}

Form int8VectorForm(InstructionSet set) {
    switch (set) {
        case InstructionSet::AVX512_VNNI:
        case InstructionSet::AVX512_AMX:
        case InstructionSet::NEON_DOT:
            return Form::INT8_GEMM_DOT;
        case InstructionSet::NEON_I8MM:
            return Form::INT8_GEMM_I8MM;
        default:
            return Form::INT8_GEMM_WIDENED;
    }
}

Status isLegalWithBf16Weights(const GemmLayer& layer) {
    HALYARD_RETURN_IF_ERROR(knowsRows(layer));
    return layer.rows <= layer.fewRows && layer.elements == GemmLayer::Elements::FLOAT
                   ? Status()
                   : unsupported("takes up to " + std::to_string(layer.fewRows) +
                                 " rows of floats, not " + std::to_string(layer.rows));
}

Status isLegalAndProfitableOnAmx(const GemmLayer& layer, const CpuTuning& tuning) {
    if (!layer.keepsType) {
        return unsupported("takes results of the input's type");
    }
    if (!(layer.largestMultiplier <= kMostAmxMultiplier)) {
        return unsupported("takes multipliers up to a half");
    }
    HALYARD_RETURN_IF_ERROR(knowsRows(layer));
    const int64_t tiles = int8AmxCycles(layer, tuning.amx);
    const int64_t vectors = int8VectorCycles(layer, tuning);
    return tiles < vectors ? Status()
                           : isDearer(static_cast<double>(tiles), static_cast<double>(vectors),
                                      "GEMM by dot products");
}

Status isStreamed(int64_t rows, size_t bytes, size_t threads, const VectorTuning& tuning) {
    if (rows != 1) {
        return unsupported("takes one row, not " + std::to_string(rows));
    }
    const size_t each = bytes / std::max<size_t>(threads, 1);
    return each >= static_cast<size_t>(tuning.farBytes)
                   ? Status()
                   : unsupported("a thread's " + std::to_string(each >> 10U) +
                                 " KiB of weights stay in L2");
}

Result<GemmChoice> chooseGemm(const GemmLayer& layer, const CpuTarget& target,
                              const AskWeights& ask) {
    return Chooser(layer, target, ask).choose();
}

}  // namespace halyard::engine::cpu
