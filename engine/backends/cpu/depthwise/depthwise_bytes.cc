// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/depthwise_lines.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/chosen_kernel.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::cpu {
namespace {

class ShapedQuantizedDepthwise final : public WorkItemKernel {
  public:
    ShapedQuantizedDepthwise(const QuantizedDepthwise& form, const DepthwiseDefinition& definition,
                             PackedConstant panels, const DepthwiseLines& lines)
        : mForm(form), mEpilogue(definition.epilogue), mPanels(panels), mLines(lines) {}

    Status create(const DepthwiseDefinition& definition, const TensorType& x,
                  const TensorType& output) {
        mFlip = x.type == DataType::QUANT8_ASYMM_SIGNED ? 0x80 : 0;
        mPadding = static_cast<uint8_t>(x.quantization.zeroPoint);
        mZeroPoint = output.quantization.zeroPoint;
        mRange = rangeOf(definition.node.activation, output);
        mChannels = static_cast<size_t>(definition.channels);
        HALYARD_ASSIGN_OR_RETURN(mPaddingLine, mMemory.add(mChannels, 1));
        HALYARD_ASSIGN_OR_RETURN(
                mTaps, mMemory.add(static_cast<size_t>(definition.taps()), sizeof(const uint8_t*)));
        if (mLines.multiplier() > 1) {
            HALYARD_ASSIGN_OR_RETURN(
                    mPaddedTile,
                    mMemory.add(static_cast<size_t>(definition.filterH * mLines.widenedLine()), 1));
        }
        setWorkItems(mLines.items(), mLines.workItemOperations());
        return {};
    }

  private:
    void compute(const KernelCall& call, int64_t item, std::byte* memory) const override {
        auto* padding = reinterpret_cast<uint8_t*>(memory + mPaddingLine);
        std::fill_n(padding, mChannels, mPadding);
        ptrdiff_t first = 0;
        QuantizedDepthwiseLine line;
        line.window = mLines.windowOf(item, first);
        line.x = call.input(0).as<uint8_t>() + first;
        if (mLines.multiplier() > 1) {
            auto* paddedTile = reinterpret_cast<uint8_t*>(memory + mPaddedTile);
            mLines.widen(line.x, paddedTile, line.window, [](uint8_t value) { return value; });
            line.x = paddedTile;
        }
        line.xPixel = line.window.channels;
        line.padding = padding;
        line.taps = reinterpret_cast<const uint8_t**>(memory + mTaps);
        line.flip = mFlip;
        line.panels = mPanels.in(call.constants()).data();
        line.y = call.output(0).as<uint8_t>() + mLines.lineOf(item) * mLines.outputLine();
        line.yPixel = line.window.channels;
        line.zeroPoint = mZeroPoint;
        line.low = mRange.low;
        line.high = mRange.high;
        mForm.compute(line);
        mEpilogue.apply(call, mLines.outputRows(item));
    }

    const QuantizedDepthwise& mForm;
    const Epilogue mEpilogue;
    const PackedConstant mPanels;
    const DepthwiseLines mLines;
    uint8_t mFlip = 0;
    uint8_t mPadding = 0;
    int32_t mZeroPoint = 0;
    QuantizedRange mRange;
    size_t mChannels = 0;
    size_t mPaddingLine = 0;
    size_t mTaps = 0;
    size_t mPaddedTile = 0;
};

// The panels of depthwise_line.h.
struct PackedQuantizedDepthwise {
    InstructionSet set = InstructionSet::PORTABLE;
    Form form = Form::INT8_DEPTHWISE_WIDENED;
    bool blocksOverlap = true;
    int64_t channels = 0;
    int64_t filterH = 1;
    int64_t filterW = 1;
    ConstantSource<uint8_t> weights;
    bool isSigned = false;  // the weights are
    int32_t weightsZero = 0;
    ConstantSource<int32_t> bias;
    float xScale = 0.0F;
    int32_t xZero = 0;  // of what is multiplied
    WeightScales weightScales;
    float outputScale = 0.0F;

    static constexpr std::string_view kName = "depthwise of bytes";
    HALYARD_FIELDS(set, form, blocksOverlap, channels, filterH, filterW, weights, isSigned,
                   weightsZero, bias, xScale, xZero, weightScales, outputScale)

    Result<size_t> bytes() const {
        const QuantizedDepthwise& kernels = quantizedDepthwise(set, form);
        return packedBytes(kernels.blocks(channels), kernels.panelBytes(filterH, filterW));
    }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        const QuantizedDepthwise& kernels = quantizedDepthwise(set, form);
        std::ranges::fill(bytes, std::byte{0});
        std::byte* panel = bytes.data();
        for (int64_t index = 0; index < kernels.blocks(channels); ++index) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            const DepthwiseBlock block = kernels.block(index, channels, blocksOverlap);
            for (int64_t pixel = 0; pixel < kernels.lanes; pixel += block.part) {
                for (int64_t channel = 0; channel < block.channels; ++channel) {
                    packChannel(kernels, panel, block.channel + channel,
                                kernels.laneOf(pixel + channel));
                }
            }
            panel += kernels.panelBytes(filterH, filterW);
        }
        return {};
    }

  private:
    void packChannel(const QuantizedDepthwise& kernels, std::byte* panel, int64_t channel,
                     int64_t lane) const {
        auto* biases = reinterpret_cast<int32_t*>(panel);
        auto* multipliers = reinterpret_cast<float*>(biases + kernels.lanes);
        std::byte* const to = reinterpret_cast<std::byte*>(multipliers + kernels.lanes);
        uint32_t sum = 0;
        for (int64_t tap = 0; tap < filterH * filterW; ++tap) {
            const uint8_t byte = weights.data[tap * channels + channel];
            const int32_t value = isSigned ? int32_t{static_cast<int8_t>(byte)} : int32_t{byte};
            const int32_t weight = value - weightsZero;
            const int64_t place = kernels.placeOf(tap / filterW, tap % filterW, filterH, filterW);
            const int64_t at = (place / kernels.group * kernels.lanes + lane) * kernels.group +
                               place % kernels.group;
            sum += static_cast<uint32_t>(weight);
            if (kernels.bytes) {
                reinterpret_cast<int8_t*>(to)[at] = static_cast<int8_t>(weight);
            } else {
                reinterpret_cast<int16_t*>(to)[at] = static_cast<int16_t>(weight);
            }
        }
        biases[lane] = static_cast<int32_t>(static_cast<uint32_t>(bias.data[channel]) -
                                            static_cast<uint32_t>(xZero) * sum);
        multipliers[lane] = multiplier(xScale, weightScales[channel], outputScale);
    }
};

// Of signed weights, -128; of unsigned ones around 128 the byte that stands for it.
struct LacksLeastByte {
    ConstantSource<uint8_t> weights;
    int64_t count = 0;
    uint8_t least = 0;

    static constexpr std::string_view kName = "depthwise weights lack -128";
    HALYARD_FIELDS(weights, count, least)

    bool holds() const {
        return std::find(weights.data, weights.data + count, least) == weights.data + count;
    }
};

uint8_t leastByteOf(DataType type) {
    return type == DataType::QUANT8_ASYMM ? 0 : 0x80;
}

class QuantizedDepthwiseKernel final : public StepKernel {
  public:
    QuantizedDepthwiseKernel(const QuantizedDepthwise& form, InstructionSet set,
                             const DepthwiseDefinition& definition, PackedConstant panels)
        : mForm(form),
          mDefinition(definition),
          mPanels(panels),
          mName("acc::depthwise_8bit " + std::string(toString(set)) + mDefinition.epilogue.name()) {
    }

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedQuantizedDepthwise>> make(const StepTypes& types) const {
        HALYARD_ASSIGN_OR_RETURN(const DepthwiseLines lines,
                                 DepthwiseLines::create(mDefinition, types.inputs[0]->shape,
                                                        types.outputs[0]->shape));
        auto kernel =
                std::make_shared<ShapedQuantizedDepthwise>(mForm, mDefinition, mPanels, lines);
        HALYARD_RETURN_IF_ERROR(kernel->create(mDefinition, *types.inputs[0], resultOf(types)));
        return std::shared_ptr<const ShapedQuantizedDepthwise>(std::move(kernel));
    }

    const QuantizedDepthwise& mForm;
    const DepthwiseDefinition mDefinition;
    const PackedConstant mPanels;
    const std::string mName;
};

}  // namespace

Result<DepthwiseChoice> chooseQuantizedDepthwise(const DepthwiseDefinition& definition,
                                                 bool blocksOverlap,
                                                 const KernelArguments& arguments,
                                                 InstructionSet set) {
    const TensorType& x = typeOf(arguments, arguments.node.inputs[0]);
    const TensorType& weights = typeOf(arguments, arguments.node.inputs[1]);
    const Window2d& window = definition.node.window;
    Int8DepthwiseLayer layer = {.channels = definition.channels,
                                .blocksOverlap = blocksOverlap,
                                .filterH = definition.filterH,
                                .filterW = definition.filterW,
                                .strideW = window.strideW,
                                .dilationW = window.dilationW,
                                .hasSignedWeights = byteZerosOf(x, weights, false).weights == 0};
    if (mayPairProducts(layer, set)) {
        HALYARD_ASSIGN_OR_RETURN(layer.fitsPairs,
                                 arguments.constants.holds(LacksLeastByte{
                                         .weights = constantOf<uint8_t>(arguments, 1),
                                         .count = definition.taps() * definition.channels,
                                         .least = leastByteOf(weights.type)}));
    }
    return chooseInt8Depthwise(layer, set);
}

Result<PackedConstant> packQuantizedDepthwise(InstructionSet set, Form form,
                                              const DepthwiseDefinition& definition,
                                              bool blocksOverlap,
                                              const KernelArguments& arguments) {
    const TensorType& x = typeOf(arguments, arguments.node.inputs[0]);
    const TensorType& weights = typeOf(arguments, arguments.node.inputs[1]);
    const ByteZeros zeros = byteZerosOf(x, weights, false);
    const bool isSigned = weights.type != DataType::QUANT8_ASYMM;
    return arguments.constants.add(PackedQuantizedDepthwise{
            .set = set,
            .form = form,
            .blocksOverlap = blocksOverlap,
            .channels = definition.channels,
            .filterH = definition.filterH,
            .filterW = definition.filterW,
            .weights = constantOf<uint8_t>(arguments, 1),
            .isSigned = isSigned,
            .weightsZero = zeros.weights + (isSigned ? 0 : 128),
            .bias = constantOf<int32_t>(arguments, 2),
            .xScale = x.quantization.scale,
            .xZero = zeros.x - quantizedDepthwise(set, form).moved,
            .weightScales = WeightScales(weights.quantization),
            .outputScale = typeOf(arguments, arguments.node.outputs[0]).quantization.scale});
}

Result<std::unique_ptr<const StepKernel>> compileQuantizedDepthwise(
        const DepthwiseDefinition& definition, const KernelArguments& arguments,
        const CpuTarget& target) {
    HALYARD_ASSIGN_OR_RETURN(const DepthwiseChoice choice,
                             chooseQuantizedDepthwise(definition, true, arguments, target.set));
    HALYARD_ASSIGN_OR_RETURN(
            const PackedConstant packed,
            packQuantizedDepthwise(target.set, choice.form, definition, true, arguments));
    return withLostForms(
            std::make_unique<QuantizedDepthwiseKernel>(quantizedDepthwise(target.set, choice.form),
                                                       target.set, definition, packed),
            choice.lost.toString());
}

}  // namespace halyard::engine::cpu
