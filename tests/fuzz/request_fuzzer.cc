// SPDX-License-Identifier: Apache-2.0
//
// Requests for a few prepared models: any argument, any pool. What must hold of every request: it
// ends the same way when it is repeated, and nothing but its outputs is written.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "driver/device/device.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/tried_device.h"

namespace halyard::fuzz {
namespace {

using driver::FakeMemory;
using driver::HalVersion;
using driver::RequestArgument;

// A model with extents that requests fill in, one that finds its output's extent by running, and
// one whose inputs steer it.
std::vector<driver::Model> sampleModels() {
    std::vector<driver::Model> models = {driver::reluModel(), driver::floatConvModel(),
                                         driver::quantConvModel()};
    driver::Model open = openReluModel();
    models.push_back(open);
    for (driver::Operand& operand : open.main.operands) {
        operand.dimensions = {};
    }
    models.push_back(open);
    {
        driver::ModelBuilder builder;
        const uint32_t data = builder.input(driver::floats({4, 2}));
        const uint32_t rows = builder.input({driver::OperandType::TENSOR_INT32, {0}});
        const uint32_t found = builder.output(driver::floats({0, 2}));
        builder.operation(driver::OperationType::GATHER, {data, builder.int32(0), rows}, {found});
        models.push_back(builder.build());
    }
    {
        driver::ModelBuilder builder;
        const uint32_t data = builder.input(driver::floats({2, 2}));
        const uint32_t shape = builder.input({driver::OperandType::TENSOR_INT32, {2}});
        const uint32_t value = builder.input({driver::OperandType::FLOAT32, {}});
        const uint32_t filled = builder.output(driver::floats({0, 0}));
        const uint32_t sum = builder.output(driver::floats({0, 0}));
        builder.operation(driver::OperationType::FILL, {shape, value}, {filled});
        builder.operation(driver::OperationType::ADD, {data, filled, builder.int32(0)}, {sum});
        models.push_back(builder.build());
    }
    return models;
}

struct Prepared {
    std::shared_ptr<const driver::PreparedModel> model;
    driver::Model source;
};

uint32_t bytesOf(const driver::Operand& operand) {
    uint32_t size = operand.type == driver::OperandType::TENSOR_QUANT8_ASYMM ? 1 : 4;
    for (const uint32_t extent : operand.dimensions) {
        size *= extent == 0 ? 2 : extent;
    }
    return size;
}

class Decoder {
  public:
    Decoder(Choices& choices, const driver::Model& model) : mChoices(choices), mModel(model) {}

    // The same choices give the same request, with pools of their own.
    driver::Request request() {
        driver::Request request;
        const std::array<size_t, 6> sizes = {0, 1, 16, 64, 256, 4096};
        mPools = 1 + mChoices.below(3);
        for (size_t i = 0; i < mPools; ++i) {
            mSizes.push_back(0);
            if (mChoices.oneIn(16)) {
                request.pools.emplace_back(mChoices.number<uint32_t>());
                continue;
            }
            auto pool = std::make_shared<FakeMemory>(mChoices.oneIn(2) ? mChoices.of(sizes) : 512);
            if (mChoices.oneIn(8)) {
                pool->hasHandle = !mChoices.oneIn(4);
                pool->mappable = !mChoices.oneIn(4);
                pool->canWrite = !mChoices.oneIn(4);
                pool->cutShort = mChoices.oneIn(4);
            }
            mSizes.back() = pool->size();
            const std::span<const uint8_t> content = mChoices.take(mChoices.below(64));
            if (pool->mappable) {
                const std::span<uint8_t> bytes = *pool->map();
                std::copy_n(content.begin(), std::min(content.size(), bytes.size()), bytes.begin());
            }
            request.pools.emplace_back(std::move(pool));
        }
        for (const uint32_t index : mModel.main.inputIndexes) {
            request.inputs.push_back(argument(mModel.main.operands[index]));
        }
        for (const uint32_t index : mModel.main.outputIndexes) {
            request.outputs.push_back(argument(mModel.main.operands[index]));
        }
        if (mChoices.oneIn(16)) {
            request.inputs.resize(mChoices.below(4));
        }
        if (mChoices.oneIn(16)) {
            request.outputs.resize(mChoices.below(4));
        }
        return request;
    }

  private:
    RequestArgument argument(const driver::Operand& operand) {
        RequestArgument argument;
        argument.hasNoValue = mChoices.oneIn(12);
        if (!argument.hasNoValue || mChoices.oneIn(4)) {
            argument.location = {.poolIndex = static_cast<uint32_t>(mChoices.below(mPools)),
                                 .offset = 0,
                                 .length = bytesOf(operand)};
            argument.location.offset =
                    static_cast<uint32_t>(mChoices.below(8) * 8 + mChoices.below(2));
            if (mChoices.oneIn(3)) {  // at the end of the pool, more or less
                argument.location.offset =
                        static_cast<uint32_t>(mSizes[argument.location.poolIndex] -
                                              argument.location.length + mChoices.below(4));
            }
        }
        if (mChoices.oneIn(6)) {
            argument.location.length = number();
        }
        if (mChoices.oneIn(12)) {
            argument.location.offset = number();
            argument.location.poolIndex = number();
        }
        bool open = operand.dimensions.empty();
        for (const uint32_t extent : operand.dimensions) {
            open = open || extent == 0;
        }
        if (open != mChoices.oneIn(8)) {
            for (const uint32_t extent : operand.dimensions) {
                argument.dimensions.push_back(extent == 0 ? 2 : extent);
            }
            if (mChoices.oneIn(4)) {
                argument.dimensions.resize(mChoices.below(10));
            }
            for (uint32_t& extent : argument.dimensions) {
                if (mChoices.oneIn(4)) {
                    extent = number();
                }
            }
        }
        return argument;
    }

    uint32_t number() {
        switch (mChoices.below(4)) {
            case 0:
                return mChoices.number<uint32_t>();
            case 1:
                return ~uint32_t{0} >> mChoices.below(32);
            default:
                return static_cast<uint32_t>(mChoices.below(256));
        }
    }

    Choices& mChoices;
    const driver::Model& mModel;
    size_t mPools = 0;
    std::vector<size_t> mSizes;
};

std::vector<std::vector<uint8_t>> contentOf(const driver::Request& request) {
    std::vector<std::vector<uint8_t>> contents;
    for (const driver::RequestPool& pool : request.pools) {
        std::vector<uint8_t>& content = contents.emplace_back();
        const auto* memory = std::get_if<driver::SharedMemory>(&pool);
        if (memory != nullptr) {
            if (const auto bytes = (*memory)->map(); bytes.ok()) {
                content.assign(bytes->begin(), bytes->end());
            }
        }
    }
    return contents;
}

void checkWritten(const driver::Request& request, std::vector<std::vector<uint8_t>> before,
                  std::vector<std::vector<uint8_t>> after) {
    for (const RequestArgument& output : request.outputs) {
        const driver::DataLocation& at = output.location;
        if (output.hasNoValue || at.poolIndex >= before.size()) {
            continue;
        }
        for (auto* contents : {&before, &after}) {
            std::vector<uint8_t>& content = (*contents)[at.poolIndex];
            for (size_t i = at.offset; i < content.size() && i - at.offset < at.length; ++i) {
                content[i] = 0;
            }
        }
    }
    require(before == after, "nothing but outputs is written");
}

}  // namespace

void run(std::span<const uint8_t> bytes) {
    Choices choices(bytes);
    static const std::vector<Prepared>& kPrepared = *[] {
        // Never destroyed: its threads outlive the last run.
        static const auto& device = *new std::shared_ptr<driver::Device>(makeDevice(1));
        auto* prepared = new std::vector<Prepared>();
        for (const driver::Model& model : sampleModels()) {
            prepared->push_back({.model = device->prepare(model, HalVersion::V1_3, {}).value(),
                                 .source = model});
        }
        return prepared;
    }();
    const Prepared& prepared = choices.of(kPrepared);
    const std::array<HalVersion, 3> versions = {HalVersion::V1_3, HalVersion::V1_2,
                                                HalVersion::V1_0};
    const HalVersion version = choices.of(versions);
    driver::ExecuteOptions options;
    options.measureTiming = choices.oneIn(4);
    if (choices.oneIn(16)) {
        options.deadline = std::chrono::steady_clock::time_point(
                std::chrono::nanoseconds(choices.number<int64_t>()));
    }
    std::array<Attempt, 2> attempts;
    for (Attempt& attempt : attempts) {
        Choices again = choices;
        const driver::Request request = Decoder(again, prepared.source).request();
        const std::vector<std::vector<uint8_t>> before = contentOf(request);
        attempt.result = prepared.model->execute(request, version, options);
        attempt.memory = contentOf(request);
        checkWritten(request, before, attempt.memory);
        if (!options.deadline.has_value()) {
            (void)prepared.model->validateFenced(request, HalVersion::V1_3);
        }
    }
    requireSame(attempts[0], attempts[1]);
}

}  // namespace halyard::fuzz
