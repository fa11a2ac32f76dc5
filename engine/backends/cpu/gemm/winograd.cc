// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/winograd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/gemm/winograd_cut.h"
#include "engine/backends/cpu/gemm/winograd_tiles.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/base/checked_math.h"
#include "engine/base/half.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/whole_division.h"

namespace halyard::engine::cpu {
namespace {

// How filters are packed: [chunk of columns][position][panel of the chunk], each panel as
// FloatGemm has it, with zeros for the bias and behind the last column.
struct FilterLayout {
    int64_t channels = 0;  // of the input
    int64_t columns = 0;   // of the output
    int64_t lanes = 1;
    int64_t chunkPanels = 1;
    int64_t positions = 1;

    HALYARD_FIELDS(channels, columns, lanes, chunkPanels, positions)

    int64_t chunkColumns() const { return chunkPanels * lanes; }
    int64_t chunks() const { return ceilDivide(columns, chunkColumns()); }
    int64_t panel() const { return (channels + 1) * lanes; }
    int64_t position() const { return chunkPanels * panel(); }
    int64_t chunk() const { return positions * position(); }
};

class ShapedWinograd final : public ShapedKernel {
  public:
    ShapedWinograd(const WinogradTiles& tiles, const FloatGemm& matmul, RealRange range,
                   FilterLayout filters, PackedConstant panels, PackedConstant bias,
                   const Epilogue& epilogue, const L1dSets& l1d)
        : mTiles(tiles),
          mMatmul(matmul),
          mRange(range),
          mFilters(filters),
          mPanels(panels),
          mBias(bias),
          mEpilogue(epilogue),
          mL1d(l1d) {}

    Status create(const Shape& x, const Shape& output, const ResolvedWindow& window, size_t threads,
                  const WinogradTuning& tuning) {
        mInputH = x[1];
        mInputW = x[2];
        mOutputH = output[1];
        mOutputW = output[2];
        mTop = window.top;
        mLeft = window.left;
        mTilesH = ceilDivide(mOutputH, mTiles.side);
        mTilesW = ceilDivide(mOutputW, mTiles.side);
        mCount = x[0] * mTilesH * mTilesW;
        HALYARD_ASSIGN_OR_RETURN(
                mCut,
                WinogradCut::create({.tiles = mCount,
                                     .positions = mTiles.positions(),
                                     .channels = mFilters.channels,
                                     .chunks = mFilters.chunks(),
                                     .chunkColumns = mFilters.chunkColumns(),
                                     .filterBytes = mFilters.chunks() * mFilters.chunk() *
                                                    static_cast<int64_t>(sizeof(float)),
                                     .tileRows = mMatmul.tileRows,
                                     .threads = static_cast<int64_t>(std::max<size_t>(threads, 1)),
                                     .tuning = tuning}));
        return {};
    }

    size_t workspaceBytes() const override { return mCut.isAlone ? 0 : mCut.windowBytes; }
    size_t threadBytes() const override {
        return mCut.isAlone ? mCut.windowBytes + mCut.productBytes : mCut.productBytes;
    }

    Status run(KernelCall& call) const override {
        return mCut.isAlone ? runAlone(call) : runTogether(call);
    }

  private:
    // Multiply-adds of `rows` tiles, without their transforms.
    int64_t multiplying(int64_t rows) const {
        return rows * mTiles.positions() * mFilters.channels * mFilters.chunkColumns();
    }
    // Loads, stores and two sums or so for each element, of a vector's lanes at a time.
    int64_t transforming() const { return mTiles.positions() * mFilters.channels / 2; }

    Status runAlone(KernelCall& call) const {
        const int64_t shares = ceilDivide(mCount, mCut.rows);
        const int64_t chunks = mFilters.chunks();
        return call.inParallel(shares, chunks * multiplying(mCut.rows) + mCut.rows * transforming(),
                               [&](int64_t begin, int64_t end, size_t worker) {
                                   std::byte* const own = call.memoryOf(worker);
                                   auto* const windows = reinterpret_cast<float*>(own);
                                   auto* const products =
                                           reinterpret_cast<float*>(own + mCut.windowBytes);
                                   for (int64_t share = begin; share < end; ++share) {
                                       const int64_t first = share * mCut.rows;
                                       const int64_t rows = std::min(mCut.rows, mCount - first);
                                       transform(call, windows, first, 0, rows);
                                       for (int64_t chunk = 0; chunk < chunks; ++chunk) {
                                           multiply(call, chunk, windows, first, 0, rows, products);
                                       }
                                   }
                               });
    }

    Status runTogether(KernelCall& call) const {
        auto* const windows = reinterpret_cast<float*>(call.workspace());
        const int64_t chunks = mFilters.chunks();
        for (int64_t first = 0; first < mCount; first += mCut.atOnce) {
            const int64_t count = std::min(mCut.atOnce, mCount - first);
            HALYARD_RETURN_IF_ERROR(call.inParallel(
                    count, transforming(), [&](int64_t begin, int64_t end, size_t /*worker*/) {
                        transform(call, windows, first, begin, end);
                    }));
            const int64_t shares = ceilDivide(count, mCut.rows);
            HALYARD_RETURN_IF_ERROR(call.inParallel(
                    chunks * shares, multiplying(mCut.rows),
                    [&](int64_t begin, int64_t end, size_t worker) {
                        auto* const own = reinterpret_cast<float*>(call.memoryOf(worker));
                        for (int64_t i = begin; i < end; ++i) {
                            const int64_t chunk = mCut.sharesFilters ? i / shares : i % chunks;
                            const int64_t share = mCut.sharesFilters ? i % shares : i / chunks;
                            const int64_t row = share * mCut.rows;
                            multiply(call, chunk, windows, first, row,
                                     std::min(mCut.rows, count - row), own);
                        }
                    }));
        }
        return {};
    }

    // The tiles from `first + begin` on to where those from `first` on have their windows.
    void transform(const KernelCall& call, float* windows, int64_t first, int64_t begin,
                   int64_t end) const {
        for (int64_t i = begin; i < end; ++i) {
            mTiles.transformInput(windowOf(first + i, call.input(0).data),
                                  windows + i * mFilters.channels, mCut.position);
        }
    }

    TileWindow windowOf(int64_t tile, const void* x) const {
        const int64_t batch = tile / (mTilesH * mTilesW);
        const int64_t line = tile / mTilesW % mTilesH * mTiles.side - mTop;
        const int64_t pixel = tile % mTilesW * mTiles.side - mLeft;
        const auto inside = [this](int64_t at) {
            return static_cast<int32_t>(std::clamp<int64_t>(at, 0, mTiles.window));
        };
        TileWindow window;
        window.x = x;
        window.pixel = mFilters.channels;
        window.line = mInputW * mFilters.channels;
        window.origin = (batch * mInputH + line) * window.line + pixel * window.pixel;
        window.firstLine = inside(-line);
        window.endLine = inside(mInputH - line);
        window.firstPixel = inside(-pixel);
        window.endPixel = inside(mInputW - pixel);
        window.channels = mFilters.channels;
        return window;
    }

    TileOutput outputOf(int64_t tile, int64_t column, int64_t columns, void* y) const {
        const int64_t batch = tile / (mTilesH * mTilesW);
        const int64_t line = tile / mTilesW % mTilesH * mTiles.side;
        const int64_t pixel = tile % mTilesW * mTiles.side;
        TileOutput place;
        place.pixel = mFilters.columns;
        place.line = mOutputW * mFilters.columns;
        place.y = y;
        place.origin = (batch * mOutputH + line) * place.line + pixel * place.pixel + column;
        place.lines = static_cast<int32_t>(std::min<int64_t>(mTiles.side, mOutputH - line));
        place.pixels = static_cast<int32_t>(std::min<int64_t>(mTiles.side, mOutputW - pixel));
        place.channels = columns;
        place.low = mRange.low;
        place.high = mRange.high;
        return place;
    }

    // Some columns of the output's tiles from `first + row` on.
    void multiply(const KernelCall& call, int64_t chunk, const float* windows, int64_t first,
                  int64_t row, int64_t rows, float* products) const {
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        static constexpr std::array<ptrdiff_t, 1> kRuns = {0};
        const auto* const filters =
                reinterpret_cast<const float*>(mPanels.in(call.constants()).data()) +
                chunk * mFilters.chunk();
        const int64_t column = chunk * mFilters.chunkColumns();
        const int64_t columns = std::min(mFilters.chunkColumns(), mFilters.columns - column);
        FloatBlock block;
        block.aRow = mFilters.channels;
        block.runs = kRuns;
        block.runLength = mFilters.channels;
        block.lines = 1;
        block.rows = rows;
        block.columns = columns;
        block.cRow = mCut.row;
        block.low = -kInfinity;
        block.high = kInfinity;
        block.l1d = mL1d;
        for (int64_t i = 0; i < mTiles.positions(); ++i) {
            block.a = windows + i * mCut.position + row * mFilters.channels;
            block.panels = filters + i * mFilters.position();
            block.c = products + i * mFilters.chunkColumns();
            mMatmul.compute(block);
        }
        const auto* const bias =
                reinterpret_cast<const float*>(mBias.in(call.constants()).data()) + column;
        for (int64_t i = 0; i < rows; ++i) {
            const int64_t tile = first + row + i;
            TileOutput output = outputOf(tile, column, columns, call.output(0).data);
            output.bias = bias;
            if (!mTiles.transformOutput(products + i * mCut.row, mFilters.chunkColumns(), output)) {
                mTiles.computeDirectly(windowOf(tile, call.input(0).data),
                                       {.panels = filters,
                                        .panel = mFilters.panel(),
                                        .position = mFilters.position()},
                                       output);
            }
            mEpilogue.apply(call, {.begin = output.origin,
                                   .lines = output.lines,
                                   .line = output.line,
                                   .rows = output.pixels,
                                   .row = output.pixel,
                                   .columns = output.channels});
        }
    }

    const WinogradTiles& mTiles;
    const FloatGemm& mMatmul;
    const RealRange mRange;
    const FilterLayout mFilters;
    const PackedConstant mPanels;
    const PackedConstant mBias;
    const Epilogue mEpilogue;
    const L1dSets mL1d;
    int64_t mInputH = 0, mInputW = 0;
    int64_t mOutputH = 0, mOutputW = 0;
    int64_t mTop = 0, mLeft = 0;
    int64_t mTilesH = 0, mTilesW = 0;  // of one feature map
    int64_t mCount = 0;                // of all
    WinogradCut mCut;
};

class Winograd final : public StepKernel {
  public:
    Winograd(const Conv2d& node, const WinogradTiles& tiles, InstructionSet set,
             FilterLayout filters, PackedConstant panels, PackedConstant bias, Epilogue epilogue,
             size_t threads, const CpuTuning& tuning)
        : mWindow(node.window),
          mRange(rangeOf(node.activation)),
          mTiles(tiles),
          mMatmul(floatGemm(set)),
          mFilters(filters),
          mPanels(panels),
          mBias(bias),
          mEpilogue(std::move(epilogue)),
          mThreads(threads),
          mTuning(tuning.winograd),
          mL1d(tuning.l1d) {
        const std::string side = std::to_string(tiles.side);
        mName = "acc::winograd_float " + side + "x" + side + " " + std::string(mMatmul.tile) + " " +
                std::string(toString(set)) + mEpilogue.name();
    }

    std::string_view name() const override { return mName; }

    Result<std::shared_ptr<const ShapedKernel>> specialize(const StepTypes& types) const override {
        const Shape& x = types.inputs[0]->shape;
        const Shape& output = types.outputs[0]->shape;
        if (countOf(output) == 0) {
            return std::shared_ptr<const ShapedKernel>(std::make_shared<EmptyKernel>());
        }
        HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow window,
                                 resolveWindow(mWindow, x[1], x[2], 3, 3));
        auto kernel = std::make_shared<ShapedWinograd>(mTiles, mMatmul, mRange, mFilters, mPanels,
                                                       mBias, mEpilogue, mL1d);
        HALYARD_RETURN_IF_ERROR(kernel->create(x, output, window, mThreads, mTuning));
        return std::shared_ptr<const ShapedKernel>(std::move(kernel));
    }

  private:
    const Window2d mWindow;
    const RealRange mRange;
    const WinogradTiles& mTiles;
    const FloatGemm& mMatmul;
    const FilterLayout mFilters;
    const PackedConstant mPanels;
    const PackedConstant mBias;
    const Epilogue mEpilogue;
    const size_t mThreads;
    const WinogradTuning mTuning;
    const L1dSets mL1d;
    std::string mName;
};

// Filters, transformed: [chunk][position][panel][bias, which is zeros here, then each
// channel][lane].
template <typename T>
struct PackedFilters {
    int32_t side = 2;
    FilterLayout layout;
    ConstantSource<T> weights;

    static constexpr std::string_view kName =
            std::is_same_v<T, Half> ? "winograd filters of halves" : "winograd filters";
    HALYARD_FIELDS(side, layout, weights)

    Result<size_t> bytes() const {
        const std::optional<size_t> length = checkedMultiply(static_cast<size_t>(layout.chunks()),
                                                             static_cast<size_t>(layout.chunk()));
        const std::optional<size_t> bytes =
                length.has_value() ? checkedMultiply(*length, sizeof(float)) : std::nullopt;
        return bytes.has_value() ? Result<size_t>(*bytes)
                                 : outOfReach("its packed weights are out of reach");
    }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        auto* const to = reinterpret_cast<float*>(bytes.data());
        const int64_t panels = layout.chunks() * layout.chunkPanels;
        std::fill_n(to, layout.chunks() * layout.chunk(), 0.0F);
        for (int64_t panel = 0; panel < panels; ++panel) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            float* const begin = to + panel / layout.chunkPanels * layout.chunk() +
                                 panel % layout.chunkPanels * layout.panel();
            for (int64_t k = 0; k < layout.channels; ++k) {
                for (int64_t lane = 0; lane < layout.lanes; ++lane) {
                    const int64_t column = panel * layout.lanes + lane;
                    if (column >= layout.columns) {
                        break;
                    }
                    packFilter(column, k, begin + (k + 1) * layout.lanes + lane);
                }
            }
        }
        return {};
    }

  private:
    // The filter of a channel for a column; `to`: its first position.
    void packFilter(int64_t column, int64_t channel, float* to) const {
        const T* from = weights.data + column * 9 * layout.channels + channel;
        double filter[3][3];
        for (auto& line : filter) {
            for (double& weight : line) {
                weight = toReal(*from);
                from += layout.channels;
            }
        }
        std::array<double, 36> transformed;
        transformFilter(side, filter, transformed.data());
        for (int64_t i = 0; i < layout.positions; ++i) {
            to[i * layout.position()] = static_cast<float>(transformed[static_cast<size_t>(i)]);
        }
    }
};

// Far enough from the ends of the range for transforms, and sums of as many, not to overflow.
template <typename T>
struct AreInSafeRange {
    ConstantSource<T> values;
    int64_t count = 0;

    static constexpr std::string_view kName =
            std::is_same_v<T, Half> ? "weights of halves are tame" : "weights are tame";
    HALYARD_FIELDS(values, count)

    bool holds() const {
        constexpr float kMost = std::numeric_limits<float>::max() / 64;
        return std::all_of(values.data, values.data + count,
                           [](T value) { return std::abs(toReal(value)) <= kMost; });
    }
};

template <typename T>
struct PackedWinogradBias {
    ConstantSource<T> bias;
    int64_t count = 0;

    static constexpr std::string_view kName =
            std::is_same_v<T, Half> ? "winograd bias of halves" : "winograd bias";
    HALYARD_FIELDS(bias, count)

    Result<size_t> bytes() const { return static_cast<size_t>(count) * sizeof(float); }
    Status fill(std::span<std::byte> to, const Checkpoint& /*checkpoint*/) const {
        std::transform(bias.data, bias.data + count, reinterpret_cast<float*>(to.data()),
                       [](T value) { return toReal(value); });
        return {};
    }
};

template <typename T>
Result<bool> areTame(const KernelArguments& arguments, const Shape& filter) {
    HALYARD_ASSIGN_OR_RETURN(const bool tameWeights, arguments.constants.holds(AreInSafeRange<T>{
                                                             .values = constantOf<T>(arguments, 1),
                                                             .count = countOf(filter)}));
    HALYARD_ASSIGN_OR_RETURN(const bool tameBias,
                             arguments.constants.holds(AreInSafeRange<T>{
                                     .values = constantOf<T>(arguments, 2), .count = filter[0]}));
    return tameWeights && tameBias;
}

struct PackedLayer {
    PackedConstant filters;
    PackedConstant bias;
};

template <typename T>
Result<PackedLayer> packLayer(int32_t side, const FilterLayout& layout,
                              const KernelArguments& arguments) {
    PackedLayer packed;
    HALYARD_ASSIGN_OR_RETURN(
            packed.filters,
            arguments.constants.add(PackedFilters<T>{
                    .side = side, .layout = layout, .weights = constantOf<T>(arguments, 1)}));
    HALYARD_ASSIGN_OR_RETURN(
            packed.bias, arguments.constants.add(PackedWinogradBias<T>{
                                 .bias = constantOf<T>(arguments, 2), .count = layout.columns}));
    return packed;
}

}  // namespace

Result<bool> canUseWinograd(const Conv2d& node, const KernelArguments& arguments) {
    const TensorType& x = typeOf(arguments, arguments.node.inputs[0]);
    const Shape& filter = typeOf(arguments, arguments.node.inputs[1]).shape;
    const Window2d& window = node.window;
    if (!isFloat(x.type) || filter[3] <= 0 || node.groups != 1 || filter[1] != 3 ||
        filter[2] != 3 || window.strideH != 1 || window.strideW != 1 || window.dilationH != 1 ||
        window.dilationW != 1) {
        return false;
    }
    return x.type == DataType::FLOAT16 ? areTame<Half>(arguments, filter)
                                       : areTame<float>(arguments, filter);
}

Result<std::unique_ptr<const StepKernel>> compileWinograd(const Conv2d& node, int32_t side,
                                                          const KernelArguments& arguments,
                                                          const CpuTarget& target) {
    const FloatGemm& matmul = floatGemm(target.set);
    const bool halves = typeOf(arguments, arguments.node.inputs[0]).type == DataType::FLOAT16;
    const WinogradTiles& tiles = winogradTiles(side, halves, target.set);
    const Shape& filter = typeOf(arguments, arguments.node.inputs[1]).shape;
    const FilterLayout layout = {.channels = filter[3],
                                 .columns = filter[0],
                                 .lanes = matmul.lanes,
                                 .chunkPanels = matmul.tileLanes / matmul.lanes,
                                 .positions = tiles.positions()};
    HALYARD_ASSIGN_OR_RETURN(const PackedLayer packed,
                             halves ? packLayer<Half>(side, layout, arguments)
                                    : packLayer<float>(side, layout, arguments));
    arguments.packed.push_back(arguments.node.inputs[1]);
    arguments.packed.push_back(arguments.node.inputs[2]);
    return std::unique_ptr<const StepKernel>(std::make_unique<Winograd>(
            node, tiles, target.set, layout, packed.filters, packed.bias,
            Epilogue::of(arguments, target.set), arguments.threads, target.tuning));
}

}  // namespace halyard::engine::cpu
