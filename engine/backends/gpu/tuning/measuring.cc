// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/tuning/measuring.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace halyard::engine::gpu {
namespace {

using std::chrono::nanoseconds;

// Runs of each that count: the least of them is taken, unless they take too long together.
constexpr int kRounds = 7;
constexpr std::chrono::milliseconds kEnoughOfEach{100};
// A difference of less than this part is chance.
constexpr int kTellsApart = 32;
// A candidate that takes so many times the least so far won't catch up.
constexpr int kFarBehind = 2;
// Bytes that are cleared at once; and the size of a block that may be empty.
constexpr size_t kClearedAtOnce = size_t{1} << 20;
constexpr size_t kSmallest = 64;

}  // namespace

bool RunTime::isLessThan(const RunTime& other) const {
    const auto [mine, others] = comparable(other);
    return mine + mine / kTellsApart < others;
}

bool RunTime::isFarBehind(const RunTime& other) const {
    const auto [mine, others] = comparable(other);
    return mine > others * kFarBehind;
}

std::pair<nanoseconds, nanoseconds> RunTime::comparable(const RunTime& other) const {
    const bool told = onDevice.count() > 0 && other.onDevice.count() > 0;
    return told ? std::pair(onDevice, other.onDevice) : std::pair(wall, other.wall);
}

std::string RunTime::toString() const {
    return std::to_string(onDevice.count()) + " ns on the device, " + std::to_string(wall.count()) +
           " ns in all";
}

// Data that others left in memory could lead a kernel anywhere; zeros are valid sizes and indices.
Result<ChargedBuffer> Measuring::zeros(size_t bytes) const {
    HALYARD_ASSIGN_OR_RETURN(ChargedBuffer buffer,
                             ChargedBuffer::allocate(mAround.memory, std::max(bytes, kSmallest),
                                                     mAround.deviceMemory));
    const std::vector<std::byte> cleared(std::min(buffer.size(), kClearedAtOnce));
    for (size_t at = 0; at < buffer.size(); at += cleared.size()) {
        const size_t count = std::min(cleared.size(), buffer.size() - at);
        HALYARD_RETURN_IF_ERROR(mAround.memory.copyIn({.buffer = buffer.get(), .offset = at},
                                                      std::span(cleared).first(count),
                                                      mAround.checkpoint));
    }
    return buffer;
}

// In one block, as the program's own are.
Status Measuring::placeTensors(Candidate& candidate) {
    size_t bytes = candidate.plan.scratchBytes[mStep];
    for (const Launch& launch : candidate.plan.launches) {
        for (const auto& argument : launch.arguments) {
            const auto* const operand = std::get_if<Operand>(&argument);
            if (operand == nullptr || operand->place != Operand::Place::TENSOR ||
                candidate.tensors.contains(operand->local) ||
                mAround.constant(operand->local).has_value()) {
                continue;
            }
            if (operand->local >= mEnvironment.types.size()) {
                return internalError("a kernel was handed an input that was left out");
            }
            HALYARD_ASSIGN_OR_RETURN(const size_t size,
                                     mEnvironment.types[operand->local].byteSize());
            bytes = (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
            candidate.tensors[operand->local] = bytes;
            bytes += size;
        }
    }
    bytes = (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    candidate.findings = bytes;
    bytes += candidate.plan.checks.size() * sizeof(Finding);
    // Those before it are bound to where it was, and look at that anew.
    if (mWorkspace.size() < bytes) {
        HALYARD_ASSIGN_OR_RETURN(mWorkspace, zeros(bytes));
    }
    return {};
}

Result<Measuring::Candidate> Measuring::makeCandidate(const Variant& variant) {
    Candidate candidate;
    ChargedBuffer counters;
    if (mEnvironment.matrixFeatures.copiesAsync()) {
        HALYARD_ASSIGN_OR_RETURN(
                counters, ChargedBuffer::allocate(mAround.memory, kCounters * sizeof(uint32_t),
                                                  mAround.deviceMemory));
    }
    candidate.kernels = std::make_unique<BoundKernels>(mAround.device, mAround.deviceMemory,
                                                       std::move(counters));
    HALYARD_RETURN_IF_ERROR(candidate.kernels->clearCounters(mAround.memory, mAround.checkpoint));
    PartitionPlan& plan = candidate.plan;
    // Tables and scratch memory that the step has by now go on being where they are.
    plan.tables = mEnvironment.plan.tables;
    plan.scratchBytes = mEnvironment.plan.scratchBytes;
    // A candidate that is measured and not taken is not kept with the program.
    const Blobs none;
    const StepPlan::Environment apart = {.facts = mEnvironment.facts,
                                         .programs = mEnvironment.programs,
                                         .blobs = none,
                                         .layout = mEnvironment.layout,
                                         .types = mEnvironment.types,
                                         .present = mEnvironment.present,
                                         .matrixFeatures = mEnvironment.matrixFeatures,
                                         .mayRound = mEnvironment.mayRound,
                                         .plan = plan,
                                         .chooser = nullptr};
    StepPlan step(apart, mStep);
    HALYARD_RETURN_IF_ERROR(variant.plan(step));
    HALYARD_RETURN_IF_ERROR(step.buildPrograms());
    HALYARD_RETURN_IF_ERROR(placeTensors(candidate));
    HALYARD_ASSIGN_OR_RETURN(
            candidate.tables,
            ChargedBuffer::allocate(mAround.memory, std::max(plan.tables.size(), kSmallest),
                                    mAround.deviceMemory));
    HALYARD_RETURN_IF_ERROR(mAround.memory.copyIn({.buffer = candidate.tables.get(), .offset = 0},
                                                  plan.tables, mAround.checkpoint));
    return candidate;
}

Placed Measuring::placeOf(const Operand& operand, const Candidate& candidate) const {
    const auto in = [&](const ChargedBuffer& buffer, size_t begin) {
        return Placed::at(buffer.get(), begin + static_cast<uint64_t>(operand.offset));
    };
    switch (operand.place) {
        case Operand::Place::TABLE:
            return in(candidate.tables, 0);
        case Operand::Place::SCRATCH:
            return in(mWorkspace, 0);
        case Operand::Place::FINDING:
            return in(mWorkspace, candidate.findings);
        case Operand::Place::COUNTERS:
            return Placed::at(candidate.kernels->counters(), 0);
        case Operand::Place::TENSOR:
            break;
    }
    if (std::optional<Placed> constant = mAround.constant(operand.local)) {
        constant->offset += static_cast<uint64_t>(operand.offset);
        return *constant;
    }
    return in(mWorkspace, candidate.tensors.at(operand.local));
}

Result<RunTime> Measuring::run(Candidate& candidate, GpuQueue& queue) const {
    const std::vector<Launch>& launches = candidate.plan.launches;
    BoundKernels& kernels = *candidate.kernels;
    HALYARD_RETURN_IF_ERROR(kernels.bind(candidate.index, launches));
    const std::array bases = {Placed::at(mWorkspace.get(), 0)};
    HALYARD_RETURN_IF_ERROR(kernels.place(bases, [&](const Operand& operand, size_t /*step*/) {
        return placeOf(operand, candidate);
    }));
    HALYARD_ASSIGN_OR_RETURN(const std::optional<nanoseconds> inCommandBuffer,
                             kernels.timeInCommandBuffer(queue, mAround.checkpoint));
    if (inCommandBuffer.has_value()) {
        return RunTime{.onDevice = *inCommandBuffer, .wall = *inCommandBuffer};
    }
    const auto start = std::chrono::steady_clock::now();
    Status enqueued;
    for (size_t i = 0; i < launches.size() && enqueued.ok(); ++i) {
        enqueued = kernels.enqueueTraced(i, queue, mAround.checkpoint);
    }
    // Also what was enqueued before a failure works on the memory.
    const Result<nanoseconds> onDevice = queue.finishTraced();
    HALYARD_RETURN_IF_ERROR(enqueued);
    HALYARD_RETURN_IF_ERROR(onDevice.status());
    return RunTime{.onDevice = *onDevice, .wall = std::chrono::steady_clock::now() - start};
}

void Measuring::runAll(std::vector<Candidate>& candidates, GpuQueue& queue,
                       std::vector<Result<RunTime>>& results, bool counts) const {
    std::erase_if(candidates, [&](Candidate& candidate) {
        if (candidate.isBehind || mAround.checkpoint.expired()) {
            return false;
        }
        const Result<RunTime> time = run(candidate, queue);
        Result<RunTime>& result = results[candidate.index];
        if (!time.ok()) {
            result = time.status();
        } else if (counts) {
            result = result->wall.count() == 0
                             ? *time
                             : RunTime{.onDevice = std::min(result->onDevice, time->onDevice),
                                       .wall = std::min(result->wall, time->wall)};
        }
        return !time.ok();
    });
}

std::vector<Result<RunTime>> Measuring::time(std::span<const Variant> variants) {
    std::vector<Result<RunTime>> results;
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < variants.size(); ++i) {
        // A program may have to be built.
        const Status status = mAround.checkpoint.check("while kernels were built");
        Result<Candidate> candidate = status.ok() ? makeCandidate(variants[i]) : status;
        results.push_back(candidate.ok() ? Result<RunTime>(RunTime()) : candidate.status());
        if (candidate.ok()) {
            candidate->index = i;
            candidates.push_back(*std::move(candidate));
        }
    }
    const Status measured = mAround.memory.withQueue([&](GpuQueue& queue) -> Status {
        runInTurn(candidates, queue, results);
        return {};
    });
    if (!measured.ok()) {
        results.assign(variants.size(), measured);
    }
    return results;
}

void Measuring::runInTurn(std::vector<Candidate>& candidates, GpuQueue& queue,
                          std::vector<Result<RunTime>>& results) const {
    // The first run may compile, and wakes the device.
    runAll(candidates, queue, results, false);
    const auto start = std::chrono::steady_clock::now();
    const auto enough = kEnoughOfEach * candidates.size();
    for (int round = 0; round < kRounds && std::chrono::steady_clock::now() - start < enough;
         ++round) {
        runAll(candidates, queue, results, true);
        std::optional<RunTime> least;
        for (const Candidate& candidate : candidates) {
            const RunTime& time = *results[candidate.index];
            least = !least.has_value() || time.isLessThan(*least) ? time : *least;
        }
        for (Candidate& candidate : candidates) {
            candidate.isBehind = results[candidate.index]->isFarBehind(*least);
        }
    }
}

}  // namespace halyard::engine::gpu
