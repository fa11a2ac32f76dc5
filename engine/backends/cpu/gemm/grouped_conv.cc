// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/grouped_conv.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/backends/cpu/choice/grouped_choice.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/backends/cpu/kernels/work_item_kernel.h"
#include "engine/base/checked_math.h"
#include "engine/base/half.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
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

    HALYARD_FIELDS(groups, depth, columns, filterH, filterW, lanes, vectorGroups)

    int64_t vectors() const { return ceilDivide(groups, vectorGroups); }
    // Steps of a sum.
    int64_t steps() const { return filterH * filterW * depth; }
    int64_t weightsLength() const { return (steps() + 1) * lanes; }
    int64_t groupsIn(int64_t vector) const {
        return std::min(vectorGroups, groups - vector * vectorGroups);
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

    Result<size_t> bytes() const {
        return packedBytes(filter.vectors(),
                           filter.weightsLength() * static_cast<int64_t>(sizeof(float)));
    }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        auto* to = reinterpret_cast<float*>(bytes.data());
        for (int64_t vector = 0; vector < filter.vectors(); ++vector) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            const int64_t first = vector * filter.vectorGroups * filter.columns;
            const int64_t count = filter.groupsIn(vector) * filter.columns;
            std::fill_n(to, filter.weightsLength(), 0.0F);
            for (int64_t lane = 0; lane < count; ++lane) {
                const T* const from = weights.data + (first + lane) * filter.steps();
                to[lane] = toReal(bias.data[first + lane]);
                for (int64_t step = 0; step < filter.steps(); ++step) {
                    to[(step + 1) * filter.lanes + lane] = toReal(from[step]);
                }
            }
            to += filter.weightsLength();
        }
        return {};
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
    ShapedGroupedConv(const GroupedConv& form, const GroupedFilter& filter,
                      const GroupedShape& shape, PackedConstant weights, const Epilogue& epilogue,
                      RealRange range, bool halves)
        : mForm(form),
          mFilter(filter),
          mShape(shape),
          mWeights(weights),
          mEpilogue(epilogue),
          mRange(range),
          mHalves(halves) {
        for (int64_t lane = 0; lane < filter.lanes; ++lane) {
            const int64_t group = std::min(lane / filter.columns, filter.vectorGroups - 1);
            mLanes.push_back(static_cast<int32_t>(group * filter.depth));
        }
    }

    Status create(size_t threads) {
        cut(static_cast<int64_t>(threads));
        const Window2d& window = mShape.window;
        mPosition = mFilter.depth * mFilter.lanes;
        mLine = spreadWidth(mRows) * mPosition;
        const bool merges = window.dilationW == 1;
        mRunLength = (merges ? mFilter.filterW : 1) * mFilter.depth;
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
        HALYARD_ASSIGN_OR_RETURN(mSpread, mMemory.add(*length, sizeof(float)));
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
            return spreadLines(lines) * spreadWidth(rows) * mFilter.depth * mFilter.lanes *
                   static_cast<int64_t>(sizeof(float));
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
    void spread(const KernelCall& call, const Item& item, int64_t vector, float* to) const {
        const GroupedShape& s = mShape;
        const int64_t firstLine = item.line * s.window.strideH - s.top;
        const int64_t firstColumn = item.row * s.window.strideW - s.left;
        const int64_t width = spreadWidth(item.rows);
        const int64_t begin = std::clamp<int64_t>(-firstColumn, 0, width);
        const int64_t end = std::clamp(s.inputW - firstColumn, begin, width);
        const size_t size = mHalves ? sizeof(Half) : sizeof(float);
        const auto* const x = call.input(0).as<std::byte>();
        SpreadBlock block = {.positions = end - begin,
                             .apart = s.inputC,
                             .channels = mFilter.groupsIn(vector) * mFilter.depth,
                             .groupDepth = mFilter.depth,
                             .lanes = mLanes.data()};
        for (int64_t line = 0; line < spreadLines(item.lines); ++line, to += mLine) {
            const int64_t at = firstLine + line;
            if (at < 0 || at >= s.inputH) {
                std::fill_n(to, width * mPosition, 0.0F);
                continue;
            }
            std::fill_n(to, begin * mPosition, 0.0F);
            const int64_t pixel = (item.batch * s.inputH + at) * s.inputW + firstColumn + begin;
            const int64_t channel = vector * mFilter.vectorGroups * mFilter.depth;
            block.from = x + static_cast<size_t>(pixel * s.inputC + channel) * size;
            block.to = to + begin * mPosition;
            (mHalves ? mForm.spreadHalves : mForm.spreadFloats)(block);
            std::fill_n(to + end * mPosition, (width - end) * mPosition, 0.0F);
        }
    }

    void compute(const KernelCall& call, int64_t index, std::byte* memory) const override {
        const Item item = itemAt(index);
        auto* const spreadInput = reinterpret_cast<float*>(memory + mSpread);
        const auto* const weights =
                reinterpret_cast<const float*>(mWeights.in(call.constants()).data());
        auto* const output = call.output(0).as<std::byte>();
        const size_t size = mHalves ? sizeof(Half) : sizeof(float);
        const int64_t first = (item.batch * mShape.outputH + item.line) * mShape.outputW + item.row;
        for (int64_t vector = 0; vector < mFilter.vectors(); ++vector) {
            spread(call, item, vector, spreadInput);
            GroupedLine line = {.runs = mRuns,
                                .runLength = mRunLength,
                                .row = mShape.window.strideW * mPosition,
                                .weights = weights + vector * mFilter.weightsLength(),
                                .apart = mShape.outputC,
                                .rows = item.rows,
                                .columns = mFilter.groupsIn(vector) * mFilter.columns,
                                .low = mRange.low,
                                .high = mRange.high};
            const int64_t channel = vector * mFilter.vectorGroups * mFilter.columns;
            for (int64_t i = 0; i < item.lines; ++i) {
                line.spread = spreadInput + i * mShape.window.strideH * mLine;
                const int64_t pixel = first + i * mShape.outputW;
                line.to = output + static_cast<size_t>(pixel * mShape.outputC + channel) * size;
                (mHalves ? mForm.computeHalves : mForm.computeFloats)(line);
            }
        }
        mEpilogue.apply(call, {.begin = first * mShape.outputC,
                               .lines = item.lines,
                               .line = mShape.outputW * mShape.outputC,
                               .rows = item.rows,
                               .row = mShape.outputC,
                               .columns = mShape.outputC});
    }

    const GroupedConv& mForm;
    const GroupedFilter mFilter;
    const GroupedShape mShape;
    const PackedConstant mWeights;
    const Epilogue mEpilogue;
    const RealRange mRange;
    const bool mHalves;
    std::vector<int32_t> mLanes;
    int64_t mLines = 1, mRows = 1;  // of a work item
    int64_t mLineGroups = 1, mRowGroups = 1;
    int64_t mPosition = 0;  // elements of a spatial position of the spread input
    int64_t mLine = 0;      // and of a line
    int64_t mRunLength = 0;
    std::vector<ptrdiff_t> mRuns;
    size_t mSpread = 0;
};

class GroupedConvKernel final : public StepKernel {
  public:
    GroupedConvKernel(const GroupedConv& form, InstructionSet set, const Conv2d& node,
                      const GroupedFilter& filter, PackedConstant weights, Epilogue epilogue,
                      size_t threads)
        : mForm(form),
          mNode(node),
          mFilter(filter),
          mWeights(weights),
          mEpilogue(std::move(epilogue)),
          mThreads(threads),
          mName("acc::grouped_conv_float " + std::to_string(filter.vectorGroups) + " groups " +
                std::string(toString(set)) + mEpilogue.name()) {}

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
        auto kernel =
                std::make_shared<ShapedGroupedConv>(mForm, mFilter,
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
                                                    mWeights, mEpilogue, rangeOf(mNode.activation),
                                                    types.inputs[0]->type == DataType::FLOAT16);
        HALYARD_RETURN_IF_ERROR(kernel->create(mThreads));
        return std::shared_ptr<const ShapedGroupedConv>(std::move(kernel));
    }

    const GroupedConv& mForm;
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
    const bool halves = typeOf(arguments, arguments.node.inputs[0]).type == DataType::FLOAT16;
    HALYARD_ASSIGN_OR_RETURN(const PackedConstant packed, halves ? pack<Half>(filter, arguments)
                                                                 : pack<float>(filter, arguments));
    arguments.packed.push_back(arguments.node.inputs[1]);
    arguments.packed.push_back(arguments.node.inputs[2]);
    return std::unique_ptr<const StepKernel>(std::make_unique<GroupedConvKernel>(
            form, target.set, node, filter, packed, Epilogue::of(arguments, target.set),
            arguments.threads));
}

}  // namespace halyard::engine::cpu
