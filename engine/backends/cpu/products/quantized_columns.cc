// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/products/quantized_columns.h"

#include <algorithm>

namespace halyard::engine::cpu {

void packColumn(const QuantizedMatmul& form, const ByteColumns& bytes,
                std::span<const ColumnPart> parts, int32_t bias, std::byte* panel, int64_t lane) {
    auto* const biases = reinterpret_cast<int32_t*>(panel);
    auto* const multipliers = reinterpret_cast<float*>(biases + form.lanes);
    std::byte* const weights = reinterpret_cast<std::byte*>(multipliers + form.lanes);
    const int64_t group = form.depthGroup;
    uint32_t sum = 0;
    int64_t depth = 0;
    const auto forEach = [&](auto place) {
        int64_t at = lane * group;
        int64_t inGroup = 0;
        for (const ColumnPart& part : parts) {
            const uint8_t* from = part.first;
            for (int64_t i = 0; i < part.depth; ++i, from += part.step) {
                place(at + inGroup, *from);
                if (++inGroup == group) {
                    inGroup = 0;
                    at += form.lanes * group;
                }
            }
            depth += part.depth;
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
    // The sum of (x - x0) * (w - w0) is that of x * w, less x0 times the sum of w, less w0 times
    // the sum of x, which only the run knows.
    auto start = static_cast<uint32_t>(bias);
    if (form.bytes) {
        const auto x0 = static_cast<uint32_t>(bytes.zeros.x);
        const auto w0 = static_cast<uint32_t>(bytes.zeros.weights);
        start += static_cast<uint32_t>(depth) * x0 * w0 - x0 * sum;
    }
    biases[lane] = static_cast<int32_t>(start);
}

void fillRow(const QuantizedMatmul& form, const ByteColumns& bytes, const uint8_t* from,
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
    const QuantizedMatmul& form = quantizedMatmul(set);
    const int64_t panels = form.panels(columns) * static_cast<int64_t>(sources.size());
    return packedBytes(panels, form.panelBytes(paddedDepth(form, depth())));
}

Status PackedByteColumns::fill(std::span<std::byte> to, const Checkpoint& checkpoint) const {
    const QuantizedMatmul& form = quantizedMatmul(set);
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
