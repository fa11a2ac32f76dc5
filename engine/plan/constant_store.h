// SPDX-License-Identifier: Apache-2.0
//
// The store of packed constants: one block of memory per program for all that its backends make of
// constants. While they compile, backends only ask for room; then the block is reserved, allocated
// and filled. Everything in it is found by offset, so that a block which was written to a file can
// be mapped back in its place, without being filled again.

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::engine {

// Where a packed constant lies in the store.
struct PackedConstant {
    size_t offset = 0;
    size_t bytes = 0;

    // `store` as RunArguments::constants has it.
    std::span<const std::byte> in(std::span<const std::byte> store) const {
        return store.subspan(offset, bytes);
    }
};

// Collects while a program is compiled. One thread at a time.
class ConstantStore {
  public:
    using Bytes = std::span<const std::byte>;
    // Writes a constant's bytes. Called once at most, before the program runs, while the graph's
    // constants still are what they were at compile(). The checkpoint is to be polled: a constant
    // may be as large as memory is (Checkpoint::check, copyInChunks).
    using Fill = std::function<Status(std::span<std::byte>, const Checkpoint&)>;

    // Room for `bytes` bytes at a multiple of kTensorAlignment. RESOURCE_EXHAUSTED if the store
    // could not be addressed.
    Result<PackedConstant> add(size_t bytes, Fill fill);

    // The same, but once for all calls with the same sources and the same layout: for what several
    // nodes make of the same constants. The layout names all that the bytes depend on, besides.
    Result<PackedConstant> addOnce(std::string layout, std::span<const Bytes> sources, size_t bytes,
                                   Fill fill);

    size_t bytes() const { return mBytes; }
    // The block, reserved from `memory` (null: not limited) before it is allocated, and filled.
    // What a fill says, or RESOURCE_EXHAUSTED.
    Result<AlignedBuffer> fill(const std::shared_ptr<Budget>& memory, const Checkpoint& checkpoint);

  private:
    struct Entry {
        PackedConstant place;
        Fill fill;
    };
    // What addOnce() was called with: where the sources lie, which tells them apart.
    using Key = std::pair<std::string, std::vector<std::pair<const std::byte*, size_t>>>;

    std::vector<Entry> mEntries;
    std::map<Key, PackedConstant> mShared;
    size_t mBytes = 0;
};

}  // namespace halyard::engine
