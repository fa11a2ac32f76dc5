// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/constant_store.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/checked_math.h"
#include "engine/plan/tensor_alignment.h"

namespace halyard::engine {
namespace {

// The name of a recipe or question, which its key begins with.
std::string nameOf(const std::string& key) {
    return key.substr(0, key.find('\0'));
}

Status notSaved(const std::string& key) {
    return unsupported("the saved program knows nothing of '" + nameOf(key) +
                       "' as it is packed here");
}

}  // namespace

void ConstantNumbers::number(Graph& graph) {
    for (TensorId id = 0; id < graph.tensors().size(); ++id) {
        ConstantData& constant = graph.mutableTensor(id).constant;
        if (constant.owner == nullptr) {
            continue;
        }
        const auto next = static_cast<ConstantId>(mIds.size() + 1);
        constant.id = mIds.emplace(std::pair(constant.bytes.data(), constant.bytes.size()), next)
                              .first->second;
    }
}

Result<PackedConstant> ConstantStore::place(std::string key, size_t bytes, Fill fill) {
    const PackedContents& contents = mSaved == nullptr ? mContents : *mSaved;
    if (const auto found = contents.places.find(key); found != contents.places.end()) {
        if (found->second.bytes == bytes) {
            return found->second;
        }
        // A place of another size would be read beyond its end.
        const std::string wrong = "a packed constant takes " + std::to_string(bytes) +
                                  " bytes where the same recipe made one of " +
                                  std::to_string(found->second.bytes);
        return mSaved == nullptr ? internalError(wrong) : invalidArgument(wrong);
    }
    if (mSaved != nullptr) {
        return notSaved(key);
    }
    const std::optional<size_t> end = checkedAdd(mBytes, bytes);
    const std::optional<size_t> next =
            end.has_value() ? checkedAlignUp(*end, kTensorAlignment) : std::nullopt;
    if (!next.has_value()) {
        return outOfReach("a packed constant of " + std::to_string(bytes) +
                          " bytes is out of reach");
    }
    const PackedConstant place = {.offset = mBytes, .bytes = bytes};
    mContents.places.emplace(std::move(key), place);
    mEntries.push_back({.place = place, .fill = std::move(fill)});
    mBytes = *next;
    return place;
}

Result<bool> ConstantStore::savedAnswer(const std::string& key) const {
    const auto found = mSaved->answers.find(key);
    return found == mSaved->answers.end() ? Result<bool>(notSaved(key)) : found->second;
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
        // The padding is saved, too, and must hold nothing of the heap's former contents.
        const size_t end = entry.place.offset + entry.place.bytes;
        std::ranges::fill(block->bytes().subspan(end, *checkedAlignUp(end, kTensorAlignment) - end),
                          std::byte{0});
    }
    mEntries.clear();
    return block;
}

}  // namespace halyard::engine
