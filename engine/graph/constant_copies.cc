// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/constant_copies.h"

#include "engine/base/aligned_buffer.h"

namespace halyard::engine {
namespace {

// Even a constant without elements gets an owner, which is what marks it as one.
Result<ConstantData> copyOf(std::span<const uint8_t> bytes, const std::shared_ptr<Budget>& memory,
                            const Checkpoint& checkpoint) {
    const size_t size = bytes.empty() ? 1 : bytes.size();
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer copy,
                             AlignedBuffer::allocate(size, alignof(std::max_align_t), memory));
    HALYARD_RETURN_IF_ERROR(copyInChunks(copy.data(), bytes.data(), bytes.size(), checkpoint,
                                         "while a constant was copied"));
    auto owner = std::make_shared<const AlignedBuffer>(std::move(copy));
    const auto* data = reinterpret_cast<const uint8_t*>(owner->data());
    return ConstantData{.owner = std::move(owner), .bytes = {data, bytes.size()}};
}

}  // namespace

Result<ConstantData> ConstantCopies::of(const ConstantData& constant) {
    if (constant.owner == nullptr) {
        return copyOf(constant.bytes, mMemory, mCheckpoint);
    }
    const auto key = std::make_pair(constant.bytes.data(), constant.bytes.size());
    auto found = mEntries.find(key);
    if (found == mEntries.end()) {
        HALYARD_ASSIGN_OR_RETURN(ConstantData copy, copyOf(constant.bytes, mMemory, mCheckpoint));
        found = mEntries.emplace(key, Entry{.source = constant.owner, .copy = std::move(copy)})
                        .first;
    }
    ConstantData copy = found->second.copy;
    copy.id = constant.id;
    return copy;
}

}  // namespace halyard::engine
