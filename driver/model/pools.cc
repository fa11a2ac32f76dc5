// SPDX-License-Identifier: Apache-2.0

#include "driver/model/pools.h"

#include <cstddef>
#include <string>
#include <utility>

namespace halyard::driver {
namespace {

void include(const Subgraph& subgraph, std::vector<ByteRange>& ranges) {
    for (const Operand& operand : subgraph.operands) {
        if (operand.lifetime == OperandLifeTime::CONSTANT_REFERENCE) {
            const DataLocation& location = operand.location;
            ranges[location.poolIndex].include(location.offset, location.length);
        }
    }
}

void include(const std::vector<RequestArgument>& arguments, std::vector<ByteRange>& ranges) {
    for (const RequestArgument& argument : arguments) {
        if (!argument.hasNoValue) {
            ranges[argument.location.poolIndex].include(argument.location.offset,
                                                        argument.location.length);
        }
    }
}

Result<MemoryUse> use(const Memory& pool, const ByteRange& range, const Account* account,
                      size_t index) {
    Result<MemoryUse> used = pool.use(range, account);
    if (used.ok()) {
        return used;
    }
    const std::string what = "pool " + std::to_string(index) + " can't be mapped";
    return used.status().code() == StatusCode::RESOURCE_EXHAUSTED
                   ? used.status().withContext(what)
                   : internalError(what + ": " + std::string(used.status().message()));
}

}  // namespace

Status usePools(const Model& model, const Account* account, PoolUses& uses) {
    std::vector<ByteRange> ranges(model.pools.size());
    include(model.main, ranges);
    for (const Subgraph& subgraph : model.referenced) {
        include(subgraph, ranges);
    }
    Status first;
    uses.assign(ranges.size(), {});
    for (size_t i = 0; i < ranges.size(); ++i) {
        Result<MemoryUse> used = use(*model.pools[i], ranges[i], account, i);
        if (used.ok()) {
            uses[i] = std::move(*used);
        } else if (first.ok()) {
            first = used.status();
        }
    }
    return first;
}

Status usePools(const Request& request, const Account* account, RequestPools& pools) {
    pools.release();
    pools.ranges.assign(request.pools.size(), {});
    include(request.inputs, pools.ranges);
    include(request.outputs, pools.ranges);
    for (size_t i = 0; i < request.pools.size(); ++i) {
        if (std::holds_alternative<uint32_t>(request.pools[i])) {
            pools.bound.emplace_back(std::shared_ptr<ManagedBuffer>());
            continue;
        }
        Result<MemoryUse> used =
                use(*std::get<SharedMemory>(request.pools[i]), pools.ranges[i], account, i);
        if (!used.ok()) {
            pools.release();
            return used.status();
        }
        pools.bound.emplace_back(std::move(*used));
    }
    return {};
}

}  // namespace halyard::driver
