// SPDX-License-Identifier: Apache-2.0
//
// ConstantCopies: private copies of constants, made where a graph can't use the bytes as they lie
// in a client's memory: they are not aligned, or they are control inputs. One question about a
// model may make a graph of each of its operations; each constant is copied once for all of them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/graph/constant_data.h"

namespace halyard::engine {

// Holds the copies and the owners of what was copied until its own end. One thread.
class ConstantCopies {
  public:
    // The copies are reserved from `memory` (null: not limited), and the checkpoint is asked while
    // bytes are copied.
    explicit ConstantCopies(std::shared_ptr<Budget> memory = nullptr,
                            const Checkpoint& checkpoint = {})
        : mMemory(std::move(memory)), mCheckpoint(checkpoint) {}

    // The same constant, its bytes aligned to any element, that no client can write to: what was
    // read once stays true. Of bytes without an owner, whose address may come again with others, a
    // new copy each time. RESOURCE_EXHAUSTED, or what the checkpoint says.
    Result<ConstantData> of(const ConstantData& constant);

    const std::shared_ptr<Budget>& memory() const { return mMemory; }

  private:
    struct Entry {
        std::shared_ptr<const void> source;  // so that its address stays taken
        ConstantData copy;
    };

    std::shared_ptr<Budget> mMemory;
    Checkpoint mCheckpoint;
    std::map<std::pair<const uint8_t*, size_t>, Entry> mEntries;
};

}  // namespace halyard::engine
