// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/backends/cpu/depthwise_line.h"
#include "engine/backends/cpu/kernels.h"
#include "engine/backends/cpu/thread_memory.h"
#include "engine/backends/cpu/weights.h"
#include "engine/base/checked_math.h"
#include "engine/base/half.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::cpu {
namespace {

// The node, without what the graph may let go of.
struct Definition {
    DepthwiseConv2d node;
    int64_t filterH = 1;
    int64_t filterW = 1;
    int64_t channels = 1;
    size_t threads = 1;

    int64_t taps() const { return filterH * filterW; }
};

// Where the lines of the output lie, and the windows of each.
class Lines {
  public:
    static Result<Lines> create(const Definition& definition, const Shape& x, const Shape& output) {
        const Window2d& window = definition.node.window;
        HALYARD_ASSIGN_OR_RETURN(
                const ResolvedWindow resolved,
                resolveWindow(window, x[1], x[2], static_cast<int32_t>(definition.filterH),
                              static_cast<int32_t>(definition.filterW)));
        Lines lines;
        lines.mCount = int64_t{output[0]} * output[1];
        lines.mOutputH = output[1];
        lines.mInputH = x[1];
        lines.mTop = resolved.top;
        lines.mStrideH = window.strideH;
        lines.mDilationH = window.dilationH;
        lines.mWindow = {.filterH = definition.filterH,
                         .filterW = definition.filterW,
                         .row = int64_t{window.dilationH} * x[2] * x[3],
                         .column = int64_t{window.dilationW} * x[3],
                         .dilationW = window.dilationW,
                         .strideW = window.strideW,
                         .left = resolved.left,
                         .inputW = x[2],
                         .outputW = output[2],
                         .channels = output[3]};
        lines.mUnitPixels = std::clamp<int64_t>(kMostOperations / lines.pixelOperations(), 1,
                                                lines.mWindow.outputW);
        lines.mUnitsPerLine = (lines.mWindow.outputW + lines.mUnitPixels - 1) / lines.mUnitPixels;
        return lines;
    }

    // The work is cut into pixels of lines.
    int64_t units() const { return mCount * mUnitsPerLine; }
    int64_t unitOperations() const { return mUnitPixels * pixelOperations(); }
    int64_t lineOf(int64_t unit) const { return unit / mUnitsPerLine; }
    // Elements of a line.
    int64_t inputLine() const { return mWindow.inputW * mWindow.channels; }
    int64_t outputLine() const { return mWindow.outputW * mWindow.channels; }

    // The windows of a unit; `first` is where the line that the filter's row 0 reads, or would
    // read, starts in the input.
    DepthwiseWindow windowOf(int64_t unit, ptrdiff_t& first) const {
        const int64_t line = lineOf(unit);
        const int64_t top = line % mOutputH * mStrideH - mTop;
        DepthwiseWindow window = mWindow;
        window.firstRow =
                std::min(top < 0 ? (-top + mDilationH - 1) / mDilationH : 0, window.filterH);
        const int64_t left = mInputH - 1 - top;
        window.endRow =
                std::clamp(left < 0 ? 0 : left / mDilationH + 1, window.firstRow, window.filterH);
        window.firstPixel = unit % mUnitsPerLine * mUnitPixels;
        window.endPixel = std::min(window.firstPixel + mUnitPixels, window.outputW);
        first = (line / mOutputH * mInputH + top) * inputLine();
        return window;
    }

  private:
    // Multiply-adds of a unit, at most: nobody asks in its midst whether it is time to stop.
    static constexpr int64_t kMostOperations = int64_t{1} << 24;

    int64_t pixelOperations() const {
        return std::max<int64_t>(mWindow.filterH * mWindow.filterW * mWindow.channels, 1);
    }

    DepthwiseWindow mWindow;
    int64_t mUnitPixels = 1, mUnitsPerLine = 1;
    int64_t mCount = 0;
    int64_t mOutputH = 1, mInputH = 1;
    int64_t mTop = 0, mStrideH = 1, mDilationH = 1;
};

// ---- Floats -------------------------------------------------------------------------------------

class ShapedFloatDepthwise final : public ShapedKernel {
  public:
    ShapedFloatDepthwise(const FloatDepthwise& form, Activation activation, PackedConstant panels,
                         const Lines& lines)
        : mForm(form), mRange(rangeOf(activation)), mPanels(panels), mLines(lines) {}

    // Halves are widened on the way in and narrowed on the way out.
    Status create(bool halves, int64_t filterH, size_t threads) {
        mHalves = halves;
        if (halves) {
            HALYARD_ASSIGN_OR_RETURN(
                    mInput,
                    mMemory.add(static_cast<size_t>(filterH * mLines.inputLine()), sizeof(float)));
            HALYARD_ASSIGN_OR_RETURN(
                    mOutput, mMemory.add(static_cast<size_t>(mLines.outputLine()), sizeof(float)));
        }
        HALYARD_ASSIGN_OR_RETURN(mBytes, mMemory.bytesOf(threads));
        return {};
    }

    size_t workspaceBytes() const override { return mBytes; }

    Status run(KernelCall& call) const override {
        return call.inParallel(mLines.units(), mLines.unitOperations(),
                               [&](int64_t begin, int64_t end, size_t worker) {
                                   for (int64_t unit = begin; unit < end; ++unit) {
                                       compute(call, unit, mMemory.of(call, worker));
                                   }
                               });
    }

  private:
    void compute(const KernelCall& call, int64_t unit, std::byte* memory) const {
        ptrdiff_t first = 0;
        FloatDepthwiseLine line;
        line.window = mLines.windowOf(unit, first);
        line.panels = reinterpret_cast<const float*>(mPanels.in(call.constants()).data());
        line.low = mRange.low;
        line.high = mRange.high;
        const ptrdiff_t to = mLines.lineOf(unit) * mLines.outputLine();
        if (!mHalves) {
            line.x = call.input(0).as<float>() + first;
            line.y = call.output(0).as<float>() + to;
            mForm.compute(line);
            return;
        }
        const ptrdiff_t length = mLines.inputLine();
        auto* x = reinterpret_cast<float*>(memory + mInput);
        line.y = reinterpret_cast<float*>(memory + mOutput);
        for (int64_t i = line.window.firstRow; i < line.window.endRow; ++i) {
            const Half* from = call.input(0).as<Half>() + first + i * line.window.row;
            std::transform(from, from + length, x + i * length,
                           [](Half value) { return toFloat(value); });
        }
        line.x = x;
        line.window.row = length;
        mForm.compute(line);
        const ptrdiff_t begin = line.window.firstPixel * line.window.channels;
        const ptrdiff_t end = line.window.endPixel * line.window.channels;
        std::transform(line.y + begin, line.y + end, call.output(0).as<Half>() + to + begin,
                       [](float value) { return toHalf(value); });
    }

    const FloatDepthwise& mForm;
    const RealRange mRange;
    const PackedConstant mPanels;
    const Lines mLines;
    bool mHalves = false;
    ThreadMemory mMemory;
    size_t mInput = 0;
    size_t mOutput = 0;
    size_t mBytes = 0;
};

class FloatDepthwiseKernel final : public StepKernel {
  public:
    FloatDepthwiseKernel(const FloatDepthwise& form, InstructionSet set,
                         const Definition& definition, PackedConstant panels)
        : mForm(form),
          mDefinition(definition),
          mPanels(panels),
          mName("acc::depthwise_float " + std::string(toString(set))) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        if (countOf(types.outputs[0]->shape) == 0) {
            return std::shared_ptr<const ShapedKernel>(std::make_shared<EmptyKernel>());
        }
        HALYARD_ASSIGN_OR_RETURN(
                const Lines lines,
                Lines::create(mDefinition, types.inputs[0]->shape, types.outputs[0]->shape));
        auto kernel = std::make_shared<ShapedFloatDepthwise>(mForm, mDefinition.node.activation,
                                                             mPanels, lines);
        HALYARD_RETURN_IF_ERROR(kernel->create(types.inputs[0]->type == DataType::FLOAT16,
                                               mDefinition.filterH, mDefinition.threads));
        return std::shared_ptr<const ShapedKernel>(std::move(kernel));
    }

    template <typename T>
    static Status pack(const FloatDepthwise& form, const Definition& definition, const T* weights,
                       const T* bias, float* to, const Checkpoint& checkpoint) {
        const int64_t channels = definition.channels;
        for (int64_t block = 0; block < channels; block += form.lanes) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            const int64_t count = std::min(form.lanes, channels - block);
            for (int64_t row = 0; row <= definition.taps(); ++row) {
                const T* from = (row == 0 ? bias : weights + (row - 1) * channels) + block;
                for (int64_t lane = 0; lane < form.lanes; ++lane) {
                    *to++ = lane < count ? toReal(from[lane]) : 0.0F;
                }
            }
        }
        return {};
    }

  private:
    const FloatDepthwise& mForm;
    const Definition mDefinition;
    const PackedConstant mPanels;
    const std::string mName;
};

// ---- 8 bits -------------------------------------------------------------------------------------

class ShapedQuantizedDepthwise final : public ShapedKernel {
  public:
    ShapedQuantizedDepthwise(const QuantizedDepthwise& form, PackedConstant panels,
                             const Lines& lines)
        : mForm(form), mPanels(panels), mLines(lines) {}

    Status create(const Definition& definition, const TensorType& x, const TensorType& output) {
        mFlip = x.type == DataType::QUANT8_ASYMM_SIGNED ? 0x80 : 0;
        mPadding = static_cast<uint8_t>(x.quantization.zeroPoint);
        mZeroPoint = output.quantization.zeroPoint;
        mRange = rangeOf(definition.node.activation, output);
        mChannels = static_cast<size_t>(definition.channels);
        HALYARD_ASSIGN_OR_RETURN(mPaddingLine, mMemory.add(mChannels, 1));
        HALYARD_ASSIGN_OR_RETURN(
                mTaps, mMemory.add(static_cast<size_t>(definition.taps()), sizeof(const uint8_t*)));
        HALYARD_ASSIGN_OR_RETURN(mBytes, mMemory.bytesOf(definition.threads));
        return {};
    }

    size_t workspaceBytes() const override { return mBytes; }

    Status run(KernelCall& call) const override {
        return call.inParallel(mLines.units(), mLines.unitOperations(),
                               [&](int64_t begin, int64_t end, size_t worker) {
                                   compute(call, begin, end, mMemory.of(call, worker));
                               });
    }

  private:
    void compute(const KernelCall& call, int64_t begin, int64_t end, std::byte* memory) const {
        auto* padding = reinterpret_cast<uint8_t*>(memory + mPaddingLine);
        std::fill_n(padding, mChannels, mPadding);
        for (int64_t unit = begin; unit < end; ++unit) {
            ptrdiff_t first = 0;
            QuantizedDepthwiseLine line;
            line.window = mLines.windowOf(unit, first);
            line.x = call.input(0).as<uint8_t>() + first;
            line.padding = padding;
            line.taps = reinterpret_cast<const uint8_t**>(memory + mTaps);
            line.flip = mFlip;
            line.panels = mPanels.in(call.constants()).data();
            line.y = call.output(0).as<uint8_t>() + mLines.lineOf(unit) * mLines.outputLine();
            line.zeroPoint = mZeroPoint;
            line.low = mRange.low;
            line.high = mRange.high;
            mForm.compute(line);
        }
    }

    const QuantizedDepthwise& mForm;
    const PackedConstant mPanels;
    const Lines mLines;
    uint8_t mFlip = 0;
    uint8_t mPadding = 0;
    int32_t mZeroPoint = 0;
    QuantizedRange mRange;
    size_t mChannels = 0;
    ThreadMemory mMemory;
    size_t mPaddingLine = 0;
    size_t mTaps = 0;
    size_t mBytes = 0;
};

class QuantizedDepthwiseKernel final : public StepKernel {
  public:
    QuantizedDepthwiseKernel(const QuantizedDepthwise& form, InstructionSet set,
                             const Definition& definition, PackedConstant panels)
        : mForm(form),
          mDefinition(definition),
          mPanels(panels),
          mName("acc::depthwise_8bit " + std::string(toString(set))) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        if (countOf(types.outputs[0]->shape) == 0) {
            return std::shared_ptr<const ShapedKernel>(std::make_shared<EmptyKernel>());
        }
        HALYARD_ASSIGN_OR_RETURN(
                const Lines lines,
                Lines::create(mDefinition, types.inputs[0]->shape, types.outputs[0]->shape));
        auto kernel = std::make_shared<ShapedQuantizedDepthwise>(mForm, mPanels, lines);
        HALYARD_RETURN_IF_ERROR(kernel->create(mDefinition, *types.inputs[0], *types.outputs[0]));
        return std::shared_ptr<const ShapedKernel>(std::move(kernel));
    }

    // What the panels are made of.
    struct Source {
        const uint8_t* weights = nullptr;
        bool isSigned = false;  // the weights are
        int32_t weightsZero = 0;
        const int32_t* bias = nullptr;
        float xScale = 0.0F;
        int32_t xZero = 0;  // of unsigned bytes
        Quantization weightQuantization;
        float outputScale = 0.0F;
    };

    static Status pack(const QuantizedDepthwise& form, const Definition& definition,
                       const Source& source, std::span<std::byte> to,
                       const Checkpoint& checkpoint) {
        std::ranges::fill(to, std::byte{0});
        std::byte* panel = to.data();
        for (int64_t block = 0; block < definition.channels; block += form.lanes) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            const int64_t count = std::min(form.lanes, definition.channels - block);
            for (int64_t channel = 0; channel < count; ++channel) {
                packChannel(form, definition, source, panel, block + channel, form.laneOf(channel));
                if (form.repeats(definition.channels)) {
                    packChannel(form, definition, source, panel, block + channel,
                                form.laneOf(channel + count));
                }
            }
            panel += form.panelBytes(definition.taps());
        }
        return {};
    }

  private:
    static void packChannel(const QuantizedDepthwise& form, const Definition& definition,
                            const Source& source, std::byte* panel, int64_t channel, int64_t lane) {
        auto* biases = reinterpret_cast<int32_t*>(panel);
        auto* multipliers = reinterpret_cast<float*>(biases + form.lanes);
        std::byte* const weights = reinterpret_cast<std::byte*>(multipliers + form.lanes);
        uint32_t sum = 0;
        for (int64_t tap = 0; tap < definition.taps(); ++tap) {
            const uint8_t byte = source.weights[tap * definition.channels + channel];
            const int32_t value =
                    source.isSigned ? int32_t{static_cast<int8_t>(byte)} : int32_t{byte};
            const int32_t weight = value - source.weightsZero;
            const int64_t at =
                    (tap / form.group * form.lanes + lane) * form.group + tap % form.group;
            sum += static_cast<uint32_t>(weight);
            if (form.bytes) {
                reinterpret_cast<int8_t*>(weights)[at] = static_cast<int8_t>(weight);
            } else {
                reinterpret_cast<int16_t*>(weights)[at] = static_cast<int16_t>(weight);
            }
        }
        biases[lane] = static_cast<int32_t>(static_cast<uint32_t>(source.bias[channel]) -
                                            static_cast<uint32_t>(source.xZero) * sum);
        multipliers[lane] = multiplier(source.xScale, scaleOf(source.weightQuantization, channel),
                                       source.outputScale);
    }

    const QuantizedDepthwise& mForm;
    const Definition mDefinition;
    const PackedConstant mPanels;
    const std::string mName;
};

Result<size_t> bytesOfBlocks(int64_t channels, int64_t lanes, int64_t blockBytes) {
    const std::optional<size_t> bytes = checkedMultiply(
            static_cast<size_t>((channels + lanes - 1) / lanes), static_cast<size_t>(blockBytes));
    if (!bytes.has_value()) {
        return Status(StatusCode::RESOURCE_EXHAUSTED, "its packed weights are out of reach");
    }
    return *bytes;
}

Result<std::unique_ptr<const StepKernel>> compileFloat(const Definition& definition,
                                                       const KernelArguments& arguments,
                                                       InstructionSet set) {
    const FloatDepthwise& form = floatDepthwise(set);
    HALYARD_ASSIGN_OR_RETURN(const size_t bytes, bytesOfBlocks(definition.channels, form.lanes,
                                                               form.panelLength(definition.taps()) *
                                                                       int64_t{sizeof(float)}));
    const bool halves = typeOf(arguments, arguments.node.inputs[0]).type == DataType::FLOAT16;
    const auto packAs = [&]<typename T>(const T* weights, const T* bias) {
        return arguments.constants.add(bytes, [&form, definition, weights, bias](
                                                      std::span<std::byte> to,
                                                      const Checkpoint& checkpoint) {
            return FloatDepthwiseKernel::pack(form, definition, weights, bias,
                                              reinterpret_cast<float*>(to.data()), checkpoint);
        });
    };
    HALYARD_ASSIGN_OR_RETURN(
            const PackedConstant packed,
            halves ? packAs(constantOf<Half>(arguments, 1), constantOf<Half>(arguments, 2))
                   : packAs(constantOf<float>(arguments, 1), constantOf<float>(arguments, 2)));
    return std::unique_ptr<const StepKernel>(
            std::make_unique<FloatDepthwiseKernel>(form, set, definition, packed));
}

Result<std::unique_ptr<const StepKernel>> compileQuantized(const Definition& definition,
                                                           const KernelArguments& arguments,
                                                           InstructionSet set) {
    const TensorType& x = typeOf(arguments, arguments.node.inputs[0]);
    const TensorType& weights = typeOf(arguments, arguments.node.inputs[1]);
    const ByteZeros zeros = byteZerosOf(x, weights);
    const bool isSigned = weights.type != DataType::QUANT8_ASYMM;
    // Unsigned weights around 128 are signed ones as well.
    const QuantizedDepthwise& form = quantizedDepthwise(set, zeros.weights == 0);
    HALYARD_ASSIGN_OR_RETURN(const size_t bytes, bytesOfBlocks(definition.channels, form.lanes,
                                                               form.panelBytes(definition.taps())));
    const QuantizedDepthwiseKernel::Source source = {
            .weights = constantOf<uint8_t>(arguments, 1),
            .isSigned = isSigned,
            .weightsZero = zeros.weights + (isSigned ? 0 : 128),
            .bias = constantOf<int32_t>(arguments, 2),
            .xScale = x.quantization.scale,
            .xZero = zeros.x,
            .weightQuantization = weights.quantization,
            .outputScale = typeOf(arguments, arguments.node.outputs[0]).quantization.scale};
    HALYARD_ASSIGN_OR_RETURN(const PackedConstant packed,
                             arguments.constants.add(bytes, [&form, definition, source](
                                                                    std::span<std::byte> to,
                                                                    const Checkpoint& checkpoint) {
                                 return QuantizedDepthwiseKernel::pack(form, definition, source, to,
                                                                       checkpoint);
                             }));
    return std::unique_ptr<const StepKernel>(
            std::make_unique<QuantizedDepthwiseKernel>(form, set, definition, packed));
}

}  // namespace

Status supports(const DepthwiseConv2d& node, const Graph& graph, const Node& whole) {
    if (node.multiplier != 1) {
        return unsupported("has no kernel for a depth multiplier other than 1");
    }
    return supportsWeights(graph, whole);
}

Result<std::unique_ptr<const StepKernel>> compile(const DepthwiseConv2d& node,
                                                  const KernelArguments& arguments,
                                                  InstructionSet set) {
    const Node& whole = arguments.node;
    const Shape& weights = typeOf(arguments, whole.inputs[1]).shape;
    const Definition definition = {.node = node,
                                   .filterH = weights[1],
                                   .filterW = weights[2],
                                   .channels = weights[3],
                                   .threads = arguments.threads};
    arguments.packed.push_back(whole.inputs[1]);
    arguments.packed.push_back(whole.inputs[2]);
    return isOfBytes(typeOf(arguments, whole.inputs[0]).type)
                   ? compileQuantized(definition, arguments, set)
                   : compileFloat(definition, arguments, set);
}

}  // namespace halyard::engine::cpu
