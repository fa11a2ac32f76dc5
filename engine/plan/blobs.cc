// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/blobs.h"

#include <algorithm>
#include <cstddef>

#include "engine/base/aligned_buffer.h"

namespace halyard::engine {

std::optional<Blob> BlobStore::get(const std::string& name) const {
    const std::lock_guard lock(mMutex);
    const auto found = mBlobs.find(name);
    return found == mBlobs.end() ? std::nullopt : std::optional(found->second);
}

Status BlobStore::put(const std::string& name, std::span<const uint8_t> bytes) {
    Result<AlignedBuffer> copy =
            AlignedBuffer::allocate(bytes.size(), alignof(std::max_align_t), mMemory);
    if (!copy.ok()) {
        return copy.status().withContext("what is kept as '" + name + "'");
    }
    const auto owner = std::make_shared<const AlignedBuffer>(std::move(*copy));
    auto* const data = reinterpret_cast<uint8_t*>(owner->data());
    std::ranges::copy(bytes, data);
    adopt(name, {.owner = owner, .bytes = {data, bytes.size()}});
    return {};
}

void BlobStore::adopt(const std::string& name, Blob blob) {
    const std::lock_guard lock(mMutex);
    mBlobs.insert_or_assign(name, std::move(blob));
}

std::map<std::string, Blob> BlobStore::all() const {
    const std::lock_guard lock(mMutex);
    return mBlobs;
}

std::string Blobs::nameOf(std::string_view name) const {
    return mBackend + "/" + std::string(name);
}

std::optional<Blob> Blobs::get(std::string_view name) const {
    return mStore == nullptr ? std::nullopt : mStore->get(nameOf(name));
}

Status Blobs::put(std::string_view name, std::span<const uint8_t> bytes) const {
    return mStore == nullptr ? Status() : mStore->put(nameOf(name), bytes);
}

}  // namespace halyard::engine
