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
#include <span>
#include <string_view>

#include "engine/backends/cpu/hardware/l1d_sets.h"
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

struct QuantizedBlock {
    const void* a = nullptr;          // of the form's element type
    ptrdiff_t aLine = 0;              // elements from a line to the next
    ptrdiff_t aRow = 0;               // and from a row to the next
    std::span<const ptrdiff_t> runs;  // where each run starts, in elements from the row's start
    int64_t runLength = 0;            // a multiple of depthGroup
    int64_t lines = 0;
    int64_t rows = 0;                   // of each line
    const std::byte* panels = nullptr;  // from the first wanted column on, which starts a panel
    int64_t columns = 0;
    uint8_t* c = nullptr;  // signed or unsigned bytes, as the zero point and the bounds have it
    ptrdiff_t cLine = 0;
    ptrdiff_t cRow = 0;
    int32_t zeroPoint = 0;  // of the output
    int32_t low = 0;        // and its bounds
    int32_t high = 0;
    // Where the sums themselves are wanted: they go here, in the place of c, and nothing is
    // rounded.
    int32_t* sums = nullptr;
    // Where weights are bytes with a zero point: that, with room for a sum per row of all lines.
    int32_t weightsZero = 0;
    int32_t* rowSums = nullptr;
    bool hasSmallWeights = false;  // where they are signed bytes, none of them is -128
    L1dSets l1d = {};              // of the processor
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
