// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "driver/model/model.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::driver {

// A valid model's constants where they lie: in operandValues or in a mapped pool.
class Constants {
  public:
    // Maps every pool.
    explicit Constants(const Model& model);

    // OK if every pool could be mapped; otherwise INTERNAL, naming the first that could not.
    Status mapped() const;

    // The bytes of a CONSTANT_COPY or CONSTANT_REFERENCE operand, kept alive by their owner. A
    // client may change those in a pool at any time. INTERNAL if their pool could not be mapped.
    Result<engine::ConstantData> find(const Operand& operand) const;

  private:
    struct Pool {
        SharedMemory memory;
        Result<std::span<uint8_t>> bytes;
    };
    std::shared_ptr<const std::vector<uint8_t>> mValues;
    std::vector<Pool> mPools;
};

}  // namespace halyard::driver
