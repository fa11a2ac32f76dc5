// SPDX-License-Identifier: Apache-2.0
//
// A memory before there is one: which inputs and outputs it will be.

#pragma once

#include <android/NeuralNetworks.h>

#include <cstdint>
#include <memory>
#include <span>

#include "nnapi/answer.h"
#include "nnapi/compilation.h"
#include "nnapi/memory.h"

namespace halyard::nnapi {

// A description call by call. For one thread at a time until it is finished.
class MemoryDescription {
  public:
    Answer addRole(const std::shared_ptr<const Compiled>& compilation, bool isInput, uint32_t index,
                   float frequency);
    Answer setDimensions(std::span<const uint32_t> dimensions);
    Answer finish();
    // OP_FAILED: no device gives any for these roles, and none may be taken elsewhere.
    Answer allocate(std::unique_ptr<ANeuralNetworksMemory>& memory) const;

    // BAD_STATE once it is finished.
    Answer checkOpen() const;

  private:
    Answer merge(std::span<const uint32_t> dimensions);

    bool mIsFinished = false;
    MemoryPurpose mPurpose;
};

}  // namespace halyard::nnapi

struct ANeuralNetworksMemoryDesc final : halyard::nnapi::MemoryDescription {};
