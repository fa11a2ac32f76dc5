// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>
#include <vector>

#include "engine/base/thread_pool.h"
#include "engine/plan/program.h"
#include "engine/plan/program_state.h"
#include "engine/plan/schedule_run.h"

namespace halyard::engine {

struct Execution::State {
    explicit State(std::shared_ptr<const Program> theProgram)
        : program(std::move(theProgram)), run(program->mState->schedule) {
        context.memory = program->mState->memory;
        context.deviceMemory = program->mState->deviceMemory;
        context.constants = program->mState->constants.bytes();
    }

    const std::shared_ptr<const Program> program;
    RunContext context;
    std::vector<RunOutput> outputs;
    ScheduleRun run;
};

Result<Execution> Execution::create(std::shared_ptr<const Program> program,
                                    const Checkpoint& checkpoint) {
    auto state = std::make_unique<State>(std::move(program));
    HALYARD_RETURN_IF_ERROR(state->run.makeStates(state->program->mState->resources(checkpoint),
                                                  state->context.queues));
    return Execution(std::move(state));
}

Execution::Execution(std::unique_ptr<State> state) : mState(std::move(state)) {}

Execution::~Execution() = default;
Execution::Execution(Execution&& other) noexcept = default;
Execution& Execution::operator=(Execution&& other) noexcept = default;

Status Execution::run(std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs,
                      const RunOptions& options, ExecutionReport* report) {
    ExecutionReport unread;
    ExecutionReport& result = report != nullptr ? *report : unread;
    result.outputs.clear();
    result.deviceTime = {};
    result.copies = 0;
    result.copiedBytes = 0;
    result.bindingBytes = 0;
    result.arenaBytes = 0;
    result.deviceArenaBytes = 0;
    result.deviceTableBytes = 0;
    const size_t expected = mState->program->graph().outputs().size();
    if (outputs.size() != expected) {
        return invalidArgument(std::to_string(outputs.size()) +
                               " outputs are bound to a graph with " + std::to_string(expected));
    }
    result.outputs.resize(outputs.size());
    mState->outputs.clear();
    for (const OutputBinding& output : outputs) {
        mState->outputs.push_back({.bytes = output.bytes,
                                   .shape = output.shape,
                                   .present = output.present,
                                   .device = output.device});
    }
    HALYARD_RETURN_IF_ERROR(checkOutputs(mState->outputs));
    // A run that finds the pool taken uses its own thread alone.
    ThreadLease threads = ThreadLease::whenAsked(mState->program->mState->threads.get());
    RunContext& context = mState->context;
    context.threads = &threads;
    context.checkpoint = Checkpoint(options.deadline, options.cancelled).unless(options.stop);
    context.loopTimeout = options.loopTimeout;
    context.trace = options.trace;
    context.outputMemory = options.outputMemory;
    context.deviceTime = {};
    context.copies = 0;
    context.copiedBytes = 0;
    context.bindingBytes = 0;
    Status status = mState->run.run(inputs, mState->outputs, true, context, result.outputs);
    // Nothing is at work when a run ends, however it does.
    const Status finished = context.queues.finish();
    status = status.ok() ? finished : status;
    context.threads = nullptr;
    context.outputMemory = nullptr;
    result.deviceTime = context.deviceTime;
    result.copies = context.copies;
    result.copiedBytes = context.copiedBytes;
    result.bindingBytes = context.bindingBytes;
    result.arenaBytes = mState->run.arenaBytes();
    result.deviceArenaBytes = mState->run.deviceArenaBytes();
    result.deviceTableBytes = mState->run.deviceTableBytes();
    return status;
}

}  // namespace halyard::engine
