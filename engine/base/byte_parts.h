// SPDX-License-Identifier: Apache-2.0
//
// ByteParts: bytes that lie in several places and belong one behind the other, so that they can be
// written out from where they lie.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace halyard {

// Takes a stream of bytes: a file, a socket, a vector.
class ByteSink {
  public:
    virtual ~ByteSink() = default;
    // Once it has failed, nothing more is written.
    virtual Status write(std::span<const uint8_t> bytes) = 0;
};

class ByteParts {
  public:
    // Bytes that outlive the parts, or that `owner` keeps.
    void addView(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner = nullptr) {
        mParts.push_back(bytes);
        mSize += bytes.size();
        if (owner != nullptr) {
            mOwners.push_back(std::move(owner));
        }
    }
    void add(std::vector<uint8_t> bytes) {
        auto owned = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
        const std::span<const uint8_t> view(*owned);
        addView(view, std::move(owned));
    }
    void add(ByteParts parts) {
        mSize += parts.mSize;
        mParts.insert(mParts.end(), parts.mParts.begin(), parts.mParts.end());
        std::ranges::move(parts.mOwners, std::back_inserter(mOwners));
    }
    // Zeros up to the next multiple.
    void alignTo(size_t alignment) {
        if (const size_t gap = (alignment - mSize % alignment) % alignment; gap > 0) {
            add(std::vector<uint8_t>(gap));
        }
    }

    size_t size() const { return mSize; }
    std::span<const std::span<const uint8_t>> parts() const { return mParts; }

    Status writeTo(ByteSink& sink) const {
        for (const std::span<const uint8_t> part : mParts) {
            HALYARD_RETURN_IF_ERROR(part.empty() ? Status() : sink.write(part));
        }
        return {};
    }

    // Into as many bytes.
    void copyTo(uint8_t* to) const {
        for (const std::span<const uint8_t> part : mParts) {
            to = std::ranges::copy(part, to).out;
        }
    }

  private:
    std::vector<std::shared_ptr<const void>> mOwners;
    std::vector<std::span<const uint8_t>> mParts;
    size_t mSize = 0;
};

}  // namespace halyard
