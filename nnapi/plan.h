// SPDX-License-Identifier: Apache-2.0
//
// A plan: which devices compute which parts of a model, one after the other.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <variant>
#include <vector>

#include "driver/device/device_interface.h"
#include "driver/model/model.h"
#include "nnapi/answer.h"
#include "nnapi/device.h"

namespace halyard::nnapi {

// Some operations of a model's main subgraph, as a model of its own.
struct ModelPart {
    std::shared_ptr<const driver::Model> model;
    // Operands of the whole that are its inputs and outputs, in their order.
    std::vector<uint32_t> inputs;
    std::vector<uint32_t> outputs;
};

// `operations`: ascending. What others than these read is an output.
ModelPart partOf(const driver::Model& whole, std::span<const uint32_t> operations);

struct Plan;

// Operands are those of the plan's main subgraph.
struct RunStep {
    const RuntimeDevice* device = nullptr;
    std::shared_ptr<driver::IPreparedModel> prepared;
    ModelPart part;
};

// The operation's own inputs and outputs; condition and subgraphs apart.
struct IfStep {
    uint32_t condition = 0;
    std::unique_ptr<const Plan> then;
    std::unique_ptr<const Plan> otherwise;
    std::vector<uint32_t> inputs;
    std::vector<uint32_t> outputs;
};

struct WhileStep {
    std::unique_ptr<const Plan> condition;
    std::unique_ptr<const Plan> body;
    std::vector<uint32_t> inputs;
    std::vector<uint32_t> outputs;
};

using Step = std::variant<RunStep, IfStep, WhileStep>;

// Immutable.
struct Plan {
    std::shared_ptr<const driver::Model> model;
    std::vector<Step> steps;

    // The only step where it computes the whole model as it is; else null.
    const RunStep* whole() const;
    // Whether a step of it, or of a plan inside, is of a device of another process.
    bool hasRemoteSteps() const;
    // Whether all devices know padding: from feature level 5 on.
    bool mayPad() const;
};

struct PlanningOptions {
    std::span<const RuntimeDevice* const> devices;
    driver::ExecutionPreference preference = driver::ExecutionPreference::FAST_SINGLE_ANSWER;
    driver::Priority priority = driver::Priority::MEDIUM;
    Deadline deadline;
    driver::ExtensionHints hints;
    // Where a prepared model is kept, by the device that prepares it and the operations that it is
    // of (empty: all); null: nowhere.
    std::function<std::shared_ptr<const driver::CompilationCache>(
            const RuntimeDevice& device, std::span<const uint32_t> operations, bool isNew)>
            cache;
};

// Flags by operations of the main subgraph: what the device says of those that its version can
// express, and false for the others.
Result<std::vector<bool>> supportedOperations(const RuntimeDevice& device,
                                              const driver::Model& model);

// BAD_DATA: no device takes an operation. Else what the first device says that does not prepare
// what it has taken.
Answer makePlan(std::shared_ptr<const driver::Model> model, const PlanningOptions& options,
                Plan& plan);

// A model on one device, as a whole.
Answer prepareWhole(const RuntimeDevice& device, std::shared_ptr<const driver::Model> model,
                    const PlanningOptions& options, RunStep& step);

}  // namespace halyard::nnapi
