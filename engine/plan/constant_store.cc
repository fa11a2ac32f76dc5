// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/constant_store.h"

#include <optional>
#include <string>
#include <utility>

#include "engine/base/checked_math.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

Result<PackedConstant> ConstantStore::add(size_t bytes, Fill fill) {
    const std::optional<size_t> end = checkedAdd(mBytes, bytes);
    const std::optional<size_t> next =
            end.has_value() ? checkedAlignUp(*end, kTensorAlignment) : std::nullopt;
    if (!next.has_value()) {
        return outOfReach("a packed constant of " + std::to_string(bytes) +
                          " bytes is out of reach");
    }
    const PackedConstant place = {.offset = mBytes, .bytes = bytes};
    mEntries.push_back({.place = place, .fill = std::move(fill)});
    mBytes = *next;
    return place;
}

Status ConstantStore::checkSize(const PackedConstant& place, size_t bytes) {
    if (place.bytes == bytes) {
        return {};
    }
    return internalError("a packed constant takes " + std::to_string(bytes) +
                         " bytes where the same recipe made one of " + std::to_string(place.bytes));
}

Result<AlignedBuffer> ConstantStore::fill(const std::shared_ptr<Budget>& memory,
                                          const Checkpoint& checkpoint) {
    Result<AlignedBuffer> block = AlignedBuffer::allocate(mBytes, kTensorAlignment, memory);
    if (!block.ok()) {
        return block.status().withContext("the packed constants");
    }
    for (const Entry& entry : mEntries) {
        HALYARD_RETURN_IF_ERROR(checkpoint.check("while constants were packed"));
        HALYARD_RETURN_IF_ERROR(entry.fill(
                block->bytes().subspan(entry.place.offset, entry.place.bytes), checkpoint));
    }
    mEntries.clear();
    mShared.clear();
    return block;
}

}  // namespace halyard::engine
