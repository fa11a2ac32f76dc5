// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/quantized_columns.h"

#include <algorithm>
#include <cstring>

namespace halyard::engine::cpu {
namespace {

// No vector has more lanes of words.
constexpr size_t kMostPanelLanes = 64;

// Bytes of a column in a group.
constexpr int64_t kWord = sizeof(uint32_t);

// The share of zero points in the sums of a column: the sum of (x - x0) * (w - w0) is that of x *
// w, less x0 times the sum of w, less w0 times the sum of x, which only the run knows.
uint32_t zeroPointsIn(const ByteZeros& zeros, int64_t depth, uint32_t sumOfColumn) {
    const auto x0 = static_cast<uint32_t>(zeros.x);
    const auto w0 = static_cast<uint32_t>(zeros.weights);
    return static_cast<uint32_t>(depth) * x0 * w0 - x0 * sumOfColumn;
}

// A lane's word: `count` bytes of its column, `along` bytes apart, and zeros behind them.
void packWord(const uint8_t* from, ptrdiff_t along, int64_t count, uint32_t flip, std::byte* to) {
    uint32_t word = 0;
    for (int64_t i = 0; i < count; ++i) {
        word |= (from[i * along] ^ flip) << (8 * i);
    }
    std::memcpy(to, &word, sizeof(word));
}

// Whole groups of four bytes, as words: of columns that lie in one partition, or beside each other.
void packWords(const QuantizedGemm& form, const ByteZeros& zeros, const ByteMatrix& matrix,
               std::byte* panel) {
    auto* const biases = reinterpret_cast<int32_t*>(panel);
    std::byte* const weights = panel + form.lanes * (sizeof(int32_t) + sizeof(float));
    const uint32_t flip = zeros.flipWeights;
    const auto signedByte = [flip](uint8_t byte) {
        return static_cast<uint32_t>(int32_t{static_cast<int8_t>(byte ^ flip)});
    };
    const int64_t whole = matrix.depth / kWord * kWord;
    const int64_t group = form.lanes * kWord;
    uint32_t sums[kMostPanelLanes] = {};
    if (matrix.along == 1) {
        const uint32_t flips = flip * 0x01010101U;
        for (int64_t lane = 0; lane < matrix.columns; ++lane) {
            const uint8_t* const from = matrix.first + lane * matrix.across;
            std::byte* to = weights + lane * kWord;
            for (int64_t k = 0; k < whole; k += kWord, to += group) {
                uint32_t word = 0;
                std::memcpy(&word, from + k, sizeof(word));
                word ^= flips;
                std::memcpy(to, &word, sizeof(word));
            }
            for (int64_t k = 0; k < matrix.depth; ++k) {
                sums[lane] += signedByte(from[k]);
            }
        }
    } else {
        for (int64_t k = 0; k < whole; k += kWord) {
            const uint8_t* const from = matrix.first + k * matrix.along;
            std::byte* const to = weights + k * form.lanes;
            for (int64_t lane = 0; lane < matrix.columns; ++lane) {
                packWord(from + lane, matrix.along, kWord, flip, to + lane * kWord);
            }
        }
        for (int64_t k = 0; k < matrix.depth; ++k) {
            const uint8_t* const from = matrix.first + k * matrix.along;
            for (int64_t lane = 0; lane < matrix.columns; ++lane) {
                sums[lane] += signedByte(from[lane]);
            }
        }
    }
    for (int64_t lane = 0; lane < matrix.columns; ++lane) {
        if (whole < matrix.depth) {
            packWord(matrix.first + whole * matrix.along + lane * matrix.across, matrix.along,
                     matrix.depth - whole, flip, weights + whole * form.lanes + lane * kWord);
        }
        biases[lane] = static_cast<int32_t>(zeroPointsIn(zeros, matrix.depth, sums[lane]));
    }
}

}  // namespace

void packColumn(const QuantizedGemm& form, const ByteColumns& bytes,
                std::span<const ColumnPart> parts, int32_t bias, std::byte* panel, int64_t lane) {
    auto* const biases = reinterpret_cast<int32_t*>(panel);
    auto* const multipliers = reinterpret_cast<float*>(biases + form.lanes);
    std::byte* const weights = reinterpret_cast<std::byte*>(multipliers + form.lanes);
    const PanelLayout layout = form.layout();
    const int64_t group = form.depthGroup;
    int64_t depth = 0;
    for (const ColumnPart& part : parts) {
        depth += part.depth;
    }
    const int64_t groups = (depth + group - 1) / group;
    uint32_t sum = 0;
    const auto forEach = [&](auto place) {
        int64_t number = 0;
        int64_t at = layout.groupOffset(0, groups, lane);
        int64_t inGroup = 0;
        for (const ColumnPart& part : parts) {
            const uint8_t* from = part.first;
            for (int64_t i = 0; i < part.depth; ++i, from += part.step) {
                place(at + inGroup, *from);
                if (++inGroup == group) {
                    inGroup = 0;
                    at = layout.groupOffset(++number, groups, lane);
                }
            }
        }
    };
    if (form.bytes) {
        auto* const to = reinterpret_cast<int8_t*>(weights);
        forEach([&](int64_t at, uint8_t byte) {
            to[at] = static_cast<int8_t>(byte ^ bytes.zeros.flipWeights);
            sum += static_cast<uint32_t>(int32_t{to[at]});
        });
    } else {
        auto* const to = reinterpret_cast<int16_t*>(weights);
        forEach([&](int64_t at, uint8_t byte) {
            const int32_t value =
                    bytes.columnsAreSigned ? int32_t{static_cast<int8_t>(byte)} : int32_t{byte};
            to[at] = static_cast<int16_t>(value - bytes.columnsZero);
        });
    }
    auto start = static_cast<uint32_t>(bias);
    if (form.bytes) {
        start += zeroPointsIn(bytes.zeros, depth, sum);
    }
    biases[lane] = static_cast<int32_t>(start);
}

void packPanel(const QuantizedGemm& form, const ByteColumns& bytes, const ByteMatrix& matrix,
               std::byte* panel) {
    if (form.bytes && form.depthGroup == kWord && (matrix.along == 1 || matrix.across == 1)) {
        packWords(form, bytes.zeros, matrix, panel);
        return;
    }
    for (int64_t lane = 0; lane < matrix.columns; ++lane) {
        const ColumnPart part = {.first = matrix.first + lane * matrix.across,
                                 .step = matrix.along,
                                 .depth = matrix.depth};
        packColumn(form, bytes, {&part, 1}, 0, panel, lane);
    }
}

void fillRow(const QuantizedGemm& form, const ByteColumns& bytes, const uint8_t* from,
             int64_t count, std::byte* to) {
    if (form.bytes) {
        std::transform(from, from + count, reinterpret_cast<uint8_t*>(to),
                       [flip = bytes.zeros.flipX](uint8_t byte) {
                           return static_cast<uint8_t>(byte ^ flip);
                       });
        return;
    }
    auto* const differences = reinterpret_cast<int16_t*>(to);
    const auto difference = [zero = bytes.rowsZero](auto value) {
        return static_cast<int16_t>(value - zero);
    };
    if (bytes.rowsAreSigned) {
        const auto* const values = reinterpret_cast<const int8_t*>(from);
        std::transform(values, values + count, differences, difference);
    } else {
        std::transform(from, from + count, differences, difference);
    }
}

int64_t PackedByteColumns::depth() const {
    int64_t depth = 0;
    for (const Source::Part& part : sources.front().parts) {
        depth += part.depth;
    }
    return depth;
}

Result<size_t> PackedByteColumns::bytes() const {
    const QuantizedGemm& form = quantizedGemm(set);
    const int64_t panels = form.panels(columns) * static_cast<int64_t>(sources.size());
    return packedBytes(panels, form.panelBytes(paddedDepth(form, depth())));
}

Status PackedByteColumns::fill(std::span<std::byte> to, const Checkpoint& checkpoint) const {
    const QuantizedGemm& form = quantizedGemm(set);
    std::ranges::fill(to, std::byte{0});
    std::byte* panel = to.data();
    std::vector<ColumnPart> parts;
    for (int64_t first = 0; first < columns; first += form.lanes) {
        for (const Source& source : sources) {
            HALYARD_RETURN_IF_ERROR(checkpoint.check("while weights were packed"));
            for (int64_t lane = 0; lane < std::min(form.lanes, columns - first); ++lane) {
                const int64_t column = first + lane;
                parts.clear();
                for (const Source::Part& part : source.parts) {
                    parts.push_back({.first = part.weights.data + column * part.depth,
                                     .step = 1,
                                     .depth = part.depth});
                }
                packColumn(form, zeros, parts, source.bias.present() ? source.bias.data[column] : 0,
                           panel, lane);
            }
            panel += form.panelBytes(paddedDepth(form, depth()));
        }
    }
    return {};
}

}  // namespace halyard::engine::cpu
