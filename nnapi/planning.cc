// SPDX-License-Identifier: Apache-2.0
//
// Which device gets which operation, and how these are put together to parts.

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "driver/ops/lowest_version.h"
#include "engine/base/log.h"
#include "nnapi/plan.h"

namespace halyard::nnapi {
namespace {

using driver::HalVersion;
using driver::OperationType;

// What a version before 1.1 can't say and can do without: floats that are exact are near enough.
driver::Model sayable(driver::Model model, HalVersion version) {
    if (version < HalVersion::V1_1) {
        model.relaxComputationFloat32toFloat16 = false;
    }
    return model;
}

// The operations of the main subgraph that are valid in that version, ascending.
std::vector<uint32_t> expressible(const driver::Model& model, HalVersion version) {
    driver::Verdicts verdicts(model);
    const Status status = validateForVersion(model, version, &verdicts);
    std::vector<uint32_t> operations;
    for (uint32_t i = 0; i < model.main.operations.size(); ++i) {
        const bool refersToOthers =
                std::ranges::any_of(model.main.operations[i].inputs, [&](uint32_t input) {
                    return model.main.operands[input].lifetime == driver::OperandLifeTime::SUBGRAPH;
                });
        if ((status.ok() || !verdicts.has(i)) && !(refersToOthers && version < HalVersion::V1_3)) {
            operations.push_back(i);
        }
    }
    return operations;
}

// A part that an older version can be told: subgraphs that nothing refers to are left out.
driver::Model slice(const driver::Model& model, std::span<const uint32_t> operations,
                    HalVersion version) {
    driver::Model sliced = sayable(*partOf(model, operations).model, version);
    if (version < HalVersion::V1_3) {
        sliced.referenced.clear();
    }
    return sliced;
}

float costOf(const driver::PerformanceInfo& info, driver::ExecutionPreference preference) {
    return preference == driver::ExecutionPreference::LOW_POWER ? info.powerUsage : info.execTime;
}

// `operations`: of the whole; empty: all.
Answer prepareOn(const RuntimeDevice& device, const driver::Model& model,
                 std::span<const uint32_t> operations, const PlanningOptions& planning,
                 RunStep& step) {
    driver::PrepareOptions options = {.preference = planning.preference,
                                      .priority = planning.priority,
                                      .deadline = planning.deadline,
                                      .hints = planning.hints};
    step.device = &device;
    if (planning.cache != nullptr) {
        options.cache = planning.cache(device, operations, false);
        if (options.cache != nullptr) {
            if (Result<std::shared_ptr<driver::IPreparedModel>> kept =
                        device.device().prepareFromCache(options);
                kept.ok()) {
                step.prepared = *std::move(kept);
                return {};
            }
        }
        options.cache = planning.cache(device, operations, true);
    }
    Result<std::shared_ptr<driver::IPreparedModel>> prepared =
            device.device().prepare(sayable(model, device.version()), options);
    if (!prepared.ok()) {
        return answerOf(prepared.status(), &device.device()).withContext(device.name());
    }
    step.prepared = *std::move(prepared);
    return {};
}

class Planner {
  public:
    Planner(std::shared_ptr<const driver::Model> model, const PlanningOptions& options)
        : mModel(std::move(model)), mOptions(options) {}

    Answer plan(Plan& plan) {
        plan.model = mModel;
        HALYARD_RETURN_UNLESS_OK(assign());
        if (const std::optional<size_t> winner = onlyWinner()) {
            RunStep step;
            HALYARD_RETURN_UNLESS_OK(
                    prepareWhole(*mOptions.devices[*winner], mModel, mOptions, step));
            plan.steps.emplace_back(std::move(step));
            return {};
        }
        for (const Group& group : groups()) {
            HALYARD_RETURN_UNLESS_OK(group.device == kInterpreted
                                             ? interpret(group.operations.front(), plan)
                                             : prepare(group, plan));
        }
        return {};
    }

  private:
    // In place of a device: an IF or WHILE whose parts are planned on their own.
    static constexpr size_t kInterpreted = std::numeric_limits<size_t>::max();

    struct Group {
        size_t device = 0;
        std::vector<uint32_t> operations;
    };

    const driver::Subgraph& main() const { return mModel->main; }

    static bool isControlFlow(OperationType type) {
        return type == OperationType::IF || type == OperationType::WHILE;
    }

    driver::PerformanceInfo performance(const driver::Capabilities& of,
                                        const driver::Operation& operation) const {
        if (operation.type == OperationType::IF) {
            return of.ifPerformance;
        }
        if (operation.type == OperationType::WHILE) {
            return of.whilePerformance;
        }
        if (operation.inputs.empty()) {
            return {};
        }
        const driver::OperandType type = main().operands[operation.inputs[0]].type;
        if (mModel->relaxComputationFloat32toFloat16) {
            if (type == driver::OperandType::FLOAT32) {
                return of.relaxedFloat32toFloat16PerformanceScalar;
            }
            if (type == driver::OperandType::TENSOR_FLOAT32) {
                return of.relaxedFloat32toFloat16PerformanceTensor;
            }
        }
        return performanceOf(of, type);
    }

    Answer assign() {
        std::vector<std::vector<bool>> supported;
        for (const RuntimeDevice* device : mOptions.devices) {
            Result<std::vector<bool>> flags = supportedOperations(*device, *mModel);
            if (!flags.ok()) {
                log(LogLevel::WARNING, device->name() + " does not say what it supports: " +
                                               std::string(flags.status().message()));
                flags = std::vector<bool>(main().operations.size());
            }
            supported.push_back(*std::move(flags));
        }
        for (uint32_t i = 0; i < main().operations.size(); ++i) {
            const driver::Operation& operation = main().operations[i];
            std::optional<size_t> best;
            float least = 0.0F;
            for (size_t device = 0; device < supported.size(); ++device) {
                if (!supported[device][i]) {
                    continue;
                }
                const RuntimeDevice& each = *mOptions.devices[device];
                const float cost =
                        costOf(performance(each.capabilities(), operation), mOptions.preference);
                const bool isTie = best.has_value() && cost == least && each.isReference();
                if (!best.has_value() || cost < least || isTie) {
                    best = device;
                    least = cost;
                }
            }
            if (isControlFlow(operation.type) &&
                (!best.has_value() ||
                 (mOptions.devices.size() > 1 && mOptions.devices[*best]->isReference()))) {
                best = kInterpreted;
            }
            if (!best.has_value()) {
                return badData("no device takes " + labelOf(operation, i));
            }
            mDevices.push_back(*best);
        }
        return {};
    }

    std::optional<size_t> onlyWinner() const {
        const bool isOne = std::ranges::all_of(
                mDevices, [&](size_t device) { return device == mDevices.front(); });
        return isOne && mDevices.front() != kInterpreted ? std::optional(mDevices.front())
                                                         : std::nullopt;
    }

    // Operations of one device that can run one after the other are a group: as long as any are
    // ready, a device goes on.
    std::vector<Group> groups() const {
        std::vector<size_t> waitsFor(main().operations.size());
        std::vector<std::vector<uint32_t>> readers(main().operations.size());
        std::vector<std::optional<uint32_t>> writers(main().operands.size());
        for (uint32_t i = 0; i < main().operations.size(); ++i) {
            for (const uint32_t output : main().operations[i].outputs) {
                writers[output] = i;
            }
        }
        std::deque<uint32_t> ready;
        for (uint32_t i = 0; i < main().operations.size(); ++i) {
            for (const uint32_t input : main().operations[i].inputs) {
                if (writers[input].has_value()) {
                    readers[*writers[input]].push_back(i);
                    ++waitsFor[i];
                }
            }
            if (waitsFor[i] == 0) {
                ready.push_back(i);
            }
        }
        std::vector<Group> groups;
        while (!ready.empty()) {
            const bool isOpen = !groups.empty() && groups.back().device != kInterpreted;
            auto next = isOpen ? std::ranges::find(ready, groups.back().device,
                                                   [&](uint32_t i) { return mDevices[i]; })
                               : ready.end();
            if (next == ready.end()) {
                next = ready.begin();
                groups.push_back({.device = mDevices[*next], .operations = {}});
            }
            const uint32_t operation = *next;
            ready.erase(next);
            groups.back().operations.push_back(operation);
            for (const uint32_t reader : readers[operation]) {
                if (--waitsFor[reader] == 0) {
                    ready.push_back(reader);
                }
            }
        }
        for (Group& group : groups) {
            std::ranges::sort(group.operations);
        }
        return groups;
    }

    Answer prepare(const Group& group, Plan& plan) {
        RunStep step;
        step.part = partOf(*mModel, group.operations);
        const RuntimeDevice& device = *mOptions.devices[group.device];
        HALYARD_RETURN_UNLESS_OK(
                prepareOn(device, *step.part.model, group.operations, mOptions, step));
        plan.steps.emplace_back(std::move(step));
        return {};
    }

    Answer interpret(uint32_t index, Plan& plan) {
        const driver::Operation& operation = main().operations[index];
        std::vector<std::unique_ptr<const Plan>> inside;
        std::vector<uint32_t> inputs;
        for (const uint32_t input : operation.inputs) {
            const driver::Operand& operand = main().operands[input];
            if (operand.lifetime != driver::OperandLifeTime::SUBGRAPH) {
                inputs.push_back(input);
                continue;
            }
            auto model = std::make_shared<driver::Model>(*mModel);
            model->main = mModel->referenced[operand.location.offset];
            auto part = std::make_unique<Plan>();
            PlanningOptions options = mOptions;
            options.cache = nullptr;
            HALYARD_RETURN_UNLESS_OK(makePlan(std::move(model), options, *part)
                                             .withContext(labelOf(operation, index)));
            inside.push_back(std::move(part));
        }
        if (inside.size() != 2) {
            return badData(labelOf(operation, index) + " refers to " +
                           std::to_string(inside.size()) + " models");
        }
        if (operation.type == OperationType::IF) {
            plan.steps.emplace_back(IfStep{.condition = inputs.front(),
                                           .then = std::move(inside[0]),
                                           .otherwise = std::move(inside[1]),
                                           .inputs = {inputs.begin() + 1, inputs.end()},
                                           .outputs = operation.outputs});
        } else {
            plan.steps.emplace_back(WhileStep{.condition = std::move(inside[0]),
                                              .body = std::move(inside[1]),
                                              .inputs = std::move(inputs),
                                              .outputs = operation.outputs});
        }
        return {};
    }

    const std::shared_ptr<const driver::Model> mModel;
    const PlanningOptions& mOptions;
    std::vector<size_t> mDevices;  // by operation: one of the options', or kInterpreted
};

}  // namespace

const RunStep* Plan::whole() const {
    const auto* const step = steps.size() == 1 ? std::get_if<RunStep>(&steps.front()) : nullptr;
    return step != nullptr && step->part.model == model ? step : nullptr;
}

namespace {

// Whether a step on a device, of the plan or of one inside, is so.
template <typename Is>
bool anyRun(const Plan& plan, const Is& is) {
    return std::ranges::any_of(plan.steps, [&](const Step& step) {
        if (const auto* const run = std::get_if<RunStep>(&step)) {
            return is(*run->device);
        }
        if (const auto* const branch = std::get_if<IfStep>(&step)) {
            return anyRun(*branch->then, is) || anyRun(*branch->otherwise, is);
        }
        const auto& loop = std::get<WhileStep>(step);
        return anyRun(*loop.condition, is) || anyRun(*loop.body, is);
    });
}

}  // namespace

bool Plan::hasRemoteSteps() const {
    return anyRun(*this, [](const RuntimeDevice& device) { return !device.isInProcess(); });
}

bool Plan::mayPad() const {
    return !anyRun(*this, [](const RuntimeDevice& device) {
        return device.version() < HalVersion::AIDL_V1;
    });
}

Result<std::vector<bool>> supportedOperations(const RuntimeDevice& device,
                                              const driver::Model& model) {
    const std::vector<uint32_t> operations = expressible(model, device.version());
    std::vector<bool> flags(model.main.operations.size());
    if (operations.empty()) {
        return flags;
    }
    const bool isWhole = operations.size() == flags.size();
    HALYARD_ASSIGN_OR_RETURN(const std::vector<bool> answers,
                             device.device().supportedOperations(
                                     isWhole ? sayable(model, device.version())
                                             : slice(model, operations, device.version())));
    if (answers.size() != operations.size()) {
        return internalError(device.name() + " tells of " + std::to_string(answers.size()) +
                             " operations, not of " + std::to_string(operations.size()));
    }
    for (size_t i = 0; i < operations.size(); ++i) {
        flags[operations[i]] = answers[i];
    }
    return flags;
}

Answer prepareWhole(const RuntimeDevice& device, std::shared_ptr<const driver::Model> model,
                    const PlanningOptions& options, RunStep& step) {
    step.part = {.model = model,
                 .inputs = model->main.inputIndexes,
                 .outputs = model->main.outputIndexes};
    return prepareOn(device, *model, {}, options, step);
}

Answer makePlan(std::shared_ptr<const driver::Model> model, const PlanningOptions& options,
                Plan& plan) {
    return Planner(std::move(model), options).plan(plan);
}

}  // namespace halyard::nnapi
