// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/grouped_conv.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/backends/cpu/choice/grouped_choice.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/base/checked_math.h"
#include "engine/base/half.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"
#include "engine/numerics/whole_division.h"

namespace halyard::engine::cpu {
namespace {

// Of a work item: what stays in L1d beside weights and results.
constexpr int64_t kSpreadBytes = int64_t{28} << 10;

// The filter, and how its groups share vectors.
struct GroupedFilter {
    int64_t groups = 1;
    int64_t depth = 1;    // input channels of a group
    int64_t columns = 1;  // output channels of a group
    int64_t filterH = 1, filterW = 1;
    int64_t lanes = 1;
    int64_t vectorGroups = 1;
    int64_t together = 1;  // input channels that a lane has
    int64_t lead = 1;      // words of a lane before its weights

    HALYARD_FIELDS(groups, depth, columns, filterH, filterW, lanes, vectorGroups, together, lead)

    int64_t vectors() const { return ceilDivide(groups, vectorGroups); }
    int64_t groupsIn(int64_t vector) const {
        return std::min(vectorGroups, groups - vector * vectorGroups);
    }
    // Of the output.
    PanelChannels channelsOf(int64_t vector) const {
        return {.first = vector * vectorGroups * columns, .count = groupsIn(vector) * columns};
    }
    // Vectors of a spatial position of the spread input.
    int64_t depthSteps() const { return ceilDivide(depth, together); }
    // Steps of a sum.
    int64_t steps() const { return filterH * filterW * depthSteps(); }
    // Words of a vector.
    int64_t weightsLength() const { return (steps() + lead) * lanes; }

    Result<size_t> packedBytes() const {
        return cpu::packedBytes(vectors(), weightsLength() * kGroupedWordBytes);
    }
};

// A PackingRecipe.
template <typename T>
struct PackedGroupedConv {
    GroupedFilter filter;
    ConstantSource<T> weights;
    ConstantSource<T> bias;

    static constexpr std::string_view kName =
            std::is_same_v<T, Half> ? "half grouped convolution" : "float grouped convolution";
    HALYARD_FIELDS(filter, weights, bias)

    Result<size_t> bytes() const { return filter.packedBytes(); }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        auto* to = reinterpret_cast<float*>(bytes.data());
        for (int64_t vector = 0; vector < filter.vectors(); ++vector) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            const PanelChannels channels = filter.channelsOf(vector);
            std::fill_n(to, filter.weightsLength(), 0.0F);
            for (int64_t lane = 0; lane < channels.count; ++lane) {
                const T* const from = weights.data + (channels.first + lane) * filter.steps();
                to[lane] = toReal(bias.data[channels.first + lane]);
                for (int64_t step = 0; step < filter.steps(); ++step) {
                    to[(step + 1) * filter.lanes + lane] = toReal(from[step]);
                }
            }
            to += filter.weightsLength();
        }
        return {};
    }
};

// A PackingRecipe, of bytes.
struct PackedGroupedBytes {
    GroupedFilter filter;
    ConstantSource<uint8_t> weights;
    bool isSigned = false;  // the weights are
    int32_t weightsZero = 0;
    ConstantSource<int32_t> bias;
    float xScale = 0.0F;
    WeightScales weightScales;
    float outputScale = 0.0F;

    static constexpr std::string_view kName = "int8 grouped convolution";
    HALYARD_FIELDS(filter, weights, isSigned, weightsZero, bias, xScale, weightScales, outputScale)

    Result<size_t> bytes() const { return filter.packedBytes(); }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        std::ranges::fill(bytes, std::byte{0});
        std::byte* to = bytes.data();
        for (int64_t vector = 0; vector < filter.vectors(); ++vector) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            const PanelChannels channels = filter.channelsOf(vector);
            for (int64_t lane = 0; lane < channels.count; ++lane) {
                packLane(to, channels.first + lane, lane);
            }
            to += filter.weightsLength() * kGroupedWordBytes;
        }
        return {};
    }

  private:
    void packLane(std::byte* vector, int64_t channel, int64_t lane) const {
        auto* const biases = reinterpret_cast<int32_t*>(vector);
        auto* const multipliers = reinterpret_cast<float*>(biases + filter.lanes);
        auto* const steps = reinterpret_cast<int16_t*>(multipliers + filter.lanes);
        biases[lane] = bias.data[channel];
        multipliers[lane] = multiplier(xScale, weightScales[channel], outputScale);
        const int64_t taps = filter.filterH * filter.filterW;
        const uint8_t* from = weights.data + channel * taps * filter.depth;
        for (int64_t tap = 0; tap < taps; ++tap, from += filter.depth) {
            for (int64_t d = 0; d < filter.depth; ++d) {
                const int64_t step = tap * filter.depthSteps() + d / filter.together;
                const int32_t value =
                        isSigned ? int32_t{static_cast<int8_t>(from[d])} : int32_t{from[d]};
                steps[(step * filter.lanes + lane) * filter.together + d % filter.together] =
                        static_cast<int16_t>(value - weightsZero);
            }
        }
    }
};

// What a kernel needs to know of the types of a run.
struct GroupedTypes {
    size_t elementBytes = 4;
    RealRange realRange;  // of floats
    int32_t xZero = 0;    // of bytes
    int32_t outputZero = 0;
    QuantizedRange range;

    static GroupedTypes of(const TensorType& x, const TensorType& output, Activation activation) {
        GroupedTypes types;
        types.elementBytes = elementSize(x.type);
        if (isOfBytes(x.type)) {
            types.xZero = x.quantization.zeroPoint;
            types.outputZero = output.quantization.zeroPoint;
            types.range = rangeOf(activation, output);
        } else {
            types.realRange = rangeOf(activation);
        }
        return types;
    }
};

// Of the whole convolution.
struct GroupedShape {
    int64_t batches = 1;
    int64_t inputH = 1, inputW = 1, inputC = 1;
    int64_t outputH = 1, outputW = 1, outputC = 1;
    Window2d window;
    int64_t top = 0, left = 0;
};

class ShapedGroupedConv final : public WorkItemKernel {
  public:
    ShapedGroupedConv(const GroupedForm& form, const GroupedFilter& filter,
                      const GroupedShape& shape, PackedConstant weights, const Epilogue& epilogue,
                      const GroupedTypes& types)
        : mForm(form),
          mFilter(filter),
          mShape(shape),
          mWeights(weights),
          mEpilogue(epilogue),
          mTypes(types) {
        for (int64_t lane = 0; lane < filter.lanes; ++lane) {
            const int64_t group = std::min(lane / filter.columns, filter.vectorGroups - 1);
            mLanes.push_back(static_cast<int32_t>(group * filter.depth));
        }
    }

    Status create(size_t threads) {
        const Window2d& window = mShape.window;
        mPosition = mFilter.depthSteps() * mFilter.lanes;
        cut(static_cast<int64_t>(threads));
        mLine = spreadWidth(mRows) * mPosition;
        const bool merges = window.dilationW == 1;
        mRunLength = (merges ? mFilter.filterW : 1) * mFilter.depthSteps();
        for (int64_t i = 0; i < mFilter.filterH; ++i) {
            for (int64_t j = 0; j < (merges ? 1 : mFilter.filterW); ++j) {
                mRuns.push_back(i * window.dilationH * mLine + j * window.dilationW * mPosition);
            }
        }
        const std::optional<size_t> length = checkedMultiply(
                static_cast<size_t>(spreadLines(mLines)), static_cast<size_t>(mLine));
        if (!length.has_value()) {
            return outOfReach("its copy of the input is out of reach");
        }
        HALYARD_ASSIGN_OR_RETURN(mSpread, mMemory.add(*length, kGroupedWordBytes));
        mLineGroups = ceilDivide(mShape.outputH, mLines);
        mRowGroups = ceilDivide(mShape.outputW, mRows);
        setWorkItems(mShape.batches * mLineGroups * mRowGroups,
                     mLines * mRows * mFilter.vectors() * mFilter.lanes * mFilter.steps());
        return {};
    }

  private:
    int64_t spreadLines(int64_t lines) const {
        return (lines - 1) * mShape.window.strideH +
               (mFilter.filterH - 1) * mShape.window.dilationH + 1;
    }
    int64_t spreadWidth(int64_t rows) const {
        return (rows - 1) * mShape.window.strideW +
               (mFilter.filterW - 1) * mShape.window.dilationW + 1;
    }

    // As many lines as stay in the cache, or a part of one, with work items for each thread.
    void cut(int64_t threads) {
        const auto bytes = [&](int64_t lines, int64_t rows) {
            return spreadLines(lines) * spreadWidth(rows) * mPosition * kGroupedWordBytes;
        };
        mRows = mShape.outputW;
        while (mRows > 8 && bytes(1, mRows) > kSpreadBytes) {
            mRows = ceilDivide(mRows, 2);
        }
        const int64_t most = ceilDivide(mShape.outputH, threads);
        mLines = 1;
        while (mLines < most && bytes(mLines + 1, mRows) <= kSpreadBytes) {
            ++mLines;
        }
    }

    struct Item {
        int64_t batch, line, lines, row, rows;
    };
    Item itemAt(int64_t index) const {
        Item item;
        item.batch = index / (mLineGroups * mRowGroups);
        item.line = index / mRowGroups % mLineGroups * mLines;
        item.lines = std::min(mLines, mShape.outputH - item.line);
        item.row = index % mRowGroups * mRows;
        item.rows = std::min(mRows, mShape.outputW - item.row);
        return item;
    }

    // The input that the item's windows cover, for one vector of groups.
    void spread(const KernelCall& call, const Item& item, int64_t vector, std::byte* to) const {
        const GroupedShape& s = mShape;
        const int64_t firstLine = item.line * s.window.strideH - s.top;
        const int64_t firstColumn = item.row * s.window.strideW - s.left;
        const int64_t width = spreadWidth(item.rows);
        const int64_t begin = std::clamp<int64_t>(-firstColumn, 0, width);
        const int64_t end = std::clamp(s.inputW - firstColumn, begin, width);
        const auto* const x = call.input(0).as<std::byte>();
        SpreadBlock block = {.positions = end - begin,
                             .apart = s.inputC,
                             .channels = mFilter.groupsIn(vector) * mFilter.depth,
                             .groupDepth = mFilter.depth,
                             .lanes = mLanes.data(),
                             .zeroPoint = mTypes.xZero};
        // 0 is what padding counts as, of floats and of differences.
        const int64_t position = mPosition * kGroupedWordBytes;
        for (int64_t line = 0; line < spreadLines(item.lines);
             ++line, to += mLine * kGroupedWordBytes) {
            const int64_t at = firstLine + line;
            if (at < 0 || at >= s.inputH) {
                std::fill_n(to, width * position, std::byte{0});
                continue;
            }
            std::fill_n(to, begin * position, std::byte{0});
            const int64_t pixel = (item.batch * s.inputH + at) * s.inputW + firstColumn + begin;
            const int64_t channel = vector * mFilter.vectorGroups * mFilter.depth;
            block.from = x + static_cast<size_t>(pixel * s.inputC + channel) * mTypes.elementBytes;
            block.to = to + begin * position;
            mForm.spread(block);
            std::fill_n(to + end * position, (width - end) * position, std::byte{0});
        }
    }

    void compute(const KernelCall& call, int64_t index, std::byte* memory) const override {
        const Item item = itemAt(index);
        std::byte* const spreadInput = memory + mSpread;
        const std::byte* const weights = mWeights.in(call.constants()).data();
        auto* const output = call.output(0).as<std::byte>();
        const int64_t first = (item.batch * mShape.outputH + item.line) * mShape.outputW + item.row;
        for (int64_t vector = 0; vector < mFilter.vectors(); ++vector) {
            spread(call, item, vector, spreadInput);
            const PanelChannels channels = mFilter.channelsOf(vector);
            GroupedLine line = {
                    .runs = mRuns,
                    .runLength = mRunLength,
                    .row = mShape.window.strideW * mPosition,
                    .weights = weights + vector * mFilter.weightsLength() * kGroupedWordBytes,
                    .apart = mShape.outputC,
                    .rows = item.rows,
                    .columns = channels.count,
                    .low = mTypes.realRange.low,
                    .high = mTypes.realRange.high,
                    .zeroPoint = mTypes.outputZero,
                    .range = mTypes.range};
            for (int64_t i = 0; i < item.lines; ++i) {
                line.spread = spreadInput + i * mShape.window.strideH * mLine * kGroupedWordBytes;
                const int64_t element =
                        (first + i * mShape.outputW) * mShape.outputC + channels.first;
                line.to = output + static_cast<size_t>(element) * mTypes.elementBytes;
                mForm.compute(line);
            }
        }
        mEpilogue.apply(call, {.begin = first * mShape.outputC,
                               .lines = item.lines,
                               .line = mShape.outputW * mShape.outputC,
                               .rows = item.rows,
                               .row = mShape.outputC,
                               .columns = mShape.outputC});
    }

    const GroupedForm mForm;
    const GroupedFilter mFilter;
    const GroupedShape mShape;
    const PackedConstant mWeights;
    const Epilogue mEpilogue;
    const GroupedTypes mTypes;
    std::vector<int32_t> mLanes;
    int64_t mLines = 1, mRows = 1;  // of a work item
    int64_t mLineGroups = 1, mRowGroups = 1;
    int64_t mPosition = 0;  // words of a spatial position of the spread input
    int64_t mLine = 0;      // and of a line
    int64_t mRunLength = 0;
    std::vector<ptrdiff_t> mRuns;
    size_t mSpread = 0;
};

class GroupedConvKernel final : public StepKernel {
  public:
    GroupedConvKernel(const GroupedForm& form, std::string_view elements, InstructionSet set,
                      const Conv2d& node, const GroupedFilter& filter, PackedConstant weights,
                      Epilogue epilogue, size_t threads)
        : mForm(form),
          mNode(node),
          mFilter(filter),
          mWeights(weights),
          mEpilogue(std::move(epilogue)),
          mThreads(threads),
          mName("acc::grouped_conv_" + std::string(elements) + " " +
                std::to_string(filter.vectorGroups) + " groups " + std::string(toString(set)) +
                mEpilogue.name()) {}

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        return unlessEmpty(types, [&] { return make(types); });
    }

  private:
    Result<std::shared_ptr<const ShapedGroupedConv>> make(const StepTypes& types) const {
        const Shape& x = types.inputs[0]->shape;
        const Shape& output = types.outputs[0]->shape;
        HALYARD_ASSIGN_OR_RETURN(
                const ResolvedWindow resolved,
                resolveWindow(mNode.window, x[1], x[2], static_cast<int32_t>(mFilter.filterH),
                              static_cast<int32_t>(mFilter.filterW)));
        auto kernel = std::make_shared<ShapedGroupedConv>(
                mForm, mFilter,
                GroupedShape{.batches = x[0],
                             .inputH = x[1],
                             .inputW = x[2],
                             .inputC = x[3],
                             .outputH = output[1],
                             .outputW = output[2],
                             .outputC = output[3],
                             .window = mNode.window,
                             .top = resolved.top,
                             .left = resolved.left},
                mWeights, mEpilogue,
                GroupedTypes::of(*types.inputs[0], resultOf(types), mNode.activation));
        HALYARD_RETURN_IF_ERROR(kernel->create(mThreads));
        return std::shared_ptr<const ShapedGroupedConv>(std::move(kernel));
    }

    const GroupedForm mForm;
    const Conv2d mNode;
    const GroupedFilter mFilter;
    const PackedConstant mWeights;
    const Epilogue mEpilogue;
    const size_t mThreads;
    const std::string mName;
};

template <typename T>
Result<PackedConstant> pack(const GroupedFilter& filter, const KernelArguments& arguments) {
    return arguments.constants.add(PackedGroupedConv<T>{.filter = filter,
                                                        .weights = constantOf<T>(arguments, 1),
                                                        .bias = constantOf<T>(arguments, 2)});
}

Result<PackedConstant> packBytes(const GroupedFilter& filter, const KernelArguments& arguments) {
    const TensorType& weights = typeOf(arguments, arguments.node.inputs[1]);
    return arguments.constants.add(PackedGroupedBytes{
            .filter = filter,
            .weights = constantOf<uint8_t>(arguments, 1),
            .isSigned = weights.type != DataType::QUANT8_ASYMM,
            .weightsZero = weights.type == DataType::QUANT8_SYMM_PER_CHANNEL
                                   ? 0
                                   : weights.quantization.zeroPoint,
            .bias = constantOf<int32_t>(arguments, 2),
            .xScale = typeOf(arguments, arguments.node.inputs[0]).quantization.scale,
            .weightScales = WeightScales(weights.quantization),
            .outputScale = typeOf(arguments, arguments.node.outputs[0]).quantization.scale});
}

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileGroupedConv(const Conv2d& node,
                                                             const KernelArguments& arguments,
                                                             const CpuTarget& target) {
    const GroupedConv& form = groupedConv(target.set);
    const Shape& weights = typeOf(arguments, arguments.node.inputs[1]).shape;
    GroupedFilter filter = {.groups = node.groups,
                            .depth = weights[3],
                            .columns = weights[0] / node.groups,
                            .filterH = weights[1],
                            .filterW = weights[2],
                            .lanes = form.lanes};
    filter.vectorGroups =
            std::min(groupsOfVector(filter.depth, filter.columns, filter.lanes), filter.groups);
    const DataType type = typeOf(arguments, arguments.node.inputs[0]).type;
    if (isOfBytes(type)) {
        filter.together = form.bytesTogether;
        filter.lead = 2;
    }
    HALYARD_ASSIGN_OR_RETURN(const PackedConstant packed,
                             isOfBytes(type)             ? packBytes(filter, arguments)
                             : type == DataType::FLOAT16 ? pack<Half>(filter, arguments)
                                                         : pack<float>(filter, arguments));
    arguments.packed.push_back(arguments.node.inputs[1]);
    arguments.packed.push_back(arguments.node.inputs[2]);
    return std::unique_ptr<const StepKernel>(std::make_unique<GroupedConvKernel>(
            form.forms.of(type), isOfBytes(type) ? "int8" : "float", target.set, node, filter,
            packed, Epilogue::of(arguments, target.set), arguments.threads));
}

}  // namespace halyard::engine::cpu
