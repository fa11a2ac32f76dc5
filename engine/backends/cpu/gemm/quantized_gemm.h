// SPDX-License-Identifier: Apache-2.0
//
// Products of 8-bit matrices, one of which is packed beforehand; lines, rows and runs are those of
// float_gemm.h. Sums are exact, and go back to 8 bits as numerics/requantize.h says.
//
// The elements of the left matrix depend on the form, so that they are read as they are: bytes
// where the processor has sums of products of bytes, unsigned ones or signed ones, otherwise
// differences from the zero point in 16 bits.
//
// A panel: [each lane's bias, int32][each lane's multiplier, float], then the weights as
// [run, depthGroup at a time][lane][depthGroup]. Where groups lie together, two of them do in each
// lane: [run, two groups at a time][lane][2][depthGroup], and a last one as before.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/backends/cpu/gemm/quantized_block.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/fields.h"

namespace halyard::engine::cpu {

// The layout of the bytes of panels.
struct PanelLayout {
    int64_t lanes = 1;
    int64_t depthGroup = 1;      // elements of a run that are multiplied together
    int64_t groupsTogether = 1;  // 1 or 2
    bool bytes = false;          // the left matrix and the weights are bytes, otherwise 16 bits

    HALYARD_FIELDS(lanes, depthGroup, groupsTogether, bytes)

    int64_t panels(int64_t columns) const { return (columns + lanes - 1) / lanes; }
    // Where a lane's group lies, in elements from the begin of a run that has so many.
    int64_t groupOffset(int64_t group, int64_t groups, int64_t lane) const {
        const int64_t before = group / groupsTogether * groupsTogether;
        const int64_t together = std::min(groupsTogether, groups - before);
        return (before * lanes + lane * together + group - before) * depthGroup;
    }
    // Bytes of one panel of a matrix with `depth` rows, a multiple of depthGroup.
    int64_t panelBytes(int64_t depth) const {
        return lanes * (int64_t{sizeof(int32_t) + sizeof(float)} + depth * (bytes ? 1 : 2));
    }
};

struct QuantizedGemm {
    std::string_view tile;
    int64_t tileRows = 1;
    int64_t lanes = 1;
    int64_t tileLanes = 1;
    int64_t depthGroup = 1;
    int64_t groupsTogether = 1;
    bool bytes = false;
    bool signedLeft = false;           // where they are bytes, those of the left matrix are signed
    bool asksForSmallWeights = false;  // is faster with QuantizedBlock::hasSmallWeights
    void (*compute)(const QuantizedBlock& block) = nullptr;

    PanelLayout layout() const {
        return {.lanes = lanes,
                .depthGroup = depthGroup,
                .groupsTogether = groupsTogether,
                .bytes = bytes};
    }
    int64_t panels(int64_t columns) const { return layout().panels(columns); }
    int64_t panelBytes(int64_t depth) const { return layout().panelBytes(depth); }
};

const QuantizedGemm& quantizedGemm(InstructionSet set);

}  // namespace halyard::engine::cpu
