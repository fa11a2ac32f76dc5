// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/product.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/backends/cpu/float_matmul.h"
#include "engine/backends/cpu/product_plan.h"
#include "engine/backends/cpu/quantized_matmul.h"
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

// The weights as the graph has them: [channel][line of the filter][taps and depth].
struct Filter {
    int64_t channels = 0;
    int64_t groups = 1;
    int64_t runs = 1;       // of one channel
    int64_t runLength = 0;  // not padded
    int64_t paddedRun = 0;

    int64_t groupChannels() const { return channels / groups; }
    int64_t depth() const { return runs * runLength; }
    int64_t paddedDepth() const { return runs * paddedRun; }
};

// The node, without what the graph may let go of.
struct Definition {
    std::optional<Window2d> window;
    int64_t filterH = 1, filterW = 1;
    Activation activation = Activation::NONE;
    Filter filter;
    size_t threads = 1;

    Result<ProductShape> shapeFor(const Shape& x, const Shape& output) const;
};

Result<ProductShape> Definition::shapeFor(const Shape& x, const Shape& output) const {
    ProductShape shape;
    shape.outputC = filter.channels;
    shape.groups = filter.groups;
    if (!window.has_value()) {
        shape.inputC = filter.depth();
        shape.inputW = shape.outputW = output[0];
        return shape;
    }
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(*window, x[1], x[2], static_cast<int32_t>(filterH),
                                           static_cast<int32_t>(filterW)));
    shape.batches = x[0];
    shape.inputH = x[1];
    shape.inputW = x[2];
    shape.inputC = x[3];
    shape.outputH = output[1];
    shape.outputW = output[2];
    shape.filterH = filterH;
    shape.filterW = filterW;
    shape.strideH = window->strideH;
    shape.strideW = window->strideW;
    shape.dilationH = window->dilationH;
    shape.dilationW = window->dilationW;
    shape.top = resolved.top;
    shape.left = resolved.left;
    return shape;
}

Filter filterOf(const ProductNode& node, const Shape& weights, int64_t multiple) {
    Filter filter{.channels = weights[0], .groups = node.groups};
    if (node.window == nullptr) {
        filter.runLength = weights[1];
    } else {
        // As ProductPlan merges neighbouring taps.
        const bool merged = node.groups == 1 && node.window->dilationW == 1;
        filter.runs = merged ? weights[1] : int64_t{weights[1]} * weights[2];
        filter.runLength = merged ? int64_t{weights[2]} * weights[3] : weights[3];
    }
    filter.paddedRun = (filter.runLength + multiple - 1) / multiple * multiple;
    return filter;
}

// Calls place(channel, lane) for each lane of a panel, the lanes behind the last channel included,
// for which the channel is -1.
template <typename Place>
void forEachLane(const Filter& filter, int64_t lanes, int64_t panel, Place place) {
    const int64_t perGroup = (filter.groupChannels() + lanes - 1) / lanes;
    const int64_t group = panel / perGroup;
    for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t channel = panel % perGroup * lanes + lane;
        place(channel < filter.groupChannels() ? group * filter.groupChannels() + channel : -1,
              lane);
    }
}

// ---- Floats -------------------------------------------------------------------------------------

class ShapedFloatProduct final : public ShapedKernel {
  public:
    ShapedFloatProduct(const FloatMatmul& form, const Definition& definition, PackedConstant panels,
                       ProductPlan plan)
        : mForm(form),
          mFilter(definition.filter),
          mRange(rangeOf(definition.activation)),
          mPanels(panels),
          mPlan(std::move(plan)) {}

    // Halves are widened on the way in and narrowed on the way out.
    Status create(bool halves, size_t threads) {
        mHalves = halves;
        if (mPlan.usesStrip()) {
            HALYARD_ASSIGN_OR_RETURN(mStrip, mMemory.add(mPlan.stripLength(), sizeof(float)));
        }
        if (halves) {
            HALYARD_ASSIGN_OR_RETURN(
                    mResult, mMemory.add(static_cast<size_t>(mPlan.unitElements()), sizeof(float)));
        }
        HALYARD_ASSIGN_OR_RETURN(mBytes, mMemory.bytesOf(threads));
        return {};
    }

    size_t workspaceBytes() const override { return mBytes; }

    Status run(KernelCall& call) const override {
        return call.inParallel(mPlan.unitCount(), mPlan.unitOperations(),
                               [&](int64_t begin, int64_t end, size_t worker) {
                                   for (int64_t i = begin; i < end; ++i) {
                                       compute(call, mPlan.unit(i), mMemory.of(call, worker));
                                   }
                               });
    }

  private:
    void compute(const KernelCall& call, const ProductUnit& unit, std::byte* memory) const {
        const ConstTensorView& x = call.input(0);
        const TensorView& output = call.output(0);
        const int64_t groupPanels = mForm.panels(mFilter.groupChannels());
        const int64_t panel = unit.group * groupPanels + unit.column / mForm.lanes;
        FloatBlock block;
        if (mPlan.usesStrip()) {
            auto* strip = reinterpret_cast<float*>(memory + mStrip);
            if (mHalves) {
                mPlan.fillStrip(unit, x.as<Half>(), strip, 0.0F,
                                [](Half value) { return toFloat(value); });
            } else {
                mPlan.fillStrip(unit, x.as<float>(), strip, 0.0F,
                                [](float value) { return value; });
            }
            block.a = strip + unit.group * mFilter.runLength;
        } else {
            block.a = x.as<float>() + mPlan.inputOffset(unit);
        }
        block.aLine = mPlan.aLine();
        block.aRow = mPlan.aRow();
        block.runs = mPlan.runs();
        block.runLength = mPlan.runLength();
        block.lines = unit.lines;
        block.rows = unit.rows;
        block.panels = reinterpret_cast<const float*>(mPanels.in(call.constants()).data()) +
                       panel * mForm.panelLength(mFilter.paddedDepth());
        block.columns = unit.columns;
        block.low = mRange.low;
        block.high = mRange.high;
        if (!mHalves) {
            block.c = output.as<float>() + mPlan.outputOffset(unit);
            block.cLine = mPlan.cLine();
            block.cRow = mPlan.cRow();
            mForm.compute(block);
            return;
        }
        auto* result = reinterpret_cast<float*>(memory + mResult);
        block.c = result;
        block.cRow = unit.columns;
        block.cLine = unit.columns * unit.rows;
        mForm.compute(block);
        Half* to = output.as<Half>() + mPlan.outputOffset(unit);
        for (int64_t line = 0; line < unit.lines; ++line) {
            for (int64_t row = 0; row < unit.rows; ++row) {
                const float* from = result + line * block.cLine + row * block.cRow;
                std::transform(from, from + unit.columns,
                               to + line * mPlan.cLine() + row * mPlan.cRow(),
                               [](float value) { return toHalf(value); });
            }
        }
    }

    const FloatMatmul& mForm;
    const Filter mFilter;
    const RealRange mRange;
    const PackedConstant mPanels;
    const ProductPlan mPlan;
    bool mHalves = false;
    ThreadMemory mMemory;
    size_t mStrip = 0;
    size_t mResult = 0;
    size_t mBytes = 0;
};

class FloatProduct final : public StepKernel {
  public:
    FloatProduct(const FloatMatmul& form, InstructionSet set, Definition definition,
                 PackedConstant panels)
        : mForm(form),
          mDefinition(std::move(definition)),
          mPanels(panels),
          mName("acc::product_float " + std::string(form.tile) + " " + std::string(toString(set))) {
    }

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        if (countOf(types.outputs[0]->shape) == 0) {
            return std::shared_ptr<const ShapedKernel>(std::make_shared<EmptyKernel>());
        }
        const bool halves = types.inputs[0]->type == DataType::FLOAT16;
        HALYARD_ASSIGN_OR_RETURN(
                const ProductShape shape,
                mDefinition.shapeFor(types.inputs[0]->shape, types.outputs[0]->shape));
        HALYARD_ASSIGN_OR_RETURN(ProductPlan plan,
                                 ProductPlan::create(shape, {.tileRows = mForm.tileRows,
                                                             .tileColumns = mForm.tileLanes,
                                                             .alwaysStrip = halves,
                                                             .threads = mDefinition.threads}));
        auto kernel =
                std::make_shared<ShapedFloatProduct>(mForm, mDefinition, mPanels, std::move(plan));
        HALYARD_RETURN_IF_ERROR(kernel->create(halves, mDefinition.threads));
        return std::shared_ptr<const ShapedKernel>(std::move(kernel));
    }

    // [panel][bias, then each k][lane]
    template <typename T>
    static Status pack(const FloatMatmul& form, const Filter& filter, const T* weights,
                       const T* bias, float* to, const Checkpoint& checkpoint) {
        const int64_t panels = form.panels(filter.groupChannels()) * filter.groups;
        for (int64_t panel = 0; panel < panels; ++panel) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            forEachLane(filter, form.lanes, panel, [&](int64_t channel, int64_t lane) {
                float* at = to + panel * form.panelLength(filter.depth()) + lane;
                *at = channel < 0 ? 0.0F : toReal(bias[channel]);
                const T* from = weights + std::max<int64_t>(channel, 0) * filter.depth();
                for (int64_t k = 0; k < filter.depth(); ++k) {
                    at += form.lanes;
                    *at = channel < 0 ? 0.0F : toReal(from[k]);
                }
            });
        }
        return {};
    }

  private:
    const FloatMatmul& mForm;
    const Definition mDefinition;
    const PackedConstant mPanels;
    const std::string mName;
};

// ---- 8 bits -------------------------------------------------------------------------------------

class ShapedQuantizedProduct final : public ShapedKernel {
  public:
    ShapedQuantizedProduct(const QuantizedMatmul& form, const Definition& definition,
                           PackedConstant panels, ProductPlan plan, ByteZeros zeros)
        : mForm(form),
          mFilter(definition.filter),
          mPanels(panels),
          mPlan(std::move(plan)),
          mZeros(zeros) {}

    Status create(const TensorType& x, const TensorType& output, Activation activation,
                  size_t threads) {
        mSigned = x.type == DataType::QUANT8_ASYMM_SIGNED;
        mXZero = x.quantization.zeroPoint;
        mOutputZero = output.quantization.zeroPoint;
        mRange = rangeOf(activation, output);
        if (mPlan.usesStrip()) {
            HALYARD_ASSIGN_OR_RETURN(
                    mStrip, mMemory.add(mPlan.stripLength(), mForm.bytes ? 1 : sizeof(int16_t)));
        }
        mSumsRows = mForm.bytes && mZeros.weights != 0;
        if (mSumsRows) {
            HALYARD_ASSIGN_OR_RETURN(
                    mRowSums, mMemory.add(static_cast<size_t>(mPlan.unitRows()), sizeof(int32_t)));
        }
        HALYARD_ASSIGN_OR_RETURN(mBytes, mMemory.bytesOf(threads));
        return {};
    }

    size_t workspaceBytes() const override { return mBytes; }

    Status run(KernelCall& call) const override {
        return call.inParallel(mPlan.unitCount(), mPlan.unitOperations(),
                               [&](int64_t begin, int64_t end, size_t worker) {
                                   for (int64_t i = begin; i < end; ++i) {
                                       compute(call, mPlan.unit(i), mMemory.of(call, worker));
                                   }
                               });
    }

  private:
    void compute(const KernelCall& call, const ProductUnit& unit, std::byte* memory) const {
        const ConstTensorView& x = call.input(0);
        const int64_t groupPanels = mForm.panels(mFilter.groupChannels());
        const int64_t panel = unit.group * groupPanels + unit.column / mForm.lanes;
        const ptrdiff_t group = unit.group * mFilter.runLength;
        QuantizedBlock block;
        if (!mPlan.usesStrip()) {
            block.a = x.as<uint8_t>() + mPlan.inputOffset(unit);
        } else if (mForm.bytes) {
            auto* strip = reinterpret_cast<uint8_t*>(memory + mStrip);
            const uint8_t flip = mZeros.flipX;
            mPlan.fillStrip(unit, x.as<uint8_t>(), strip, static_cast<uint8_t>(mZeros.x),
                            [flip](uint8_t value) { return static_cast<uint8_t>(value ^ flip); });
            block.a = strip + group;
        } else {
            auto* strip = reinterpret_cast<int16_t*>(memory + mStrip);
            const auto difference = [zero = mXZero](auto value) {
                return static_cast<int16_t>(value - zero);
            };
            if (mSigned) {
                mPlan.fillStrip(unit, x.as<int8_t>(), strip, int16_t{0}, difference);
            } else {
                mPlan.fillStrip(unit, x.as<uint8_t>(), strip, int16_t{0}, difference);
            }
            block.a = strip + group;
        }
        block.aLine = mPlan.aLine();
        block.aRow = mPlan.aRow();
        block.runs = mPlan.runs();
        block.runLength = mPlan.runLength();
        block.lines = unit.lines;
        block.rows = unit.rows;
        block.panels = mPanels.in(call.constants()).data() +
                       panel * mForm.panelBytes(mFilter.paddedDepth());
        block.columns = unit.columns;
        block.c = call.output(0).as<uint8_t>() + mPlan.outputOffset(unit);
        block.cLine = mPlan.cLine();
        block.cRow = mPlan.cRow();
        block.zeroPoint = mOutputZero;
        block.low = mRange.low;
        block.high = mRange.high;
        if (mSumsRows) {
            block.weightsZero = mZeros.weights;
            block.rowSums = reinterpret_cast<int32_t*>(memory + mRowSums);
        }
        mForm.compute(block);
    }

    const QuantizedMatmul& mForm;
    const Filter mFilter;
    const PackedConstant mPanels;
    const ProductPlan mPlan;
    const ByteZeros mZeros;
    bool mSigned = false;
    bool mSumsRows = false;
    int32_t mXZero = 0;
    int32_t mOutputZero = 0;
    QuantizedRange mRange;
    ThreadMemory mMemory;
    size_t mStrip = 0;
    size_t mRowSums = 0;
    size_t mBytes = 0;
};

class QuantizedProduct final : public StepKernel {
  public:
    QuantizedProduct(const QuantizedMatmul& form, InstructionSet set, Definition definition,
                     PackedConstant panels, ByteZeros zeros)
        : mForm(form),
          mDefinition(std::move(definition)),
          mPanels(panels),
          mZeros(zeros),
          mName("acc::product_8bit " + std::string(form.tile) + " " + std::string(toString(set))) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        if (countOf(types.outputs[0]->shape) == 0) {
            return std::shared_ptr<const ShapedKernel>(std::make_shared<EmptyKernel>());
        }
        const TensorType& x = *types.inputs[0];
        HALYARD_ASSIGN_OR_RETURN(const ProductShape shape,
                                 mDefinition.shapeFor(x.shape, types.outputs[0]->shape));
        HALYARD_ASSIGN_OR_RETURN(
                ProductPlan plan,
                ProductPlan::create(shape, {.tileRows = mForm.tileRows,
                                            .tileColumns = mForm.tileLanes,
                                            .runMultiple = mForm.depthGroup,
                                            .elementBytes = mForm.bytes ? size_t{1} : size_t{2},
                                            .alwaysStrip = !mForm.bytes || mZeros.flipX != 0,
                                            .threads = mDefinition.threads}));
        auto kernel = std::make_shared<ShapedQuantizedProduct>(mForm, mDefinition, mPanels,
                                                               std::move(plan), mZeros);
        HALYARD_RETURN_IF_ERROR(
                kernel->create(x, *types.outputs[0], mDefinition.activation, mDefinition.threads));
        return std::shared_ptr<const ShapedKernel>(std::move(kernel));
    }

    // What the panels are made of.
    struct Source {
        const uint8_t* weights = nullptr;
        bool isSigned = false;  // the weights are
        const int32_t* bias = nullptr;
        float xScale = 0.0F;
        Quantization weightQuantization;
        float outputScale = 0.0F;
        int32_t weightsZero = 0;  // as the graph has it
        ByteZeros zeros;
    };

    static Status pack(const QuantizedMatmul& form, const Filter& filter, const Source& source,
                       std::byte* to, const Checkpoint& checkpoint) {
        const int64_t panels = form.panels(filter.groupChannels()) * filter.groups;
        const int64_t panelBytes = form.panelBytes(filter.paddedDepth());
        for (int64_t panel = 0; panel < panels; ++panel) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            std::byte* const begin = to + panel * panelBytes;
            forEachLane(filter, form.lanes, panel, [&](int64_t channel, int64_t lane) {
                packLane(form, filter, source, begin, channel, lane);
            });
        }
        return {};
    }

  private:
    static void packLane(const QuantizedMatmul& form, const Filter& filter, const Source& source,
                         std::byte* panel, int64_t channel, int64_t lane) {
        auto* biases = reinterpret_cast<int32_t*>(panel);
        auto* multipliers = reinterpret_cast<float*>(biases + form.lanes);
        std::byte* const weights = reinterpret_cast<std::byte*>(multipliers + form.lanes);
        const uint8_t* from = source.weights + std::max<int64_t>(channel, 0) * filter.depth();
        uint32_t sum = 0;  // of the weights as they are packed
        for (int64_t run = 0; run < filter.runs; ++run) {
            for (int64_t i = 0; i < filter.paddedRun; ++i) {
                const int64_t k = run * filter.paddedRun + i;
                const int64_t at = (k / form.depthGroup * form.lanes + lane) * form.depthGroup +
                                   k % form.depthGroup;
                const bool real = channel >= 0 && i < filter.runLength;
                const uint8_t byte = real ? from[run * filter.runLength + i] : uint8_t{0};
                if (form.bytes) {
                    // In place of what is not there, what counts as zero.
                    const int32_t weight =
                            !real ? source.zeros.weights
                                  : static_cast<int8_t>(byte ^ source.zeros.flipWeights);
                    sum += static_cast<uint32_t>(weight);
                    reinterpret_cast<int8_t*>(weights)[at] = static_cast<int8_t>(weight);
                } else {
                    const int32_t value = source.isSigned
                                                  ? static_cast<int32_t>(static_cast<int8_t>(byte))
                                                  : static_cast<int32_t>(byte);
                    reinterpret_cast<int16_t*>(weights)[at] =
                            static_cast<int16_t>(real ? value - source.weightsZero : 0);
                }
            }
        }
        // With x and w as they are packed: the sum of (x - x0) * (w - w0) is that of x * w, less
        // x0 times the sum of w, less w0 times the sum of x, which only the run knows.
        const auto x0 = static_cast<uint32_t>(source.zeros.x);
        const auto w0 = static_cast<uint32_t>(source.zeros.weights);
        uint32_t bias = channel < 0 ? 0 : static_cast<uint32_t>(source.bias[channel]);
        if (form.bytes) {
            bias += static_cast<uint32_t>(filter.paddedDepth()) * x0 * w0 - x0 * sum;
        }
        biases[lane] = static_cast<int32_t>(bias);
        multipliers[lane] =
                channel < 0 ? 0.0F
                            : multiplier(source.xScale, scaleOf(source.weightQuantization, channel),
                                         source.outputScale);
    }

    const QuantizedMatmul& mForm;
    const Definition mDefinition;
    const PackedConstant mPanels;
    const ByteZeros mZeros;
    const std::string mName;
};

Result<std::unique_ptr<const StepKernel>> compileFloat(Definition definition,
                                                       const KernelArguments& arguments,
                                                       InstructionSet set) {
    const FloatMatmul& form = floatMatmul(set);
    const Filter& filter = definition.filter;
    const int64_t panels = form.panels(filter.groupChannels()) * filter.groups;
    const std::optional<size_t> length = checkedMultiply(
            static_cast<size_t>(panels), static_cast<size_t>(form.panelLength(filter.depth())));
    const std::optional<size_t> bytes =
            length.has_value() ? checkedMultiply(*length, sizeof(float)) : std::nullopt;
    if (!bytes.has_value()) {
        return Status(StatusCode::RESOURCE_EXHAUSTED, "its packed weights are out of reach");
    }
    const bool halves = typeOf(arguments, arguments.node.inputs[0]).type == DataType::FLOAT16;
    const auto packAs = [&]<typename T>(const T* weights, const T* bias) {
        return arguments.constants.add(
                *bytes, [&form, filter, weights, bias](std::span<std::byte> to,
                                                       const Checkpoint& checkpoint) {
                    return FloatProduct::pack(form, filter, weights, bias,
                                              reinterpret_cast<float*>(to.data()), checkpoint);
                });
    };
    HALYARD_ASSIGN_OR_RETURN(
            const PackedConstant packed,
            halves ? packAs(constantOf<Half>(arguments, 1), constantOf<Half>(arguments, 2))
                   : packAs(constantOf<float>(arguments, 1), constantOf<float>(arguments, 2)));
    return std::unique_ptr<const StepKernel>(
            std::make_unique<FloatProduct>(form, set, std::move(definition), packed));
}

Result<std::unique_ptr<const StepKernel>> compileQuantized(Definition definition,
                                                           const KernelArguments& arguments,
                                                           InstructionSet set) {
    const QuantizedMatmul& form = quantizedMatmul(set);
    const Filter& filter = definition.filter;
    const int64_t panels = form.panels(filter.groupChannels()) * filter.groups;
    const std::optional<size_t> bytes =
            checkedMultiply(static_cast<size_t>(panels),
                            static_cast<size_t>(form.panelBytes(filter.paddedDepth())));
    if (!bytes.has_value()) {
        return Status(StatusCode::RESOURCE_EXHAUSTED, "its packed weights are out of reach");
    }
    const TensorType& x = typeOf(arguments, arguments.node.inputs[0]);
    const TensorType& weights = typeOf(arguments, arguments.node.inputs[1]);
    const TensorType& output = typeOf(arguments, arguments.node.outputs[0]);
    const ByteZeros zeros = byteZerosOf(x, weights);
    const QuantizedProduct::Source source = {
            .weights = constantOf<uint8_t>(arguments, 1),
            .isSigned = weights.type != DataType::QUANT8_ASYMM,
            .bias = constantOf<int32_t>(arguments, 2),
            .xScale = x.quantization.scale,
            .weightQuantization = weights.quantization,
            .outputScale = output.quantization.scale,
            .weightsZero = weights.type == DataType::QUANT8_SYMM_PER_CHANNEL
                                   ? 0
                                   : weights.quantization.zeroPoint,
            .zeros = zeros};
    HALYARD_ASSIGN_OR_RETURN(
            const PackedConstant packed,
            arguments.constants.add(*bytes, [&form, filter, source](std::span<std::byte> to,
                                                                    const Checkpoint& checkpoint) {
                return QuantizedProduct::pack(form, filter, source, to.data(), checkpoint);
            }));
    return std::unique_ptr<const StepKernel>(
            std::make_unique<QuantizedProduct>(form, set, std::move(definition), packed, zeros));
}

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileProduct(const ProductNode& node,
                                                         const KernelArguments& arguments,
                                                         InstructionSet set) {
    const Node& whole = arguments.node;
    const Shape& weights = typeOf(arguments, whole.inputs[1]).shape;
    const bool bytes = isOfBytes(typeOf(arguments, whole.inputs[0]).type);
    Definition definition;
    definition.activation = node.activation;
    definition.filter = filterOf(node, weights, bytes ? quantizedMatmul(set).depthGroup : 1);
    definition.threads = arguments.threads;
    if (node.window != nullptr) {
        definition.window = *node.window;
        definition.filterH = weights[1];
        definition.filterW = weights[2];
    }
    arguments.packed.push_back(whole.inputs[1]);
    arguments.packed.push_back(whole.inputs[2]);
    return bytes ? compileQuantized(std::move(definition), arguments, set)
                 : compileFloat(std::move(definition), arguments, set);
}

}  // namespace halyard::engine::cpu
