// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/prepared_model.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "driver/execute/prepared_model_state.h"
#include "driver/execute/saved_model.h"
#include "driver/model/pools.h"
#include "engine/base/section_file.h"

namespace halyard::driver {
namespace {

using Clock = std::chrono::steady_clock;

// A report's fields are separated by tabs and its rows by line ends.
std::string field(std::string text) {
    std::ranges::replace_if(
            text, [](char c) { return c == '\t' || c == '\n'; }, ' ');
    return "\t" + text;
}

std::string listOf(const std::vector<uint32_t>& operations) {
    std::string text;
    for (const uint32_t operation : operations) {
        text.append(text.empty() ? "" : ",").append(std::to_string(operation));
    }
    return text;
}

}  // namespace

PreparedModel::PreparedModel(std::shared_ptr<DeviceState> device, std::shared_ptr<Client> client,
                             Holdings holdings, ModelBoundary boundary, PoolUses pools,
                             std::shared_ptr<const engine::Program> program, Priority priority)
    : mState(std::make_unique<PreparedModelState>()) {
    mState->device = std::move(device);
    mState->client = std::move(client);
    mState->holdings = std::move(holdings);
    mState->boundary = std::move(boundary);
    for (MemoryUse& pool : pools) {
        mState->pools.emplace_back(pool.mapping());
        pool = {};
    }
    mState->program = std::move(program);
    mState->priority = priority;
    mState->modelNumber = ++mState->device->models;
    ++mState->device->liveModels;
}

PreparedModel::~PreparedModel() {
    mState->device->idle->drop(*mState->program);
    --mState->device->liveModels;
    const std::shared_ptr<DeviceState> device = mState->device;
    mState = nullptr;
    device->heap.note();
}

void PreparedModel::execute(const Request& request, HalVersion version,
                            const ExecuteOptions& options, ExecutionResult& result) const {
    result.timing = {};
    result.timingFenced = {};
    const Status slot = mState->serveInSlot(request, version, options, Clock::now(), result);
    if (!slot.ok()) {
        result.status = slot;
        result.outputShapes.clear();
    }
}

ExecutionResult PreparedModel::execute(const Request& request, HalVersion version,
                                       const ExecuteOptions& options) const {
    ExecutionResult result;
    execute(request, version, options, result);
    return result;
}

SectionWriter PreparedModel::saved(engine::SavedBlobs blobs) const {
    SectionWriter file;
    file.addDescription("model", toBytes({.boundary = mState->boundary,
                                          .footprint = mState->holdings.memory.count(),
                                          .settings = settingsOf(*mState->device)}));
    mState->program->save(file, blobs);
    return file;
}

Status PreparedModel::write(const SectionWriter& saved, ByteSink& sink) const {
    HALYARD_RETURN_IF_ERROR(saved.writeTo(sink));
    return mState->checkPoolsIntact();
}

uint64_t PreparedModel::number() const {
    return mState->modelNumber;
}

const ModelBoundary& PreparedModel::boundary() const {
    return mState->boundary;
}

const engine::Program& PreparedModel::program() const {
    return *mState->program;
}

Priority PreparedModel::priority() const {
    return mState->priority;
}

const std::shared_ptr<Client>& PreparedModel::client() const {
    return mState->client;
}

std::string PreparedModel::report() const {
    std::string text = "constant_bytes" + field(std::to_string(program().constantBytes())) + "\n";
    text += "arena_bytes" + field(std::to_string(mState->arenaBytes.load())) + "\n";
    const size_t constants = program().deviceConstantBytes();
    const size_t workspace = mState->deviceArenaBytes.load();
    const size_t tables = mState->deviceTableBytes.load();
    if (constants + workspace + tables > 0) {
        text += "device_bytes" + field(std::to_string(constants)) +
                field(std::to_string(workspace)) + field(std::to_string(tables)) + "\n";
    }
    text += "partitions" + field(std::to_string(program().partitionCount())) + "\n";
    text += "bytes_between_partitions" + field(std::to_string(program().bytesBetweenPartitions())) +
            "\n";
    for (const engine::Program::Copy& copy : program().copies()) {
        text += "copy" + field(copy.tensor) + field(copy.from) + field(copy.to) +
                field(std::to_string(copy.bytes)) + "\n";
    }
    for (const engine::NodePlacement& node : program().placement()) {
        text += "node" + field(listOf(node.sources)) + field(node.label) + field(node.kind) +
                field(node.backend) + field(std::to_string(node.partition)) + field(node.kernel);
        for (const engine::NodePlacement::Refusal& refusal : node.refusals) {
            text += field(refusal.backend + ": " + refusal.reason);
        }
        text += "\n";
        if (!node.lostForms.empty()) {
            text += "lost" + field(listOf(node.sources)) + field(node.label) +
                    field(node.lostForms) + "\n";
        }
    }
    for (const engine::VanishedOperation& vanished : program().graph().vanished()) {
        text += "vanished" + field(std::to_string(vanished.operation)) + field(vanished.fate) +
                "\n";
    }
    return text;
}

}  // namespace halyard::driver
