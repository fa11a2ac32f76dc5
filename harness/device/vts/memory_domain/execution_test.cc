// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/memory_domain/execution_test.h"

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hal/memory/shared_memory.h"
#include "harness/device/vts/memory_domain/execution.h"
#include "harness/device/vts/memory_domain/setting.h"

namespace halyard::vts {
namespace {

using driver::ErrorStatus;
using driver::Request;
using driver::RequestArgument;
using Model = std::shared_ptr<driver::IPreparedModel>;
using enum ErrorStatus;

// The memory of an argument: shared memory of its own, or a buffer.
struct Place {
    uint32_t token = 0;
    bool isBuffer = false;
    std::vector<uint32_t> dimensions = {};
};

Place shared(std::vector<uint32_t> dimensions = {}) {
    return {.token = 0, .isBuffer = false, .dimensions = std::move(dimensions)};
}
Place buffer(uint32_t token, std::vector<uint32_t> dimensions = {}) {
    return {.token = token, .isBuffer = true, .dimensions = std::move(dimensions)};
}

// Executions of one kind; the first that ends otherwise than it should counts.
class Executions {
  public:
    Executions(const DomainSetting& setting, const Executor& executor)
        : mSetting(setting), mExecutor(executor) {}

    const DomainSetting& setting() const { return mSetting; }

    // A model of convolutions, or null, and why.
    Model prepare(const driver::Model& model) {
        Preparation prepared = mSetting.context().prepare(model, mExecutor.methods);
        return keep(std::move(prepared.model), std::move(prepared.verdict));
    }
    std::shared_ptr<driver::IBuffer> allocate(const Model& model,
                                              const std::vector<uint32_t>& inputs,
                                              const std::vector<uint32_t>& outputs,
                                              const std::vector<uint32_t>& dimensions = {}) {
        if (model == nullptr) {
            return nullptr;
        }
        DomainBuffer given = mSetting.allocate(model, inputs, outputs, dimensions);
        return keep(std::move(given.buffer), std::move(given.verdict));
    }
    void fill(driver::IBuffer& into) {
        if (mVerdict.hasPassed()) {
            mVerdict = mSetting.fill(into);
        }
    }
    void expect(driver::IPreparedModel& model, std::span<const Place> inputs,
                std::span<const Place> outputs, ErrorStatus wanted, std::string_view what) {
        if (!mVerdict.hasPassed()) {
            return;
        }
        Request request;
        if (const Status made = addPlaces(request, inputs, request.inputs); !made.ok()) {
            mVerdict = failed(made.toString());
            return;
        }
        if (const Status made = addPlaces(request, outputs, request.outputs); !made.ok()) {
            mVerdict = failed(made.toString());
            return;
        }
        const driver::ExecutionResult result = mExecutor.execute(model, request, {});
        mVerdict = mSetting.expect(result.status, wanted, "an execution " + std::string(what));
        if (mVerdict.hasPassed() && result.timing != driver::Timing()) {
            mVerdict = failed("an execution " + std::string(what) +
                              " tells times, which were not asked for");
        }
        if (mVerdict.hasPassed() && !result.status.ok() && !result.outputShapes.empty()) {
            mVerdict =
                    failed("an execution " + std::string(what) + " tells shapes beside a failure");
        }
    }
    // Of one input and one output.
    void expect(driver::IPreparedModel& model, const Place& input, const Place& output,
                ErrorStatus wanted, std::string_view what) {
        expect(model, std::array{input}, std::array{output}, wanted, what);
    }
    Verdict verdict() const { return mVerdict; }

  private:
    template <typename Thing>
    std::shared_ptr<Thing> keep(std::shared_ptr<Thing> thing, Verdict verdict) {
        if (thing == nullptr && mVerdict.hasPassed()) {
            mVerdict = std::move(verdict);
        }
        return thing;
    }
    Status addPlaces(Request& request, std::span<const Place> places,
                     std::vector<RequestArgument>& arguments) const {
        for (const Place& place : places) {
            RequestArgument& argument = arguments.emplace_back();
            argument.dimensions = place.dimensions;
            argument.location.poolIndex = static_cast<uint32_t>(request.pools.size());
            if (place.isBuffer) {
                // The same buffer is one pool, however often it is named.
                for (size_t i = 0; i < request.pools.size(); ++i) {
                    const auto* const token = std::get_if<uint32_t>(&request.pools[i]);
                    if (token != nullptr && *token == place.token) {
                        argument.location.poolIndex = static_cast<uint32_t>(i);
                    }
                }
                if (argument.location.poolIndex == request.pools.size()) {
                    request.pools.emplace_back(place.token);
                }
                continue;
            }
            argument.location.length = mSetting.bytes();
            HALYARD_ASSIGN_OR_RETURN(hal::ExportedMemory memory,
                                     hal::createSharedMemory(mSetting.bytes()));
            request.pools.emplace_back(std::move(memory.memory));
        }
        return {};
    }

    const DomainSetting& mSetting;
    const Executor& mExecutor;
    Verdict mVerdict;
};

void invalidToken(Executions& executions) {
    const Model model = executions.prepare(convolutions(executions.setting().operand()));
    if (model == nullptr) {
        return;
    }
    for (const uint32_t token : {0U, 100U}) {
        executions.expect(*model, buffer(token), shared(), INVALID_ARGUMENT,
                          "with an input of an unknown token");
        executions.expect(*model, shared(), buffer(token), INVALID_ARGUMENT,
                          "with an output of an unknown token");
    }
}

void invalidPreparedModel(Executions& executions) {
    const driver::Model model = convolutions(executions.setting().operand());
    const Model right = executions.prepare(model);
    const auto given = executions.allocate(right, {0}, {0});
    const Model wrong = given == nullptr ? nullptr : executions.prepare(model);
    if (wrong == nullptr) {
        return;
    }
    executions.fill(*given);
    executions.expect(*wrong, buffer(given->token()), shared(), INVALID_ARGUMENT,
                      "with an input that is another model's buffer");
    executions.expect(*wrong, shared(), buffer(given->token()), INVALID_ARGUMENT,
                      "with an output that is another model's buffer");
}

void invalidIoIndex(Executions& executions) {
    const Model model = executions.prepare(convolutions(executions.setting().operand(), 2));
    const auto given = executions.allocate(model, {0}, {});
    if (given == nullptr) {
        return;
    }
    executions.fill(*given);
    executions.expect(*model, std::array{shared(), buffer(given->token())},
                      std::array{shared(), shared()}, INVALID_ARGUMENT,
                      "with input 1 in a buffer for input 0");
    executions.expect(*model, std::array{shared(), shared()},
                      std::array{shared(), buffer(given->token())}, INVALID_ARGUMENT,
                      "with output 1 in a buffer for input 0");
}

void invalidIoType(Executions& executions) {
    const Model model = executions.prepare(convolutions(executions.setting().operand()));
    const auto input = executions.allocate(model, {0}, {});
    const auto output = input == nullptr ? nullptr : executions.allocate(model, {}, {0});
    if (output == nullptr) {
        return;
    }
    executions.expect(*model, shared(), buffer(input->token()), INVALID_ARGUMENT,
                      "with an output in a buffer for the input");
    executions.fill(*output);
    executions.expect(*model, buffer(output->token()), shared(), INVALID_ARGUMENT,
                      "with an input in a buffer for the output");
}

void uninitializedMemory(Executions& executions) {
    const Model model = executions.prepare(convolutions(executions.setting().operand()));
    const auto given = executions.allocate(model, {0}, {0});
    if (given == nullptr) {
        return;
    }
    executions.expect(*model, buffer(given->token()), shared(), GENERAL_FAILURE,
                      "with an input in a buffer that has nothing in it");
    executions.expect(*model, shared(), buffer(given->token()), NONE, "with an output in a buffer");
    executions.expect(*model, buffer(given->token()), shared(), NONE,
                      "with an input in a buffer that another execution has filled");
}

void sameRequestMultipleRoles(Executions& executions) {
    const Model model = executions.prepare(convolutions(executions.setting().operand(), 2));
    const auto given = executions.allocate(model, {0, 1}, {0, 1});
    if (given == nullptr) {
        return;
    }
    const Place place = buffer(given->token());
    executions.fill(*given);
    executions.expect(*model, std::array{place, shared()}, std::array{place, shared()},
                      INVALID_ARGUMENT, "with one buffer as input and output");
    executions.expect(*model, std::array{shared(), shared()}, std::array{place, place},
                      INVALID_ARGUMENT, "with one buffer as two outputs");
    executions.fill(*given);
    executions.expect(*model, std::array{place, place}, std::array{shared(), shared()}, NONE,
                      "with one buffer as two inputs");
}

void invalidDimensions(Executions& executions) {
    const DomainSetting& setting = executions.setting();
    const Model model = executions.prepare(convolutions(setting.operandWith(0, 0)));
    const auto given = executions.allocate(model, {0}, {0}, setting.operand().dimensions);
    if (given == nullptr) {
        return;
    }
    const std::vector<uint32_t> two = setting.operandWith(0, 2).dimensions;
    executions.fill(*given);
    executions.expect(*model, buffer(given->token(), two), shared(two), INVALID_ARGUMENT,
                      "with an input of another shape than its buffer's");
    executions.expect(*model, shared(two), buffer(given->token(), two), INVALID_ARGUMENT,
                      "with an output of another shape than its buffer's");
    executions.expect(*model, shared(two), buffer(given->token()), GENERAL_FAILURE,
                      "whose output does not fit into its buffer");
}

struct Row {
    std::string_view name;
    void (*run)(Executions& executions);
    bool isOfFenced = true;  // no shape is dynamic there
};

constexpr Row kRows[] = {
        {"InvalidToken", invalidToken},
        {"InvalidPreparedModel", invalidPreparedModel},
        {"InvalidIOIndex", invalidIoIndex},
        {"InvalidIOType", invalidIoType},
        {"UninitializedMemory", uninitializedMemory},
        {"SameRequestMultipleRoles", sameRequestMultipleRoles},
        {"InvalidDimensions", invalidDimensions, false},
};

Check checkOf(const Row& row, driver::OperandType type, const DomainExecutor& domain) {
    const Executor& executor = domain.executor;
    return {.suite = "MemoryDomainExecutionTest",
            .name = row.name,
            .variant = std::string(driver::nameOf(type)) + "_" + std::string(executor.name),
            .scope = Scope::DEVICE,
            .since = domain.since,
            .until = executor.until,
            .run = [&row, &executor, type](Context& context) {
                const DomainSetting setting(context, type);
                Executions executions(setting, executor);
                row.run(executions);
                return executions.verdict();
            }};
}

}  // namespace

Checks memoryDomainExecutionTest() {
    Checks checks;
    for (const Row& row : kRows) {
        for (const driver::OperandType type : kDomainTypes) {
            for (const DomainExecutor& executor : domainExecutors()) {
                if (row.isOfFenced || !executor.executor.isFenced) {
                    checks.push_back(checkOf(row, type, executor));
                }
            }
        }
    }
    return checks;
}

}  // namespace halyard::vts
