// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/model/request.h"
#include "driver/model/validate_request.h"
#include "engine/base/aligned_buffer.h"
#include "engine/base/memory_budget.h"
#include "engine/base/status.h"
#include "engine/plan/program.h"

namespace halyard::driver {

// A valid request's arguments as the engine takes them: straight in the client's mapped pools,
// except for INT32 values that the engine reads. Those decide where memory is accessed (shapes,
// axes, paddings), so they are read in private memory, where the client can't change them
// meanwhile.
//
// The request's pools outlive the binding. One thread at a time.
class RequestBinding {
  public:
    // INVALID_ARGUMENT: an input shorter than its operand, or an output in read-only memory.
    // INTERNAL: a pool can't be mapped. RESOURCE_EXHAUSTED: `memory` has no room for the private
    // memory. UNSUPPORTED: sizes beyond the engine.
    static Result<RequestBinding> create(const Request& request, const ModelBoundary& boundary,
                                         std::shared_ptr<MemoryBudget> memory);
    RequestBinding(RequestBinding&&) = default;
    RequestBinding& operator=(RequestBinding&&) = default;

    std::span<const engine::InputBinding> inputs() const { return mInputs; }
    std::span<const engine::OutputBinding> outputs() const { return mOutputs; }
    // Once the engine has finished: puts what was computed in private memory where the client
    // expects it.
    void publish() const;

  private:
    explicit RequestBinding(std::shared_ptr<MemoryBudget> memory) : mMemory(std::move(memory)) {}

    struct PrivateOutput {
        std::span<uint8_t> client;
        AlignedBuffer buffer;
    };

    Result<AlignedBuffer> allocatePrivate(size_t size, const std::string& what) const;
    Status bindInputs(const Request& request, const std::vector<Operand>& operands);
    Status bindOutputs(const Request& request, const std::vector<Operand>& operands);

    std::shared_ptr<MemoryBudget> mMemory;
    std::vector<engine::InputBinding> mInputs;
    std::vector<engine::OutputBinding> mOutputs;
    std::vector<AlignedBuffer> mPrivateInputs;
    std::vector<PrivateOutput> mPrivateOutputs;
};

}  // namespace halyard::driver
