// SPDX-License-Identifier: Apache-2.0
//
// Rows found by key, and projections by hashing.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/numerics/elements.h"
#include "engine/numerics/fingerprint.h"
#include "engine/numerics/reals.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::ref {
namespace {

// How many bytes each of `rows` equal parts of a tensor has.
Result<size_t> bytesPerRow(const TensorType& type, int64_t rows) {
    HALYARD_ASSIGN_OR_RETURN(const size_t bytes, type.byteSize());
    return rows == 0 ? 0 : bytes / static_cast<size_t>(rows);
}

}  // namespace

Status run(const HashtableLookup& /*node*/, KernelCall& call) {
    const int64_t lookups = call.input(0).shape()[0];
    const int64_t rows = call.input(1).shape()[0];
    const auto* const wanted = call.input(0).as<int32_t>();
    const std::span<const int32_t> keys(call.input(1).as<int32_t>(), static_cast<size_t>(rows));
    const auto* const values = call.input(2).as<std::byte>();
    HALYARD_ASSIGN_OR_RETURN(const size_t bytes, bytesPerRow(*call.output(0).type, lookups));
    auto* const output = call.output(0).as<std::byte>();
    auto* const hits = call.output(1).as<uint8_t>();
    return call.forEach(lookups, std::bit_width(keys.size()), [&](int64_t i) {
        std::byte* const to = output + static_cast<size_t>(i) * bytes;
        // Of keys that do not ascend some are not found, and nothing worse.
        const auto found = std::ranges::lower_bound(keys, wanted[i]);
        const bool hit = found != keys.end() && *found == wanted[i];
        hits[i] = hit ? 1 : 0;
        const auto row = static_cast<size_t>(hit ? found - keys.begin() : 0);
        const std::byte* const from = values + row * bytes;
        return call.inSlices(static_cast<int64_t>(bytes), 1, [&](int64_t begin, int64_t end) {
            if (hit) {
                std::copy(from + begin, from + end, to + begin);
            } else {
                std::fill(to + begin, to + end, std::byte{0});
            }
        });
    });
}

Status run(const LshProjection& node, KernelCall& call) {
    const int64_t functions = call.input(0).shape()[0];
    const int64_t bits = call.input(0).shape()[1];
    const int64_t rows = call.input(1).shape()[0];
    const auto* const x = call.input(1).as<std::byte>();
    const bool weighted = call.input(2).present();
    HALYARD_ASSIGN_OR_RETURN(const size_t bytes, bytesPerRow(*call.input(1).type, rows));
    // The hash's input: the four bytes of an element of the hash, then a row.
    HALYARD_ASSIGN_OR_RETURN(const std::span<std::byte> key,
                             call.scratch<std::byte>(sizeof(uint32_t) + bytes));
    const RealReader seeds(call.input(0));
    auto* const output = call.output(0).as<int32_t>();
    const auto isPositive = [&](float seed) -> Result<bool> {
        for (size_t i = 0; i < sizeof(uint32_t); ++i) {
            key[i] = static_cast<std::byte>(std::bit_cast<uint32_t>(seed) >> (8 * i) & 0xffU);
        }
        double score = 0.0;
        const auto hashRow = [&](int64_t row) -> Status {
            const std::byte* const from = x + static_cast<size_t>(row) * bytes;
            std::byte* const to = key.data() + sizeof(uint32_t);
            HALYARD_RETURN_IF_ERROR(
                    call.inSlices(static_cast<int64_t>(bytes), 1, [&](int64_t begin, int64_t end) {
                        std::copy(from + begin, from + end, to + begin);
                    }));
            const auto count = [&](size_t hashed) {
                return call.checkpoint(static_cast<int64_t>(hashed));
            };
            HALYARD_ASSIGN_OR_RETURN(const uint64_t fingerprint, fingerprint64(key, count));
            const auto signature = static_cast<double>(static_cast<int64_t>(fingerprint));
            score += weighted ? static_cast<double>(RealReader(call.input(2))[row]) * signature
                              : signature;
            return {};
        };
        HALYARD_RETURN_IF_ERROR(call.forEach(rows, 16, hashRow));
        return score > 0.0;
    };
    for (int64_t function = 0; function < functions; ++function) {
        HALYARD_RETURN_IF_ERROR(call.checkpoint(1));  // a function may be of no bits
        uint32_t signature = 0;
        for (int64_t bit = 0; bit < bits; ++bit) {
            HALYARD_ASSIGN_OR_RETURN(const bool set, isPositive(seeds[function * bits + bit]));
            signature = signature << 1U | (set ? 1U : 0U);
            if (node.type == LshProjection::Type::DENSE) {
                output[function * bits + bit] = set ? 1 : 0;
            }
        }
        if (node.type == LshProjection::Type::SPARSE) {
            signature += static_cast<uint32_t>(static_cast<uint64_t>(function) << bits);
        }
        if (node.type != LshProjection::Type::DENSE) {
            output[function] = static_cast<int32_t>(signature);
        }
    }
    return {};
}

}  // namespace halyard::engine::ref
