// SPDX-License-Identifier: Apache-2.0

#include "hal/client/sendable.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "hal/memory/shared_memory.h"

namespace halyard::hal {
namespace {

// A binder transaction holds less than 1 MiB, the model's structure included.
constexpr size_t kMostInlineConstants = 65536;

Status checkPool(const driver::SharedMemory& pool, size_t index) {
    return pool != nullptr && pool->handle() != nullptr
                   ? Status()
                   : invalidArgument("pool " + std::to_string(index) +
                                     " can't be sent to another process");
}

}  // namespace

Status checkSendable(const driver::SharedMemory& memory) {
    return memory != nullptr && memory->handle() != nullptr
                   ? Status()
                   : invalidArgument("the memory can't be sent to another process");
}

Status checkSendable(const driver::Model& model) {
    for (size_t i = 0; i < model.pools.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(checkPool(model.pools[i], i));
    }
    return {};
}

Status checkSendable(const driver::Request& request) {
    for (size_t i = 0; i < request.pools.size(); ++i) {
        if (const auto* pool = std::get_if<driver::SharedMemory>(&request.pools[i])) {
            HALYARD_RETURN_IF_ERROR(checkPool(*pool, i));
        }
    }
    return {};
}

bool hasLargeConstants(const driver::Model& model) {
    return model.operandValues->size() > kMostInlineConstants;
}

Status moveConstantsToPool(driver::Model& model) {
    const std::vector<uint8_t>& values = *model.operandValues;
    HALYARD_ASSIGN_OR_RETURN(const ExportedMemory shared,
                             createSharedMemory(std::max<size_t>(values.size(), 1)));
    HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> mapped, shared.memory->map());
    std::ranges::copy(values, mapped.begin());
    const auto pool = static_cast<uint32_t>(model.pools.size());
    model.pools.push_back(shared.memory);
    const auto move = [pool](driver::Subgraph& subgraph) {
        for (driver::Operand& operand : subgraph.operands) {
            if (operand.lifetime == driver::OperandLifeTime::CONSTANT_COPY) {
                operand.lifetime = driver::OperandLifeTime::CONSTANT_REFERENCE;
                operand.location.poolIndex = pool;
            }
        }
    };
    move(model.main);
    std::ranges::for_each(model.referenced, move);
    model.operandValues = std::make_shared<const std::vector<uint8_t>>();
    return {};
}

}  // namespace halyard::hal
