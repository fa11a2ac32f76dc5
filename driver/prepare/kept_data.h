// SPDX-License-Identifier: Apache-2.0
//
// The data file of a kept model: control data, descriptions and what backends keep beside them, and
// then constants, which are computed with. Its digest is SHA-256 over the digest of control data
// and over 64-bit checksums of the constants' parts.
//
// Reading it is all that a model waits for that is found in its cache, so several threads copy it,
// and each sums a part that it has just copied while that is still near the processor.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "driver/prepare/sha256.h"
#include "engine/base/aligned_buffer.h"
#include "engine/base/budget.h"
#include "engine/base/byte_parts.h"
#include "engine/base/checkpoint.h"
#include "engine/base/checksum.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Counts what goes by to another sink, and makes the digest of it.
class KeptDataSink final : public ByteSink {
  public:
    // `control`: so many bytes come before the constants. The other sink outlives this one.
    KeptDataSink(ByteSink& sink, uint64_t control) : mSink(sink), mLeft(control) {}

    // The other sink's status.
    Status write(std::span<const uint8_t> bytes) override;
    uint64_t count() const { return mCount; }
    // Of all that was written. The last call.
    Sha256::Digest finish();

  private:
    void endPart();

    ByteSink& mSink;
    uint64_t mLeft;  // of control data
    uint64_t mCount = 0;
    Sha256 mControl;
    Checksum mPart;
    size_t mInPart = 0;
    std::vector<uint64_t> mSums;
};

// Memory for a copy of a data file of so many bytes, or somewhat more, from the budget; null: not
// limited. RESOURCE_EXHAUSTED where there is none.
Result<AlignedBuffer> allocateKeptData(size_t size, const std::shared_ptr<Budget>& memory);

// Copies a file of exactly so many bytes, of which `control` (no more than there are) come
// before the constants; what it says is the digest of the copy. Fails as readWhole() does. On this
// thread and others of its own, which have ended when it returns: a file that is slow keeps no
// thread waiting that others compute with.
Result<Sha256::Digest> readKeptData(int fd, std::span<uint8_t> copy, size_t control,
                                    const Checkpoint& checkpoint);

}  // namespace halyard::driver
