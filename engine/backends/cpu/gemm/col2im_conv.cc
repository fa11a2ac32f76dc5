// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/col2im_conv.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/gemm/panel_columns.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/base/checked_math.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/whole_division.h"

namespace halyard::engine::cpu {
namespace {

// Of products in a work item: what stays in L2 until they are added.
constexpr int64_t kProductBytes = int64_t{128} << 10;

// Columns of the GEMM: [tap][channel].
struct Col2imFilter {
    int64_t channels = 1;
    int64_t filterH = 1, filterW = 1;
    int64_t depth = 1;
    InstructionSet set = InstructionSet::PORTABLE;

    HALYARD_FIELDS(channels, filterH, filterW, depth, set)

    int64_t taps() const { return filterH * filterW; }
    int64_t columns() const { return taps() * channels; }
};

// A PackingRecipe: the biases, which are added to sums of products, in whole vectors; then the
// panels of the GEMM, without biases.
struct PackedCol2imConv {
    Col2imFilter filter;
    ConstantSource<float> weights;
    ConstantSource<float> bias;

    static constexpr std::string_view kName = "float GEMM and col2im";
    HALYARD_FIELDS(filter, weights, bias)

    static int64_t biasLength(const Col2imFilter& filter) {
        const int64_t lanes = floatGemm(filter.set).lanes;
        return ceilDivide(filter.channels, lanes) * lanes;
    }
    Result<size_t> bytes() const {
        const FloatGemm& form = floatGemm(filter.set);
        HALYARD_ASSIGN_OR_RETURN(const size_t panels, packedBytes(form.panels(filter.columns()),
                                                                  form.panelLength(filter.depth) *
                                                                          int64_t{sizeof(float)}));
        const std::optional<size_t> all =
                checkedAdd(panels, static_cast<size_t>(biasLength(filter)) * sizeof(float));
        return all.has_value() ? Result<size_t>(*all)
                               : outOfReach("its packed weights are out of reach");
    }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        const FloatGemm& form = floatGemm(filter.set);
        auto* to = reinterpret_cast<float*>(bytes.data());
        std::fill(std::copy_n(bias.data, filter.channels, to), to + biasLength(filter), 0.0F);
        to += biasLength(filter);
        std::vector<float> columns;
        for (int64_t first = 0; first < filter.columns(); first += form.lanes) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            const int64_t count = std::min(form.lanes, filter.columns() - first);
            columns.clear();
            for (int64_t column = first; column < first + count; ++column) {
                const int64_t channel = column % filter.channels;
                const int64_t tap = channel * filter.taps() + column / filter.channels;
                const float* const from = weights.data + tap * filter.depth;
                columns.insert(columns.end(), from, from + filter.depth);
            }
            std::fill_n(to, form.lanes, 0.0F);
            layPanel<float>({.first = columns.data(),
                             .count = count,
                             .apart = filter.depth,
                             .depth = filter.depth},
                            false, filter.set, form.lanes, to + form.lanes);
            to += form.panelLength(filter.depth);
        }
        return {};
    }
};

// Of one axis, the positions of the input whose tap `tap` reaches outputs [0, output), `cropped`
// before which lie outside.
struct Reach {
    int64_t begin, end;

    static Reach of(int64_t tap, int64_t stride, int64_t cropped, int64_t input, int64_t output) {
        const int64_t begin = std::max<int64_t>(cropped - tap, 0);
        const int64_t last = output - 1 + cropped - tap;
        return {.begin = ceilDivide(begin, stride),
                .end = last < 0 ? 0 : std::min(last / stride + 1, input)};
    }
};

struct Col2imShape {
    int64_t batches = 1;
    int64_t inputH = 1, inputW = 1;
    int64_t outputH = 1, outputW = 1;
    int64_t strideH = 1, strideW = 1;
    int64_t top = 0, left = 0;
};

// to[i * toApart + c] += from[i * fromApart + c].
template <int64_t kChannels>
void addProducts(const float* from, int64_t fromApart, float* to, int64_t toApart, int64_t count,
                 int64_t channels) {
    const int64_t all = kChannels == 0 ? channels : kChannels;
    for (int64_t i = 0; i < count; ++i, from += fromApart, to += toApart) {
        for (int64_t c = 0; c < all; ++c) {
            to[c] += from[c];
        }
    }
}

// Fills `to` with copies of the elements at `from`, each twice as long as the one before.
void repeat(const float* from, int64_t count, float* to, int64_t length) {
    std::copy_n(from, count, to);
    for (int64_t done = count; done < length; done *= 2) {
        std::copy_n(to, std::min(done, length - done), to + done);
    }
}

// A NaN stays one.
void clamp(float* elements, int64_t count, RealRange range) {
    if (range.low == rangeOf(Activation::NONE).low &&
        range.high == rangeOf(Activation::NONE).high) {
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        const float value = elements[i] < range.low ? range.low : elements[i];
        elements[i] = value > range.high ? range.high : value;
    }
}

class ShapedCol2imConv final : public WorkItemKernel {
  public:
    ShapedCol2imConv(const Col2imFilter& filter, const Col2imShape& shape, PackedConstant packed,
                     const Epilogue& epilogue, RealRange range, L1dSets l1d)
        : mForm(floatGemm(filter.set)),
          mFilter(filter),
          mShape(shape),
          mPacked(packed),
          mEpilogue(epilogue),
          mRange(range),
          mL1d(l1d) {}

    Status create(size_t threads) {
        const int64_t line = mShape.inputW * mFilter.columns();
        const auto bytes = [&](int64_t lines) {
            return inputLines(lines) * line * int64_t{sizeof(float)};
        };
        const int64_t most = ceilDivide(mShape.outputH, static_cast<int64_t>(threads));
        mLines = std::min(mShape.strideH, most);
        while (mLines < most && bytes(mLines + 1) <= kProductBytes) {
            ++mLines;
        }
        const std::optional<size_t> length =
                checkedMultiply(static_cast<size_t>(inputLines(mLines)), static_cast<size_t>(line));
        if (!length.has_value()) {
            return outOfReach("its products are out of reach");
        }
        HALYARD_ASSIGN_OR_RETURN(mProducts, mMemory.add(*length, sizeof(float)));
        mLineGroups = ceilDivide(mShape.outputH, mLines);
        setWorkItems(mShape.batches * mLineGroups, inputLines(mLines) * line * mFilter.depth);
        return {};
    }

  private:
    // Of the input at most, for so many of the output.
    int64_t inputLines(int64_t lines) const {
        return std::min((lines + mFilter.filterH - 2) / mShape.strideH + 1, mShape.inputH);
    }

    // Of the lines [first, end) of the input.
    void multiply(const KernelCall& call, int64_t batch, int64_t first, int64_t end,
                  float* products) const {
        FloatBlock block;
        block.a = call.input(0).as<float>() +
                  (batch * mShape.inputH + first) * mShape.inputW * mFilter.depth;
        block.aRow = mFilter.depth;
        block.runs = kOneRun;
        block.runLength = mFilter.depth;
        block.lines = 1;
        block.rows = (end - first) * mShape.inputW;
        block.panels = constants(call) + PackedCol2imConv::biasLength(mFilter);
        block.columns = mFilter.columns();
        block.l1d = mL1d;
        block.c = products;
        block.cRow = mFilter.columns();
        const RealRange all = rangeOf(Activation::NONE);
        block.low = all.low;
        block.high = all.high;
        mForm.compute(block);
    }

    // Adds a line of products to one of the output; `row`: the filter's.
    void addLine(const float* products, int64_t row, float* to) const {
        const int64_t channels = mFilter.channels;
        const int64_t columns = mFilter.columns();
        const int64_t apart = mShape.strideW * channels;
        for (int64_t tap = 0; tap < mFilter.filterW; ++tap) {
            const Reach reach =
                    Reach::of(tap, mShape.strideW, mShape.left, mShape.inputW, mShape.outputW);
            const float* const from =
                    products + reach.begin * columns + (row * mFilter.filterW + tap) * channels;
            float* const at = to + (reach.begin * mShape.strideW + tap - mShape.left) * channels;
            const int64_t count = reach.end - reach.begin;
            switch (channels) {
                case 1:
                    addProducts<1>(from, columns, at, apart, count, channels);
                    break;
                case 2:
                    addProducts<2>(from, columns, at, apart, count, channels);
                    break;
                case 3:
                    addProducts<3>(from, columns, at, apart, count, channels);
                    break;
                case 4:
                    addProducts<4>(from, columns, at, apart, count, channels);
                    break;
                default:
                    addProducts<0>(from, columns, at, apart, count, channels);
            }
        }
    }

    void compute(const KernelCall& call, int64_t index, std::byte* memory) const override {
        const Col2imShape& s = mShape;
        const int64_t batch = index / mLineGroups;
        const int64_t line = index % mLineGroups * mLines;
        const int64_t end = std::min(line + mLines, s.outputH);
        // Lines of the input that the filters lead from to these.
        const int64_t first =
                ceilDivide(std::max<int64_t>(line + s.top - mFilter.filterH + 1, 0), s.strideH);
        const int64_t behind = std::min((end - 1 + s.top) / s.strideH + 1, s.inputH);
        auto* const products = reinterpret_cast<float*>(memory + mProducts);
        if (first < behind) {
            multiply(call, batch, first, behind, products);
        }
        const int64_t length = s.outputW * mFilter.channels;
        const float* const bias = constants(call);
        float* const output = call.output(0).as<float>() + batch * s.outputH * length;
        for (int64_t y = line; y < end; ++y) {
            float* const to = output + y * length;
            repeat(bias, mFilter.channels, to, length);
            const int64_t at = y + s.top;
            const int64_t from =
                    ceilDivide(std::max<int64_t>(at - mFilter.filterH + 1, 0), s.strideH);
            for (int64_t i = from; i < std::min(at / s.strideH + 1, s.inputH); ++i) {
                addLine(products + (i - first) * s.inputW * mFilter.columns(), at - i * s.strideH,
                        to);
            }
            clamp(to, length, mRange);
        }
        mEpilogue.apply(call, {.begin = (batch * s.outputH + line) * length,
                               .lines = end - line,
                               .line = length,
                               .rows = s.outputW,
                               .row = mFilter.channels,
                               .columns = mFilter.channels});
    }

    const float* constants(const KernelCall& call) const {
        return reinterpret_cast<const float*>(mPacked.in(call.constants()).data());
    }

    static constexpr std::array<ptrdiff_t, 1> kOneRun = {0};

    const FloatGemm& mForm;
    const Col2imFilter mFilter;
    const Col2imShape mShape;
    const PackedConstant mPacked;
    const Epilogue mEpilogue;
    const RealRange mRange;
    const L1dSets mL1d;
    int64_t mLines = 1;  // of the output, in a work item
    int64_t mLineGroups = 1;
    size_t mProducts = 0;
};

class Col2imConv final : public StepKernel {
  public:
    Col2imConv(const TransposeConv2d& node, const Col2imFilter& filter, PackedConstant packed,
               Epilogue epilogue, L1dSets l1d, size_t threads)
        : mNode(node),
          mFilter(filter),
          mPacked(packed),
          mEpilogue(std::move(epilogue)),
          mL1d(l1d),
          mThreads(threads),
          mName("acc::gemm_float " + std::string(floatGemm(filter.set).tile) + " " +
                std::string(toString(filter.set)) + " and col2im" + mEpilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedCol2imConv>> make(const StepTypes& types) const {
        const Shape& x = types.inputs[0]->shape;
        const Shape& output = types.outputs[0]->shape;
        HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                                 resolveTransposeWindow(mNode.window, x[1], x[2],
                                                        static_cast<int32_t>(mFilter.filterH),
                                                        static_cast<int32_t>(mFilter.filterW),
                                                        output[1], output[2]));
        const Col2imShape shape = {.batches = x[0],
                                   .inputH = x[1],
                                   .inputW = x[2],
                                   .outputH = output[1],
                                   .outputW = output[2],
                                   .strideH = mNode.window.strideH,
                                   .strideW = mNode.window.strideW,
                                   .top = resolved.top,
                                   .left = resolved.left};
        auto kernel = std::make_shared<ShapedCol2imConv>(mFilter, shape, mPacked, mEpilogue,
                                                         rangeOf(mNode.activation), mL1d);
        HALYARD_RETURN_IF_ERROR(kernel->create(mThreads));
        return std::shared_ptr<const ShapedCol2imConv>(std::move(kernel));
    }

    const TransposeConv2d mNode;
    const Col2imFilter mFilter;
    const PackedConstant mPacked;
    const Epilogue mEpilogue;
    const L1dSets mL1d;
    const size_t mThreads;
    const std::string mName;
};

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileCol2imConv(const TransposeConv2d& node,
                                                            const KernelArguments& arguments,
                                                            const CpuTarget& target) {
    const Shape& weights = typeOf(arguments, arguments.node.inputs[1]).shape;
    const Col2imFilter filter = {.channels = weights[0],
                                 .filterH = weights[1],
                                 .filterW = weights[2],
                                 .depth = weights[3],
                                 .set = target.set};
    HALYARD_ASSIGN_OR_RETURN(
            const PackedConstant packed,
            arguments.constants.add(PackedCol2imConv{.filter = filter,
                                                     .weights = constantOf<float>(arguments, 1),
                                                     .bias = constantOf<float>(arguments, 2)}));
    return std::unique_ptr<const StepKernel>(
            std::make_unique<Col2imConv>(node, filter, packed, Epilogue::of(arguments, target.set),
                                         target.tuning.l1d, arguments.threads));
}

}  // namespace halyard::engine::cpu
