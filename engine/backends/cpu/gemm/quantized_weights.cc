// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/quantized_weights.h"

#include <cstring>
#include <limits>

#include "engine/numerics/requantize.h"

namespace halyard::engine::cpu {
namespace {

// A PackingRecipe.
struct PackedQuantizedConvGemm {
    PanelLayout layout;
    ConvGemmFilter filter;
    ConstantSource<uint8_t> weights;
    bool isSigned = false;  // the weights are
    ConstantSource<int32_t> bias;
    float xScale = 0.0F;
    WeightScales weightScales;
    float outputScale = 0.0F;
    int32_t weightsZero = 0;  // as the graph has it
    ByteZeros zeros;

    static constexpr std::string_view kName = "int8 GEMM";
    HALYARD_FIELDS(layout, filter, weights, isSigned, bias, xScale, weightScales, outputScale,
                   weightsZero, zeros)

    int64_t panels() const { return layout.panels(filter.groupChannels()) * filter.groups; }
    Result<size_t> bytes() const {
        return packedBytes(panels(), layout.panelBytes(filter.paddedDepth()));
    }
    Status fill(std::span<std::byte> bytes, const Checkpoint& checkpoint) const {
        const int64_t panelBytes = layout.panelBytes(filter.paddedDepth());
        TapReader<uint8_t> reader(filter.taps, weights.data, filter.depth());
        for (int64_t panel = 0; panel < panels(); ++panel) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            std::byte* const begin = bytes.data() + panel * panelBytes;
            const PanelChannels channels = panelChannels(filter, layout.lanes, panel);
            for (int64_t lane = 0; lane < layout.lanes; ++lane) {
                packLane(reader, begin, lane < channels.count ? channels.first + lane : -1, lane);
            }
        }
        return {};
    }

  private:
    // Puts the weights of one channel, which lie at `from`, where the groups of its lane are, with
    // the first run at `run`, and padding where there are none (`from` is null: no channel).
    // convert(uint8_t) gives a weight. Prepare time is spent here.
    template <int kGroup, typename T, typename Convert>
    void placeWeights(const uint8_t* from, T padding, T* run, int64_t lane, Convert convert) const {
        const int64_t length = from == nullptr ? 0 : filter.runLength;
        const int64_t whole = length / kGroup * kGroup;
        const int64_t groups = filter.paddedRun / kGroup;
        T* to = run + lane * kGroup;
        const auto place = [&](int64_t first, auto weightOf) {
            T group[kGroup];
            for (int64_t i = 0; i < kGroup; ++i) {
                group[i] = weightOf(i);
            }
            if (layout.groupsTogether > 1) {
                to = run + layout.groupOffset(first / kGroup, groups, lane);
            }
            std::memcpy(to, group, sizeof(group));
            to += layout.lanes * kGroup;
        };
        for (int64_t i = 0; i < filter.runs; ++i, run += layout.lanes * filter.paddedRun) {
            for (int64_t first = 0; first < whole; first += kGroup) {
                uint8_t bytes[kGroup];
                std::memcpy(bytes, from + first, sizeof(bytes));
                place(first, [&](int64_t at) { return convert(bytes[at]); });
            }
            for (int64_t first = whole; first < filter.paddedRun; first += kGroup) {
                place(first, [&](int64_t at) {
                    return first + at < length ? convert(from[first + at]) : padding;
                });
            }
            from += length;  // none: 0
        }
    }

    // The same with as many elements in a group as the layout has.
    template <typename T, typename Convert>
    void placeLane(const uint8_t* from, T padding, std::byte* at, int64_t lane,
                   Convert convert) const {
        T* const to = reinterpret_cast<T*>(at);
        switch (layout.depthGroup) {
            case 1:
                placeWeights<1>(from, padding, to, lane, convert);
                break;
            case 2:
                placeWeights<2>(from, padding, to, lane, convert);
                break;
            case 4:
                placeWeights<4>(from, padding, to, lane, convert);
                break;
            default:
                placeWeights<8>(from, padding, to, lane, convert);
        }
    }

    // Of a channel's weights as they are packed in bytes, what counts as zero between runs
    // included; modulo 2^32.
    uint32_t sumOfBytes(const uint8_t* from) const {
        const int64_t depth = from == nullptr ? 0 : filter.depth();
        uint32_t sum = 0;
        for (int64_t i = 0; i < depth; ++i) {
            sum += static_cast<uint32_t>(int32_t{static_cast<int8_t>(from[i] ^ zeros.flipWeights)});
        }
        return sum + static_cast<uint32_t>(filter.paddedDepth() - depth) *
                             static_cast<uint32_t>(int32_t{static_cast<int8_t>(zeros.weights)});
    }

    void packLane(TapReader<uint8_t>& reader, std::byte* panel, int64_t channel,
                  int64_t lane) const {
        auto* biases = reinterpret_cast<int32_t*>(panel);
        auto* multipliers = reinterpret_cast<float*>(biases + layout.lanes);
        std::byte* const to = reinterpret_cast<std::byte*>(multipliers + layout.lanes);
        const uint8_t* from = channel < 0 ? nullptr : reader.channels(channel, 1);
        const int64_t source = channel < 0 ? -1 : filter.taps.sourceOf(channel);
        if (layout.bytes) {
            // In place of what is not there, what counts as zero.
            placeLane(from, static_cast<int8_t>(zeros.weights), to, lane,
                      [flip = zeros.flipWeights](uint8_t byte) {
                          return static_cast<int8_t>(byte ^ flip);
                      });
        } else if (isSigned) {
            placeLane(from, int16_t{0}, to, lane, [zero = weightsZero](uint8_t byte) {
                return static_cast<int16_t>(static_cast<int8_t>(byte) - zero);
            });
        } else {
            placeLane(from, int16_t{0}, to, lane, [zero = weightsZero](uint8_t byte) {
                return static_cast<int16_t>(byte - zero);
            });
        }
        // With x and w as they are packed: the sum of (x - x0) * (w - w0) is that of x * w, less
        // x0 times the sum of w, less w0 times the sum of x, which only the run knows.
        const auto x0 = static_cast<uint32_t>(zeros.x);
        const auto w0 = static_cast<uint32_t>(zeros.weights);
        uint32_t start = source < 0 ? 0 : static_cast<uint32_t>(bias.data[source]);
        if (layout.bytes) {
            start += static_cast<uint32_t>(filter.paddedDepth()) * x0 * w0 - x0 * sumOfBytes(from);
        }
        biases[lane] = static_cast<int32_t>(start);
        multipliers[lane] =
                source < 0 ? 0.0F : multiplier(xScale, weightScales[source], outputScale);
    }
};

// A ConstantQuestion: whether no weight is -128 as it is packed.
struct SmallWeights {
    ConstantSource<uint8_t> weights;
    int64_t count = 0;
    uint8_t flipWeights = 0;

    static constexpr std::string_view kName = "int8 weights without -128";
    HALYARD_FIELDS(weights, count, flipWeights)

    bool holds() const {
        return std::memchr(weights.data, 0x80 ^ flipWeights, static_cast<size_t>(count)) == nullptr;
    }
};

}  // namespace

Result<bool> haveSmallWeights(const ByteZeros& zeros, const KernelArguments& arguments) {
    // The zero point is packed as well, as padding.
    if (zeros.weights == std::numeric_limits<int8_t>::min()) {
        return false;
    }
    HALYARD_ASSIGN_OR_RETURN(const int64_t count,
                             typeOf(arguments, arguments.node.inputs[1]).shape.elementCount());
    return arguments.constants.holds(SmallWeights{.weights = constantOf<uint8_t>(arguments, 1),
                                                  .count = count,
                                                  .flipWeights = zeros.flipWeights});
}

Result<PackedConstant> packQuantizedConvGemm(const PanelLayout& layout,
                                             const ConvGemmFilter& filter, const ByteZeros& zeros,
                                             const KernelArguments& arguments) {
    const TensorType& weights = typeOf(arguments, arguments.node.inputs[1]);
    return arguments.constants.add(PackedQuantizedConvGemm{
            .layout = layout,
            .filter = filter,
            .weights = constantOf<uint8_t>(arguments, 1),
            .isSigned = weights.type != DataType::QUANT8_ASYMM,
            .bias = constantOf<int32_t>(arguments, 2),
            .xScale = typeOf(arguments, arguments.node.inputs[0]).quantization.scale,
            .weightScales = WeightScales(weights.quantization),
            .outputScale = typeOf(arguments, arguments.node.outputs[0]).quantization.scale,
            .weightsZero = weights.type == DataType::QUANT8_SYMM_PER_CHANNEL
                                   ? 0
                                   : weights.quantization.zeroPoint,
            .zeros = zeros});
}

}  // namespace halyard::engine::cpu
