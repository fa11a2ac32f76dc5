// SPDX-License-Identifier: Apache-2.0
//
// PreparedModel: a model ready to execute. Executions of one model may run at the same time.

#pragma once

#include <memory>
#include <string>

#include "driver/clients/client.h"
#include "driver/execute/execution_result.h"
#include "driver/execute/managed_buffer.h"
#include "driver/model/call_options.h"
#include "driver/model/model.h"
#include "driver/model/pools.h"
#include "driver/model/request.h"
#include "driver/model/validate_request.h"
#include "engine/base/byte_parts.h"
#include "engine/base/section_file.h"
#include "engine/base/status.h"
#include "engine/plan/program.h"

namespace halyard::driver {

struct DeviceState;
struct PreparedModelState;

// Thread-safe. Made by Device; `shared_from_this` keeps it alive while executions are queued.
class PreparedModel final : public BindableModel,
                            public std::enable_shared_from_this<PreparedModel> {
  public:
    using Holdings = Client::Holdings;

    // `client`: owner of the model and of its executions, whichever process calls; they end with
    // it. `boundary`: the main subgraph's inputs and outputs, in the order of the program's.
    // `pools`: of the model, in use; the program may read constants there. `priority`: of its
    // executions, all of which share the slots of the device's scheduler.
    PreparedModel(std::shared_ptr<DeviceState> device, std::shared_ptr<Client> client,
                  Holdings holdings, ModelBoundary boundary, PoolUses pools,
                  std::shared_ptr<const engine::Program> program, Priority priority);
    ~PreparedModel() override;

    // On the calling thread, once it has a slot; an invalid request does not wait. `version`
    // decides which requests are valid (unspecified output dimensions from 1.2, tokens from 1.3).
    // RESOURCE_EXHAUSTED: the client has too many such calls in progress. UNAVAILABLE: it has died.
    // Replaces what `result` holds. A request of the same shapes as the last ones, with the same
    // `result`, allocates nothing.
    void execute(const Request& request, HalVersion version, const ExecuteOptions& options,
                 ExecutionResult& result) const;
    // The same with a new result.
    ExecutionResult execute(const Request& request, HalVersion version,
                            const ExecuteOptions& options) const;

    // On the scheduler's threads, by the callback contract of device.h.
    Status executeAsync(Request request, HalVersion version, const ExecuteOptions& options,
                        ExecuteCallback callback) const;

    // Waits for the fences of the options, which must be there and not null, executes, and returns
    // once that is over: so the call counts among its client's for as long. A request as
    // validateFenced() wants it, and outputs that do not fit are INTERNAL: no shapes are told.
    ExecutionResult executeFenced(const Request& request, HalVersion version,
                                  const ExecuteOptions& options) const;

    // Whether a fenced execution would be valid: a request as ever, whose outputs have fully
    // specified dimensions. INVALID_ARGUMENT otherwise.
    Status validateFenced(const Request& request, HalVersion version) const;

    // Writes what Device::load() reads, from where it lies. What the sink says; INTERNAL if a pool
    // of the model's is no longer intact.
    Status save(ByteSink& sink) const { return write(saved(engine::SavedBlobs::NONE), sink); }
    // The same in two steps, with what backends keep beside it or without. What is saved lies in
    // part in the model, which outlives it.
    SectionWriter saved(engine::SavedBlobs blobs) const;
    Status write(const SectionWriter& saved, ByteSink& sink) const;

    uint64_t number() const override;
    const ModelBoundary& boundary() const override;
    const engine::Program& program() const;
    Priority priority() const;
    const std::shared_ptr<Client>& client() const override;

    // Memory and placement as text lines of TAB-separated fields:
    //   constant_bytes <n>
    //   arena_bytes    <n>            of the largest execution so far
    //   device_bytes <constants> <workspace> <tables>   on devices, unless there are none; of the
    //                                 largest executions so far, but for the constants
    //   partitions <n>
    //   bytes_between_partitions <n>  of the tensors that one writes and another reads
    //   copy <tensor> <from> <to> <bytes>   between the host's memory and a device's; 0: not known
    //   node <operations> <label> <kind> <backend> <partition> <kernel> [<backend>: <reason>]...
    //   lost <operations> <label> <form>: <reason>[; <form>: <reason>]...
    //                                 forms that lost the choice of the node before, and why
    //   vanished <operation> <what became of it>
    // Operations are the source ones, ascending, separated by commas.
    std::string report() const;

  private:
    std::unique_ptr<PreparedModelState> mState;
};

}  // namespace halyard::driver
