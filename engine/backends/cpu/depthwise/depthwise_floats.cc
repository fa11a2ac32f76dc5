// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/depthwise_lines.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/backends/cpu/vectors/half_conversion.h"
#include "engine/base/half.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {
namespace {

class ShapedFloatDepthwise final : public WorkItemKernel {
  public:
    ShapedFloatDepthwise(const FloatDepthwise& form, const HalfConversion& halves,
                         const DepthwiseDefinition& definition, PackedConstant panels,
                         const DepthwiseLines& lines)
        : mForm(form),
          mHalfConversion(halves),
          mRange(rangeOf(definition.node.activation)),
          mEpilogue(definition.epilogue),
          mPanels(panels),
          mLines(lines) {}

    // Halves are widened on the way in and narrowed on the way out.
    Status create(bool halves, int64_t filterH) {
        mHalves = halves;
        mWidens = halves || mLines.multiplier() > 1;
        if (mWidens) {
            HALYARD_ASSIGN_OR_RETURN(
                    mInput, mMemory.add(static_cast<size_t>(filterH * mLines.widenedLine()),
                                        sizeof(float)));
        }
        if (halves) {
            HALYARD_ASSIGN_OR_RETURN(
                    mOutput, mMemory.add(static_cast<size_t>(mLines.outputLine()), sizeof(float)));
        }
        setWorkItems(mLines.items(), mLines.workItemOperations());
        return {};
    }

  private:
    void compute(const KernelCall& call, int64_t item, std::byte* memory) const override {
        ptrdiff_t first = 0;
        FloatDepthwiseLine line;
        line.window = mLines.windowOf(item, first);
        line.panels = reinterpret_cast<const float*>(mPanels.in(call.constants()).data());
        line.xPixel = line.yPixel = line.window.channels;
        line.low = mRange.low;
        line.high = mRange.high;
        const ptrdiff_t to = mLines.lineOf(item) * mLines.outputLine();
        auto* paddedTile = reinterpret_cast<float*>(memory + mInput);
        if (!mHalves) {
            line.x = call.input(0).as<float>() + first;
            line.y = call.output(0).as<float>() + to;
            if (mWidens) {
                mLines.widen(line.x, paddedTile, line.window, [](float value) { return value; });
                line.x = paddedTile;
            }
            mForm.compute(line);
            mEpilogue.apply(call, mLines.outputRows(item));
            return;
        }
        mLines.widen(call.input(0).as<Half>() + first, paddedTile, line.window,
                     mHalfConversion.toFloats);
        line.x = paddedTile;
        line.y = reinterpret_cast<float*>(memory + mOutput);
        mForm.compute(line);
        const ptrdiff_t begin = line.window.firstPixel * line.window.channels;
        const ptrdiff_t end = line.window.endPixel * line.window.channels;
        mHalfConversion.toHalves(line.y + begin, end - begin,
                                 call.output(0).as<Half>() + to + begin);
        mEpilogue.apply(call, mLines.outputRows(item));
    }

    const FloatDepthwise& mForm;
    const HalfConversion& mHalfConversion;
    const RealRange mRange;
    const Epilogue mEpilogue;
    const PackedConstant mPanels;
    const DepthwiseLines mLines;
    bool mHalves = false;
    bool mWidens = false;
    size_t mInput = 0;
    size_t mOutput = 0;
};

// [block of channels][bias, then each tap][lane]
template <typename T>
struct PackedFloatDepthwise {
    int64_t lanes = 1;
    int64_t channels = 0;
    int64_t taps = 0;
    ConstantSource<T> weights;
    ConstantSource<T> bias;

    static constexpr std::string_view kName =
            std::is_same_v<T, Half> ? "depthwise of halves" : "depthwise of floats";
    HALYARD_FIELDS(lanes, channels, taps, weights, bias)

    Result<size_t> bytes() const {
        return packedBytes((channels + lanes - 1) / lanes,
                           lanes * (taps + 1) * static_cast<int64_t>(sizeof(float)));
    }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        auto* to = reinterpret_cast<float*>(bytes.data());
        for (int64_t block = 0; block < channels; block += lanes) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            const int64_t count = std::min(lanes, channels - block);
            for (int64_t row = 0; row <= taps; ++row) {
                const T* from =
                        (row == 0 ? bias.data : weights.data + (row - 1) * channels) + block;
                for (int64_t lane = 0; lane < lanes; ++lane) {
                    *to++ = lane < count ? toReal(from[lane]) : 0.0F;
                }
            }
        }
        return {};
    }
};

// Zeros may be multiplied with them.
struct AreFinite {
    ConstantSource<float> weights;
    int64_t count = 0;

    static constexpr std::string_view kName = "depthwise weights are finite";
    HALYARD_FIELDS(weights, count)

    bool holds() const {
        return std::all_of(weights.data, weights.data + count,
                           [](float weight) { return std::isfinite(weight); });
    }
};

class FloatDepthwiseKernel final : public StepKernel {
  public:
    FloatDepthwiseKernel(const FloatDepthwise& form, InstructionSet set,
                         const DepthwiseDefinition& definition, PackedConstant panels)
        : mForm(form),
          mHalfConversion(halfConversion(set)),
          mDefinition(definition),
          mPanels(panels),
          mName("acc::depthwise_float " + std::string(toString(set)) +
                mDefinition.epilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedKernel>> make(const StepTypes& types) const {
        const TensorType& x = *types.inputs[0];
        const Shape& output = types.outputs[0]->shape;
        HALYARD_ASSIGN_OR_RETURN(const DepthwiseLines lines,
                                 DepthwiseLines::create(mDefinition, x.shape, output));
        auto kernel = std::make_shared<ShapedFloatDepthwise>(mForm, mHalfConversion, mDefinition,
                                                             mPanels, lines);
        HALYARD_RETURN_IF_ERROR(kernel->create(x.type == DataType::FLOAT16, mDefinition.filterH));
        return std::shared_ptr<const ShapedKernel>(std::move(kernel));
    }

    const FloatDepthwise& mForm;
    const HalfConversion& mHalfConversion;
    const DepthwiseDefinition mDefinition;
    const PackedConstant mPanels;
    const std::string mName;
};

}  // namespace

Result<PackedConstant> packFloatDepthwise(InstructionSet set, const DepthwiseDefinition& definition,
                                          const KernelArguments& arguments) {
    const auto packAs = [&]<typename T>(T /*element*/) {
        return arguments.constants.add(
                PackedFloatDepthwise<T>{.lanes = floatDepthwise(set).lanes,
                                        .channels = definition.channels,
                                        .taps = definition.taps(),
                                        .weights = constantOf<T>(arguments, 1),
                                        .bias = constantOf<T>(arguments, 2)});
    };
    return typeOf(arguments, arguments.node.inputs[0]).type == DataType::FLOAT16 ? packAs(Half())
                                                                                 : packAs(float());
}

Result<bool> mayPadDepthwise(const DepthwiseDefinition& definition,
                             const KernelArguments& arguments) {
    if (typeOf(arguments, arguments.node.inputs[0]).type != DataType::FLOAT32) {
        return false;
    }
    return arguments.constants.holds(AreFinite{.weights = constantOf<float>(arguments, 1),
                                               .count = definition.taps() * definition.channels});
}

Result<std::unique_ptr<const StepKernel>> compileFloatDepthwise(
        const DepthwiseDefinition& definition, const KernelArguments& arguments,
        const CpuTarget& target) {
    const FloatDepthwise& form = floatDepthwise(target.set);
    HALYARD_ASSIGN_OR_RETURN(const PackedConstant packed,
                             packFloatDepthwise(target.set, definition, arguments));
    return std::unique_ptr<const StepKernel>(
            std::make_unique<FloatDepthwiseKernel>(form, target.set, definition, packed));
}

}  // namespace halyard::engine::cpu
