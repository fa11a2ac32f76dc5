// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of its pools a model or a request uses, and how they are bound while it does.

#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "driver/model/memory.h"
#include "driver/model/model.h"
#include "driver/model/request.h"
#include "engine/base/status.h"

namespace halyard::driver {

// One for each pool of a model, in their order; of nothing where none of it is used.
using PoolUses = std::vector<MemoryUse>;

// Maps what a valid model's constants use of its pools, of which the model may let go then.
// INTERNAL names the first pool that can't be mapped; RESOURCE_EXHAUSTED where the account has no
// room for it. The others are in use all the same.
Status usePools(const Model& model, const Account* account, PoolUses& uses);

class ManagedBuffer;

// A pool of a request while the request is served: memory of this process, or a buffer that
// the driver manages; null until it is looked up.
using BoundPool = std::variant<MemoryUse, std::shared_ptr<ManagedBuffer>>;

// Reused from request to request.
struct RequestPools {
    std::vector<BoundPool> bound;  // one for each pool, in their order
    std::vector<ByteRange> ranges;

    // Ends the uses; the room stays.
    void release() { bound.clear(); }
};

// The same for the arguments of a valid request; buffers are left to be looked up. Nothing is
// allocated where `pools` has served as large a request before, and all of its memory is in use
// already. After a failure nothing is in use.
Status usePools(const Request& request, const Account* account, RequestPools& pools);

}  // namespace halyard::driver
