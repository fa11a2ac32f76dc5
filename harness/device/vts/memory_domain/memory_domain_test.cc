// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/memory_domain/memory_domain_test.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "driver/model/error_status.h"
#include "hal/memory/shared_memory.h"
#include "harness/device/vts/fixture/context.h"
#include "harness/device/vts/memory_domain/blob_memory.h"
#include "harness/device/vts/memory_domain/execution.h"

namespace halyard::vts {
namespace {

using driver::ErrorStatus;
using driver::HalVersion;
using driver::Request;
using driver::RequestArgument;

// ---- Hardware buffers ---------------------------------------------------------------------------

Status copyPools(Request& request) {
    for (driver::RequestPool& pool : request.pools) {
        const auto& memory = std::get<driver::SharedMemory>(pool);
        HALYARD_ASSIGN_OR_RETURN(driver::SharedMemory blob, createBlobMemory(memory->size()));
        HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> from, memory->map());
        HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> to, blob->map());
        std::ranges::copy(from, to.begin());
        pool = std::move(blob);
    }
    return {};
}

// ---- Buffers of the device's --------------------------------------------------------------------

// The buffers of one request, and what each stands for.
class DeviceBuffers {
  public:
    DeviceBuffers(Context& context, std::shared_ptr<driver::IPreparedModel> model)
        : mContext(context), mModel(std::move(model)) {}

    // Moves what can be moved into buffers, and the inputs' values with it.
    Verdict move(Request& request, const driver::Subgraph& graph) {
        for (size_t i = 0; i < request.inputs.size(); ++i) {
            const driver::Operand& operand = graph.operands[graph.inputIndexes[i]];
            Verdict verdict = move(request, request.inputs[i], operand,
                                   {.modelIndex = 0, .ioIndex = static_cast<uint32_t>(i)}, true);
            if (!verdict.hasPassed()) {
                return verdict;
            }
        }
        for (size_t i = 0; i < request.outputs.size(); ++i) {
            const driver::Operand& operand = graph.operands[graph.outputIndexes[i]];
            Verdict verdict = move(request, request.outputs[i], operand,
                                   {.modelIndex = 0, .ioIndex = static_cast<uint32_t>(i)}, false);
            if (!verdict.hasPassed()) {
                return verdict;
            }
        }
        return passed();
    }
    bool empty() const { return mMoved.empty(); }
    // Copies the outputs to where the case has them.
    Verdict fetchOutputs() const {
        for (const Moved& moved : mMoved) {
            if (!moved.hasOutput) {
                continue;
            }
            const Result<hal::ExportedMemory> memory =
                    hal::createSharedMemory(moved.original.location.length);
            if (!memory.ok()) {
                return failed(memory.status().toString());
            }
            Verdict copied = expectStatus(moved.buffer->copyTo(memory->memory), mContext.version(),
                                          {ErrorStatus::NONE}, "copyTo of an output");
            if (!copied.hasPassed()) {
                return copied;
            }
            const Result<std::span<uint8_t>> from = memory->memory->map();
            const Result<std::span<uint8_t>> to = moved.pool->map();
            if (!from.ok() || !to.ok()) {
                return failed("the outputs can't be mapped");
            }
            std::ranges::copy(
                    from->first(moved.original.location.length),
                    to->begin() + static_cast<std::ptrdiff_t>(moved.original.location.offset));
        }
        return passed();
    }

  private:
    struct Moved {
        std::shared_ptr<driver::IBuffer> buffer;
        RequestArgument original;
        driver::SharedMemory pool;
        bool hasOutput = false;  // there is something to be fetched
    };

    Verdict move(Request& request, RequestArgument& argument, const driver::Operand& operand,
                 const driver::BufferRole& role, bool isInput) {
        if (argument.hasNoValue) {
            return passed();
        }
        // As large as the model says, which a device may find to be too little.
        driver::BufferDescription description;
        description.models = {mModel};
        (isInput ? description.inputs : description.outputs) = {role};
        const Result<std::shared_ptr<driver::IBuffer>> buffer =
                mContext.device().allocate(description);
        if (!buffer.ok()) {
            return expectStatus(buffer.status(), mContext.version(), {ErrorStatus::GENERAL_FAILURE},
                                "allocate for a valid role");
        }
        if ((*buffer)->token() == 0) {
            return failed("allocate gives a buffer with token 0");
        }
        // An output whose size the model does not say, and for which there is a single byte, is
        // one of no elements.
        const bool isEmpty = !isInput && argument.location.length <= 1 &&
                             std::ranges::find(operand.dimensions, 0U) != operand.dimensions.end();
        Moved moved = {
                .buffer = *buffer,
                .original = argument,
                .pool = std::get<driver::SharedMemory>(request.pools[argument.location.poolIndex]),
                .hasOutput = !isInput && !isEmpty};
        if (isInput) {
            if (Verdict filled = fill(moved); !filled.hasPassed()) {
                return filled;
            }
        }
        argument.location = {.poolIndex = static_cast<uint32_t>(request.pools.size())};
        request.pools.emplace_back(moved.buffer->token());
        mMoved.push_back(std::move(moved));
        return passed();
    }

    Verdict fill(const Moved& moved) const {
        const driver::DataLocation& place = moved.original.location;
        const Result<hal::ExportedMemory> memory = hal::createSharedMemory(place.length);
        const Result<std::span<uint8_t>> from = moved.pool->map();
        if (!memory.ok() || !from.ok()) {
            return failed("there is no memory for an input");
        }
        const Result<std::span<uint8_t>> to = memory->memory->map();
        if (!to.ok()) {
            return failed(to.status().toString());
        }
        std::ranges::copy(from->subspan(place.offset, place.length), to->begin());
        return expectStatus(moved.buffer->copyFrom(memory->memory, {}), mContext.version(),
                            {ErrorStatus::NONE}, "copyFrom of an input");
    }

    Context& mContext;
    const std::shared_ptr<driver::IPreparedModel> mModel;
    std::vector<Moved> mMoved;
};

// ---- The check ----------------------------------------------------------------------------------

enum class Kind : uint8_t { BLOB_AHWB, DEVICE };

Verdict run(Context& context, Kind kind, const Executor& executor) {
    const Preparation& prepared = context.prepared(executor.methods);
    if (prepared.model == nullptr) {
        return prepared.verdict;
    }
    const Result<Request> request = context.generatedRequest();
    if (!request.ok()) {
        return failed(request.status().toString());
    }
    Request moved = *request;
    DeviceBuffers buffers(context, prepared.model);
    if (kind == Kind::BLOB_AHWB) {
        if (const Status copied = copyPools(moved); !copied.ok()) {
            return failed(copied.toString());
        }
    } else {
        if (Verdict verdict = buffers.move(moved, context.model()->main); !verdict.hasPassed()) {
            return verdict;
        }
        if (buffers.empty()) {
            return skipped("allocate gives no buffer for any input or output");
        }
    }
    const driver::ExecutionResult result = executor.execute(*prepared.model, moved, {});
    if (executor.isFenced && context.hasOpenOutput()) {
        return expectStatus(result.status, context.version(), {ErrorStatus::INVALID_ARGUMENT},
                            "executeFenced with an output of dimensions that are not known");
    }
    Verdict verdict =
            expectStatus(result.status, context.version(), {ErrorStatus::NONE}, "the execution");
    if (!verdict.hasPassed()) {
        return verdict;
    }
    if (kind == Kind::BLOB_AHWB) {
        return context.handOver(moved, result);
    }
    verdict = buffers.fetchOutputs();
    return verdict.hasPassed() ? context.handOver(*request, result) : verdict;
}

}  // namespace

Checks memoryDomainTest() {
    Checks checks;
    for (const Kind kind : {Kind::BLOB_AHWB, Kind::DEVICE}) {
        const std::string name = kind == Kind::DEVICE ? "DEVICE_" : "BLOB_AHWB_";
        for (const DomainExecutor& each : domainExecutors()) {
            checks.push_back({.suite = "MemoryDomainTest",
                              .name = "Test",
                              .variant = name + std::string(each.executor.name),
                              .scope = Scope::EACH_CASE,
                              .since = each.since,
                              .until = each.executor.until,
                              .run = [kind, &executor = each.executor](Context& context) {
                                  return run(context, kind, executor);
                              }});
        }
    }
    return checks;
}

}  // namespace halyard::vts
