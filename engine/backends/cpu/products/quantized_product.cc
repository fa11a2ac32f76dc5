// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "engine/backends/cpu/products/product_definition.h"
#include "engine/backends/cpu/products/product_plan.h"
#include "engine/backends/cpu/products/quantized_matmul.h"
#include "engine/backends/cpu/products/weights.h"
#include "engine/backends/cpu/unit_kernel.h"

#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::cpu {
namespace {

class ShapedQuantizedProduct final : public UnitKernel {
  public:
    ShapedQuantizedProduct(const QuantizedMatmul& form, const ProductDefinition& definition,
                           PackedConstant panels, ProductPlan plan, ByteZeros zeros)
        : mForm(form),
          mFilter(definition.filter),
          mPanels(panels),
          mEpilogue(definition.epilogue),
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
        return finish(mPlan.unitCount(), mPlan.unitOperations(), threads);
    }

  private:
    void compute(const KernelCall& call, int64_t index, std::byte* memory) const override {
        const ProductUnit unit = mPlan.unit(index);
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
        mEpilogue.apply(call, mPlan.outputRows(unit));
    }

    const QuantizedMatmul& mForm;
    const ProductFilter mFilter;
    const PackedConstant mPanels;
    const Epilogue mEpilogue;
    const ProductPlan mPlan;
    const ByteZeros mZeros;
    bool mSigned = false;
    bool mSumsRows = false;
    int32_t mXZero = 0;
    int32_t mOutputZero = 0;
    QuantizedRange mRange;
    size_t mStrip = 0;
    size_t mRowSums = 0;
};

// The panels of quantized_matmul.h.
struct PackedQuantizedProduct {
    InstructionSet set = InstructionSet::PORTABLE;
    ProductFilter filter;
    ConstantSource<uint8_t> weights;
    bool isSigned = false;  // the weights are
    ConstantSource<int32_t> bias;
    float xScale = 0.0F;
    WeightScales weightScales;
    float outputScale = 0.0F;
    int32_t weightsZero = 0;  // as the graph has it
    ByteZeros zeros;

    static constexpr std::string_view kName = "product of bytes";
    HALYARD_FIELDS(set, filter, weights, isSigned, bias, xScale, weightScales, outputScale,
                   weightsZero, zeros)

    int64_t panels() const {
        return quantizedMatmul(set).panels(filter.groupChannels()) * filter.groups;
    }
    Result<size_t> bytes() const {
        return packedBytes(panels(), quantizedMatmul(set).panelBytes(filter.paddedDepth()));
    }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        const QuantizedMatmul& form = quantizedMatmul(set);
        const int64_t panelBytes = form.panelBytes(filter.paddedDepth());
        for (int64_t panel = 0; panel < panels(); ++panel) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            std::byte* const begin = bytes.data() + panel * panelBytes;
            forEachLane(filter, form.lanes, panel, [&](int64_t channel, int64_t lane) {
                packLane(form, begin, channel, lane);
            });
        }
        return {};
    }

  private:
    // Puts the weights of one channel, which lie at `from`, where the groups of its lane are, from
    // `to` on, and padding where there are none (`from` is null: no channel). convert(uint8_t)
    // gives a weight. Returns their sum, modulo 2^32. Prepare time is spent here.
    template <int kGroup, typename T, typename Convert>
    static uint32_t placeWeights(const ProductFilter& filter, int64_t lanes, const uint8_t* from,
                                 T padding, T* to, Convert convert) {
        const int64_t length = from == nullptr ? 0 : filter.runLength;
        const int64_t whole = length / kGroup * kGroup;
        uint32_t sum = 0;
        const auto place = [&](auto weightOf) {
            T group[kGroup];
            for (int64_t i = 0; i < kGroup; ++i) {
                group[i] = weightOf(i);
                sum += static_cast<uint32_t>(int32_t{group[i]});
            }
            std::memcpy(to, group, sizeof(group));
            to += lanes * kGroup;
        };
        for (int64_t run = 0; run < filter.runs; ++run) {
            for (int64_t first = 0; first < whole; first += kGroup) {
                const uint8_t* at = from + first;
                place([&](int64_t i) { return convert(at[i]); });
            }
            for (int64_t first = whole; first < filter.paddedRun; first += kGroup) {
                place([&](int64_t i) {
                    return first + i < length ? convert(from[first + i]) : padding;
                });
            }
            from += length;  // none: 0
        }
        return sum;
    }

    // The same with as many elements in a group as the form has.
    template <typename T, typename Convert>
    static uint32_t placeLane(const QuantizedMatmul& form, const ProductFilter& filter,
                              const uint8_t* from, T padding, std::byte* weights, int64_t lane,
                              Convert convert) {
        T* const to = reinterpret_cast<T*>(weights) + lane * form.depthGroup;
        switch (form.depthGroup) {
            case 1:
                return placeWeights<1>(filter, form.lanes, from, padding, to, convert);
            case 2:
                return placeWeights<2>(filter, form.lanes, from, padding, to, convert);
            case 4:
                return placeWeights<4>(filter, form.lanes, from, padding, to, convert);
            default:
                return placeWeights<8>(filter, form.lanes, from, padding, to, convert);
        }
    }

    void packLane(const QuantizedMatmul& form, std::byte* panel, int64_t channel,
                  int64_t lane) const {
        auto* biases = reinterpret_cast<int32_t*>(panel);
        auto* multipliers = reinterpret_cast<float*>(biases + form.lanes);
        std::byte* const to = reinterpret_cast<std::byte*>(multipliers + form.lanes);
        const uint8_t* from = channel < 0 ? nullptr : weights.data + channel * filter.depth();
        uint32_t sum = 0;  // of the weights as they are packed
        if (form.bytes) {
            // In place of what is not there, what counts as zero.
            sum = placeLane(form, filter, from, static_cast<int8_t>(zeros.weights), to, lane,
                            [flip = zeros.flipWeights](uint8_t byte) {
                                return static_cast<int8_t>(byte ^ flip);
                            });
        } else if (isSigned) {
            placeLane(form, filter, from, int16_t{0}, to, lane, [zero = weightsZero](uint8_t byte) {
                return static_cast<int16_t>(static_cast<int8_t>(byte) - zero);
            });
        } else {
            placeLane(form, filter, from, int16_t{0}, to, lane, [zero = weightsZero](uint8_t byte) {
                return static_cast<int16_t>(byte - zero);
            });
        }
        // With x and w as they are packed: the sum of (x - x0) * (w - w0) is that of x * w, less
        // x0 times the sum of w, less w0 times the sum of x, which only the run knows.
        const auto x0 = static_cast<uint32_t>(zeros.x);
        const auto w0 = static_cast<uint32_t>(zeros.weights);
        uint32_t start = channel < 0 ? 0 : static_cast<uint32_t>(bias.data[channel]);
        if (form.bytes) {
            start += static_cast<uint32_t>(filter.paddedDepth()) * x0 * w0 - x0 * sum;
        }
        biases[lane] = static_cast<int32_t>(start);
        multipliers[lane] =
                channel < 0 ? 0.0F : multiplier(xScale, weightScales[channel], outputScale);
    }
};

class QuantizedProduct final : public StepKernel {
  public:
    QuantizedProduct(const QuantizedMatmul& form, InstructionSet set, ProductDefinition definition,
                     PackedConstant panels, ByteZeros zeros)
        : mForm(form),
          mDefinition(std::move(definition)),
          mPanels(panels),
          mZeros(zeros),
          mName("acc::product_8bit " + std::string(form.tile) + " " + std::string(toString(set)) +
                mDefinition.epilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedQuantizedProduct>> make(const StepTypes& types) const {
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
                                            .readsResults = !mDefinition.epilogue.empty(),
                                            .threads = mDefinition.threads}));
        auto kernel = std::make_shared<ShapedQuantizedProduct>(mForm, mDefinition, mPanels,
                                                               std::move(plan), mZeros);
        HALYARD_RETURN_IF_ERROR(
                kernel->create(x, resultOf(types), mDefinition.activation, mDefinition.threads));
        return std::shared_ptr<const ShapedQuantizedProduct>(std::move(kernel));
    }

    const QuantizedMatmul& mForm;
    const ProductDefinition mDefinition;
    const PackedConstant mPanels;
    const ByteZeros mZeros;
    const std::string mName;
};

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileQuantizedProduct(ProductDefinition definition,
                                                                  const KernelArguments& arguments,
                                                                  InstructionSet set) {
    const QuantizedMatmul& form = quantizedMatmul(set);
    const TensorType& x = typeOf(arguments, arguments.node.inputs[0]);
    const TensorType& weights = typeOf(arguments, arguments.node.inputs[1]);
    const TensorType& output = typeOf(arguments, arguments.node.outputs[0]);
    const ByteZeros zeros = byteZerosOf(x, weights, form.signedLeft);
    HALYARD_ASSIGN_OR_RETURN(
            const PackedConstant packed,
            arguments.constants.add(PackedQuantizedProduct{
                    .set = set,
                    .filter = definition.filter,
                    .weights = constantOf<uint8_t>(arguments, 1),
                    .isSigned = weights.type != DataType::QUANT8_ASYMM,
                    .bias = constantOf<int32_t>(arguments, 2),
                    .xScale = x.quantization.scale,
                    .weightScales = WeightScales(weights.quantization),
                    .outputScale = output.quantization.scale,
                    .weightsZero = weights.type == DataType::QUANT8_SYMM_PER_CHANNEL
                                           ? 0
                                           : weights.quantization.zeroPoint,
                    .zeros = zeros}));
    return std::unique_ptr<const StepKernel>(
            std::make_unique<QuantizedProduct>(form, set, std::move(definition), packed, zeros));
}

}  // namespace halyard::engine::cpu
