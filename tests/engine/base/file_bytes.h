// SPDX-License-Identifier: Apache-2.0
//
// A file of sections in memory, for tests: as if it were mapped, and open to changes.

#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/base/byte_parts.h"
#include "engine/base/section_file.h"

namespace halyard {

class VectorSink : public ByteSink {
  public:
    Status write(std::span<const uint8_t> written) override {
        bytes.insert(bytes.end(), written.begin(), written.end());
        return {};
    }
    std::vector<uint8_t> bytes;
};

class FileBytes {
  public:
    explicit FileBytes(std::span<const uint8_t> bytes)
        : mBuffer(std::make_shared<AlignedBuffer>(
                  AlignedBuffer::allocate(bytes.size(), kSectionPage).value())) {
        std::ranges::copy(bytes, reinterpret_cast<uint8_t*>(mBuffer->data()));
    }

    static FileBytes of(const SectionWriter& writer) {
        VectorSink sink;
        if (!writer.writeTo(sink).ok()) {
            std::abort();
        }
        return FileBytes(sink.bytes);
    }

    std::shared_ptr<const void> owner() const { return mBuffer; }
    std::span<const uint8_t> bytes() const {
        return {reinterpret_cast<const uint8_t*>(mBuffer->data()), mBuffer->size()};
    }
    void flip(size_t at) { mBuffer->data()[at] ^= std::byte{0x20}; }

  private:
    std::shared_ptr<AlignedBuffer> mBuffer;
};

}  // namespace halyard
