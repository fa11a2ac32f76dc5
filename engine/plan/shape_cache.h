// SPDX-License-Identifier: Apache-2.0
//
// ShapeCache: what was made for a set of input shapes, absent ones among them, kept for the next
// time they come.

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/graph/tensor.h"

namespace halyard::engine {

// An input's shape, or nothing where the input is absent.
using MaybeShape = std::optional<Shape>;

// Keeps the `capacity` values that were used last; what falls out lives on with those who hold it.
// Thread-safe.
template <typename T>
class ShapeCache {
  public:
    explicit ShapeCache(size_t capacity) : mCapacity(capacity) {}

    // Null if there is none. Does not allocate.
    std::shared_ptr<const T> find(std::span<const MaybeShape> shapes) {
        const std::lock_guard lock(mMutex);
        return findLocked(shapes);
    }

    // Returns what the cache then holds: where two threads made a value for the same shapes at the
    // same time, the first one to arrive serves both.
    std::shared_ptr<const T> insert(std::span<const MaybeShape> shapes,
                                    std::shared_ptr<const T> value) {
        const std::lock_guard lock(mMutex);
        if (std::shared_ptr<const T> earlier = findLocked(shapes); earlier != nullptr) {
            return earlier;
        }
        if (mEntries.size() >= mCapacity) {
            mEntries.resize(mCapacity - 1);
        }
        mEntries.insert(mEntries.begin(),
                        {.shapes = {shapes.begin(), shapes.end()}, .value = std::move(value)});
        return mEntries.front().value;
    }

  private:
    struct Entry {
        std::vector<MaybeShape> shapes;
        std::shared_ptr<const T> value;
    };

    std::shared_ptr<const T> findLocked(std::span<const MaybeShape> shapes) {
        const auto entry = std::ranges::find_if(mEntries, [&](const Entry& candidate) {
            return std::ranges::equal(candidate.shapes, shapes);
        });
        if (entry == mEntries.end()) {
            return nullptr;
        }
        std::rotate(mEntries.begin(), entry, entry + 1);
        return mEntries.front().value;
    }

    const size_t mCapacity;  // at least 1
    std::mutex mMutex;
    std::vector<Entry> mEntries;  // used last stands first
};

}  // namespace halyard::engine
