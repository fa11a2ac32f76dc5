// SPDX-License-Identifier: Apache-2.0

#include "driver/model/pools.h"

#include <cstddef>
#include <string>

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

Status use(const Memory& pool, const ByteRange& range, const Account* account, size_t index) {
    const Status used = pool.use(range, account);
    if (used.ok()) {
        return used;
    }
    const std::string what = "pool " + std::to_string(index) + " can't be mapped";
    return used.code() == StatusCode::RESOURCE_EXHAUSTED
                   ? used.withContext(what)
                   : internalError(what + ": " + std::string(used.message()));
}

}  // namespace

Status usePools(const Model& model, const Account* account) {
    std::vector<ByteRange> ranges(model.pools.size());
    include(model.main, ranges);
    for (const Subgraph& subgraph : model.referenced) {
        include(subgraph, ranges);
    }
    Status first;
    for (size_t i = 0; i < ranges.size(); ++i) {
        const Status used = use(*model.pools[i], ranges[i], account, i);
        first = first.ok() ? used : first;
    }
    return first;
}

Status usePools(const Request& request, const Account* account, std::vector<ByteRange>& ranges) {
    ranges.assign(request.pools.size(), {});
    include(request.inputs, ranges);
    include(request.outputs, ranges);
    for (size_t i = 0; i < ranges.size(); ++i) {
        if (const auto* pool = std::get_if<SharedMemory>(&request.pools[i])) {
            HALYARD_RETURN_IF_ERROR(use(**pool, ranges[i], account, i));
        }
    }
    return {};
}

}  // namespace halyard::driver
