// SPDX-License-Identifier: Apache-2.0
//
// Memory that the driver manages: who may bind it to what, and when there is something in it.

#include "driver/execute/managed_buffer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/execute/prepared_model.h"
#include "tests/driver/client_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

using Description = ManagedBuffer::Description;
using Values = std::vector<float>;

const Values kValues = {-1, 2, -3, 4};
constexpr size_t kBytes = 4 * sizeof(float);

SharedMemory memoryOf(const Values& values) {
    const SharedMemory memory = allocateHeapMemory(values.size() * sizeof(float));
    std::memcpy(memory->map()->data(), values.data(), memory->size());
    return memory;
}

Values valuesIn(const SharedMemory& memory) {
    Values values(memory->size() / sizeof(float));
    std::memcpy(values.data(), memory->map()->data(), memory->size());
    return values;
}

Model openModel() {
    Model model = reluModel();
    for (Operand& operand : model.main.operands) {
        operand.dimensions = {0, 2};
    }
    return model;
}

class ManagedBuffers : public ClientTest {
  protected:
    Result<std::shared_ptr<ManagedBuffer>> tryAllocate(const Description& description) {
        return mDevice->allocate(description, mClient);
    }
    std::shared_ptr<ManagedBuffer> allocate(const Description& description) {
        return tryAllocate(description).value();
    }
    void expectRefused(const Description& description, StatusCode code,
                       const std::string& message) {
        const Status status = tryAllocate(description).status();
        EXPECT_EQ(status.code(), code);
        EXPECT_EQ(status.message(), message);
    }
    // Both ways of a model.
    Description both() {
        return {.dimensions = {},
                .inputs = {{.model = mModel, .index = 0}},
                .outputs = {{.model = mModel, .index = 0}}};
    }

    // A request from one pool to another.
    static Request request(RequestPool from, RequestPool to) {
        Request request;
        const auto argument = [&](const RequestPool& pool) {
            const auto* const memory = std::get_if<SharedMemory>(&pool);
            request.pools.push_back(pool);
            return RequestArgument{
                    .hasNoValue = false,
                    .location = {.poolIndex = static_cast<uint32_t>(request.pools.size() - 1),
                                 .offset = 0,
                                 .length = memory == nullptr ? 0 : (*memory)->size()},
                    .dimensions = {}};
        };
        request.inputs = {argument(from)};
        request.outputs = {argument(to)};
        return request;
    }
    Status execute(const Request& request) {
        return mModel->execute(request, HalVersion::V1_3, {}).status;
    }

    const std::shared_ptr<Client> mClient = account(kModest);
    const std::shared_ptr<PreparedModel> mModel = prepare(mClient, reluModel()).value();
};

TEST_F(ManagedBuffers, CarryValuesFromOneExecutionToTheNext) {
    const auto first = allocate(both());
    const auto second = allocate(both());
    EXPECT_NE(first->token(), 0U);
    EXPECT_NE(first->token(), second->token());
    ASSERT_TRUE(first->copyFrom(*memoryOf(kValues), {}).ok());
    ASSERT_TRUE(execute(request(first->token(), second->token())).ok());
    const SharedMemory out = memoryOf({9, 9, 9, 9});
    ASSERT_TRUE(second->copyTo(*out).ok());
    EXPECT_EQ(valuesIn(out), (Values{0, 2, 0, 4}));
    const SharedMemory again = memoryOf({9, 9, 9, 9});
    ASSERT_TRUE(execute(request(second->token(), again)).ok());
    EXPECT_EQ(valuesIn(again), (Values{0, 2, 0, 4}));
}

TEST_F(ManagedBuffers, WorkForRequestsThatWait) {
    const auto buffer = allocate(both());
    const SharedMemory in = memoryOf(kValues);
    Awaited<Status> told;
    EXPECT_TRUE(
            mModel->executeAsync(request(in, buffer->token()), HalVersion::V1_3, {},
                                 [told](const ExecutionResult& result) { told.set(result.status); })
                    .ok());
    EXPECT_TRUE(told.get().ok()) << told.get().toString();
    const SharedMemory out = memoryOf({9, 9, 9, 9});
    ASSERT_TRUE(buffer->copyTo(*out).ok());
    EXPECT_EQ(valuesIn(out), (Values{0, 2, 0, 4}));
}

TEST_F(ManagedBuffers, HaveNothingToGiveAtFirstNorAfterAFailure) {
    const auto buffer = allocate(both());
    const SharedMemory memory = memoryOf(kValues);
    EXPECT_EQ(buffer->copyTo(*memory).code(), StatusCode::INTERNAL);
    const Status read = execute(request(buffer->token(), memory));
    EXPECT_EQ(read.code(), StatusCode::INTERNAL);
    EXPECT_EQ(read.message(), "input 0: there is nothing in its buffer yet");
    ASSERT_TRUE(buffer->copyFrom(*memory, {}).ok());
    EXPECT_TRUE(buffer->copyTo(*memory).ok());
    const auto gone = std::make_shared<FakeMemory>(kBytes);
    gone->mappable = false;
    EXPECT_FALSE(buffer->copyFrom(*gone, {}).ok());
    EXPECT_EQ(buffer->copyTo(*memory).code(), StatusCode::INTERNAL);
    ASSERT_TRUE(buffer->copyFrom(*memory, {}).ok());
    EXPECT_FALSE(buffer->copyFrom(*memoryOf({1, 2, 3}), {}).ok());
    EXPECT_EQ(buffer->copyTo(*memory).code(), StatusCode::INTERNAL) << "whatever it failed for";
    ASSERT_TRUE(buffer->copyFrom(*memory, {}).ok());
    EXPECT_FALSE(buffer->copyFrom(*memory, std::vector<uint32_t>{4, 1}).ok());
    EXPECT_EQ(buffer->copyTo(*memory).code(), StatusCode::INTERNAL);
    ASSERT_TRUE(buffer->copyFrom(*memory, {}).ok());
    const auto passed = std::make_shared<FakeMemory>(kBytes);
    passed->cutShort = true;
    EXPECT_EQ(buffer->copyFrom(*passed, {}).message(),
              "source pool 0 was cut short by its owner while it was in use");
    EXPECT_EQ(buffer->copyTo(*memory).code(), StatusCode::INTERNAL);
    ASSERT_TRUE(buffer->copyFrom(*memory, {}).ok());
    EXPECT_EQ(buffer->copyTo(*passed).message(),
              "destination pool 0 was cut short by its owner while it was in use");
    EXPECT_FALSE(execute(request(passed, buffer->token())).ok());
    EXPECT_EQ(buffer->copyTo(*memory).code(), StatusCode::INTERNAL)
            << "what an execution that failed has left there";
}

TEST_F(ManagedBuffers, AreCopiedAsAWhole) {
    const auto buffer = allocate(both());
    EXPECT_EQ(buffer->copyFrom(*memoryOf({1, 2, 3}), {}).message(),
              "the memory has 12 bytes, and the buffer 16");
    EXPECT_EQ(buffer->copyFrom(*memoryOf(kValues), std::vector<uint32_t>{4, 1}).message(),
              "the dimensions are not those of the buffer, [2, 2]");
    ASSERT_TRUE(buffer->copyFrom(*memoryOf(kValues), std::vector<uint32_t>{2, 2}).ok());
    EXPECT_EQ(buffer->copyTo(*memoryOf({1, 2, 3})).code(), StatusCode::INVALID_ARGUMENT);
    const auto readOnly = std::make_shared<FakeMemory>(kBytes);
    readOnly->canWrite = false;
    EXPECT_EQ(buffer->copyTo(*readOnly).code(), StatusCode::INVALID_ARGUMENT);
}

// ---- Who may bind them --------------------------------------------------------------------------

TEST_F(ManagedBuffers, AreBoundToWhatTheyWereAllocatedFor) {
    const SharedMemory memory = memoryOf(kValues);
    const auto input = allocate({.dimensions = {}, .inputs = {{.model = mModel}}, .outputs = {}});
    ASSERT_TRUE(input->copyFrom(*memory, {}).ok());
    EXPECT_TRUE(execute(request(input->token(), memory)).ok());
    EXPECT_EQ(execute(request(memory, input->token())).message(),
              "output 0: buffer " + std::to_string(input->token()) + " was not allocated for it");
    const auto other = prepare(mClient, reluModel()).value();
    EXPECT_EQ(other->execute(request(input->token(), memory), HalVersion::V1_3, {}).status.code(),
              StatusCode::INVALID_ARGUMENT);
    const auto buffer = allocate(both());
    ASSERT_TRUE(buffer->copyFrom(*memory, {}).ok());
    const Status twice = execute(request(buffer->token(), buffer->token()));
    EXPECT_EQ(twice.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(twice.message().find("is an output and something else"), std::string::npos);
}

TEST_F(ManagedBuffers, AreGoneWithTheirLastReference) {
    const SharedMemory memory = memoryOf(kValues);
    const size_t before = mClient->account().memory->reserved();
    auto buffer = allocate(both());
    const uint32_t token = buffer->token();
    EXPECT_GE(mClient->account().memory->reserved(), before + kBytes);
    buffer = nullptr;
    EXPECT_EQ(mClient->account().memory->reserved(), before);
    for (const uint32_t wrong : {token, 0U, std::numeric_limits<uint32_t>::max()}) {
        EXPECT_EQ(execute(request(memory, wrong)).code(), StatusCode::INVALID_ARGUMENT);
    }
    std::vector<StatusCode> told;
    EXPECT_EQ(mModel->executeAsync(request(memory, token), HalVersion::V1_3, {},
                                   [&](const ExecutionResult& result) {
                                       told.push_back(result.status.code());
                                   })
                      .code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(told, std::vector{StatusCode::INVALID_ARGUMENT});
}

TEST_F(ManagedBuffers, BelongToTheClientThatHasThem) {
    const auto buffer = allocate(both());
    ASSERT_TRUE(buffer->copyFrom(*memoryOf(kValues), {}).ok());
    const std::shared_ptr<Client> stranger = account(kGreedy);
    const auto model = prepare(stranger, reluModel()).value();
    const Status status =
            model->execute(request(buffer->token(), memoryOf(kValues)), HalVersion::V1_3, {})
                    .status;
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("this client has no such buffer"), std::string::npos);
    EXPECT_EQ(mDevice->allocate(both(), stranger).status().message(),
              "input role 0: the prepared model is another client's");
}

// ---- How they are asked for ---------------------------------------------------------------------

TEST_F(ManagedBuffers, NeedRolesThatAgree) {
    constexpr StatusCode kInvalid = StatusCode::INVALID_ARGUMENT;
    expectRefused({}, kInvalid, "a buffer needs a role");
    expectRefused({.dimensions = {}, .inputs = {{.model = nullptr}}, .outputs = {}}, kInvalid,
                  "input role 0: there is no such prepared model");
    expectRefused({.dimensions = {}, .inputs = {}, .outputs = {{.model = mModel, .index = 1}}},
                  kInvalid, "output role 0: index 1, and the model has 1");
    for (const float frequency : {0.0F, -1.0F, 1.5F, std::numeric_limits<float>::quiet_NaN()}) {
        expectRefused({.dimensions = {},
                       .inputs = {{.model = mModel, .index = 0, .frequency = frequency}},
                       .outputs = {}},
                      kInvalid, "input role 0: its frequency is not in (0, 1]");
    }
    expectRefused(
            {.dimensions = {}, .inputs = {{.model = mModel}, {.model = mModel}}, .outputs = {}},
            kInvalid, "input role 1: it is there twice");
    Description wide = both();
    wide.dimensions = {2, 3};
    expectRefused(wide, kInvalid, "the buffer's dimensions: dimension 1 is 3 where another is 2");
    wide.dimensions = {2};
    expectRefused(wide, kInvalid, "the buffer's dimensions: rank 1 where another is 2");
    Description mixed = both();
    mixed.outputs = {{.model = prepare(mClient, quantConvModel()).value(), .index = 0}};
    expectRefused(mixed, kInvalid,
                  "output role 0: it is TENSOR_QUANT8_ASYMM, and another role's is "
                  "TENSOR_FLOAT32");
}

TEST_F(ManagedBuffers, NeedRolesThatAreQuantizedAlike) {
    const auto quantized = [&](float scale, int32_t zeroPoint) {
        const OperandSpec spec = {OperandType::TENSOR_QUANT8_ASYMM, {2, 2}, scale, zeroPoint};
        ModelBuilder builder;
        const uint32_t input = builder.input(spec);
        builder.operation(OperationType::RELU, {input}, {builder.output(spec)});
        return prepare(mClient, builder.build()).value();
    };
    const auto perChannel = [&](std::vector<float> scales) {
        ModelBuilder builder;
        const uint32_t input = builder.input({OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL, {2, 2}});
        builder.operand(input).extraParams =
                SymmPerChannelQuantParams{.scales = std::move(scales), .channelDim = 0};
        builder.operation(OperationType::DEQUANTIZE, {input}, {builder.output(floats({2, 2}))});
        return prepare(mClient, builder.build()).value();
    };
    const auto ofBoth = [](const std::shared_ptr<PreparedModel>& one,
                           const std::shared_ptr<PreparedModel>& other) {
        return Description{
                .dimensions = {}, .inputs = {{.model = one}, {.model = other}}, .outputs = {}};
    };
    const auto first = quantized(0.5F, 7);
    EXPECT_TRUE(tryAllocate(ofBoth(first, quantized(0.5F, 7))).ok());
    for (const auto& other : {quantized(0.25F, 7), quantized(0.5F, 8)}) {
        expectRefused(ofBoth(first, other), StatusCode::INVALID_ARGUMENT,
                      "input role 1: it is quantized otherwise than another role's");
    }
    const auto channels = perChannel({1, 2});
    EXPECT_TRUE(tryAllocate(ofBoth(channels, perChannel({1, 2}))).ok());
    expectRefused(ofBoth(channels, perChannel({1, 3})), StatusCode::INVALID_ARGUMENT,
                  "input role 1: its extra parameters differ from another role's");
}

TEST_F(ManagedBuffers, OfScalarsHaveNoDimensions) {
    ModelBuilder builder;
    const uint32_t dimensions = builder.constant<int32_t>({OperandType::TENSOR_INT32, {1}}, {2});
    const uint32_t value = builder.input({OperandType::FLOAT32, {}});
    builder.operation(OperationType::FILL, {dimensions, value}, {builder.output(floats({2}))});
    const auto model = prepare(mClient, builder.build()).value();
    Description description = {.dimensions = {}, .inputs = {{.model = model}}, .outputs = {}};
    EXPECT_EQ(allocate(description)->shape(), engine::Shape());
    description.dimensions = {1};
    expectRefused(description, StatusCode::INVALID_ARGUMENT,
                  "input role 0: a scalar has no dimensions");
}

TEST_F(ManagedBuffers, NeedARank) {
    Model model = reluModel();
    for (Operand& operand : model.main.operands) {
        operand.dimensions = {};
    }
    expectRefused({.dimensions = {},
                   .inputs = {{.model = prepare(mClient, model).value()}},
                   .outputs = {}},
                  StatusCode::UNSUPPORTED, "a buffer whose dimensions are not all known");
}

// An argument without a value names pool 0, whatever that is.
TEST_F(ManagedBuffers, AreNotBoundToWhatHasNoValue) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2, 3}));
    const uint32_t permutation = builder.input({OperandType::TENSOR_INT32, {2}});
    builder.operation(OperationType::TRANSPOSE, {input, permutation},
                      {builder.output(floats({3, 2}))});
    const auto model = prepare(mClient, builder.build()).value();
    const auto buffer = allocate({.dimensions = {}, .inputs = {}, .outputs = {{.model = model}}});
    Request asked = request(buffer->token(), memoryOf({1, 2, 3, 4, 5, 6}));
    std::swap(asked.inputs[0], asked.outputs[0]);
    asked.inputs.push_back({.hasNoValue = true, .location = {}, .dimensions = {}});
    const Status executed = model->execute(asked, HalVersion::V1_3, {}).status;
    EXPECT_TRUE(executed.ok()) << executed.toString();
    const SharedMemory out = memoryOf(Values(6));
    ASSERT_TRUE(buffer->copyTo(*out).ok());
    EXPECT_EQ(valuesIn(out), (Values{1, 4, 2, 5, 3, 6}));
}

TEST_F(ManagedBuffers, FailWhereAnOutputIsLargerThanTheyAre) {
    const auto open = prepare(mClient, openModel()).value();
    const auto output =
            allocate({.dimensions = {1, 2}, .inputs = {}, .outputs = {{.model = open}}});
    Request asked = request(memoryOf(kValues), output->token());
    asked.inputs[0].dimensions = {2, 2};
    const Status failed = open->execute(asked, HalVersion::V1_3, {}).status;
    EXPECT_EQ(failed.code(), StatusCode::INTERNAL);
    EXPECT_EQ(failed.message(), "output 0: its shape is [2, 2], and its buffer's [1, 2]");
}

TEST_F(ManagedBuffers, TakeOpenDimensionsFromTheRoleThatSaysThem) {
    const auto open = prepare(mClient, openModel()).value();
    Description description = {.dimensions = {}, .inputs = {{.model = open}}, .outputs = {}};
    expectRefused(description, StatusCode::UNSUPPORTED,
                  "a buffer whose dimensions are not all known");
    description.dimensions = {2, 0};
    const auto input = allocate(description);
    EXPECT_EQ(input->shape(), engine::Shape({2, 2}));
    description = {.dimensions = {3, 0}, .inputs = {}, .outputs = {{.model = open}}};
    const auto output = allocate(description);
    ASSERT_TRUE(input->copyFrom(*memoryOf(kValues), {}).ok());
    const SharedMemory memory = memoryOf(kValues);
    EXPECT_TRUE(open->execute(request(input->token(), memory), HalVersion::V1_3, {}).status.ok());
    EXPECT_EQ(valuesIn(memory), (Values{0, 2, 0, 4}));
    const Status other =
            open->execute(request(input->token(), output->token()), HalVersion::V1_3, {}).status;
    EXPECT_EQ(other.code(), StatusCode::INTERNAL);
    EXPECT_EQ(other.message(), "output 0: its shape is [2, 2], and its buffer's [3, 2]");
    Request said = request(input->token(), memory);
    said.inputs[0].dimensions = {1, 2};
    EXPECT_EQ(open->execute(said, HalVersion::V1_3, {}).status.code(),
              StatusCode::INVALID_ARGUMENT);
}

// As the vendor test suite has it: dimensions that the buffer does not have, and as little memory
// as the buffer.
TEST_F(ManagedBuffers, FailWhereAnOutputDoesNotFitAndTheInputIsAsShort) {
    const auto open = prepare(mClient, openModel()).value();
    const auto output =
            allocate({.dimensions = {2, 2}, .inputs = {}, .outputs = {{.model = open}}});
    ASSERT_TRUE(output->copyFrom(*memoryOf(kValues), {}).ok());
    Request asked = request(memoryOf(kValues), output->token());
    asked.inputs[0].dimensions = {4, 2};
    const Status failed = open->execute(asked, HalVersion::V1_3, {}).status;
    EXPECT_EQ(failed.code(), StatusCode::INTERNAL);
    EXPECT_EQ(failed.message(), "input 0: it is shorter than its elements");
    asked.outputs[0].dimensions = {4, 2};
    EXPECT_EQ(open->execute(asked, HalVersion::V1_3, {}).status.code(),
              StatusCode::INVALID_ARGUMENT)
            << "what the request says of the buffer is wrong";
    asked.outputs[0].dimensions = {};
    asked.inputs[0].dimensions = {2, 2};
    EXPECT_TRUE(open->execute(asked, HalVersion::V1_3, {}).status.ok());
}

TEST(ManagedBufferCalls, AreAmongThoseThatAClientMayMakeAtOnce) {
    Options options;
    options.calls = {.perClient = 1, .perGroup = 8, .shared = 8, .most = 8};
    const std::unique_ptr<Device> device = makeDevice(options);
    const std::shared_ptr<Client> client = device->client(kModest).value();
    PrepareOptions prepareOptions;
    prepareOptions.client = client;
    const Description description = {
            .dimensions = {},
            .inputs = {{.model = device->prepare(reluModel(), HalVersion::V1_3, prepareOptions)
                                         .value()}},
            .outputs = {}};
    {
        const Result<CallGate::Permit> call = client->shares().calls->enter();
        ASSERT_TRUE(call.ok());
        EXPECT_EQ(device->allocate(description, client).status().code(),
                  StatusCode::RESOURCE_EXHAUSTED);
    }
    EXPECT_TRUE(device->allocate(description, client).ok());
}

// As many as a parcel may bring, in less than what their model took to prepare.
TEST(ManagedBufferRoles, AreComparedWithoutLookingAtEachOther) {
    using Clock = std::chrono::steady_clock;
    constexpr uint32_t kRoles = 80'000;
    ModelBuilder builder;
    const OperandSpec spec{OperandType::TENSOR_FLOAT32, {2, 2}};
    const uint32_t input = builder.input(spec);
    for (uint32_t i = 1; i < kRoles; ++i) {
        builder.input(spec);
    }
    builder.operation(OperationType::RELU, {input}, {builder.output(spec)});
    const std::unique_ptr<Device> device = makeDevice({});
    const Clock::time_point begin = Clock::now();
    const auto model = device->prepare(builder.build(), HalVersion::V1_3, {});
    ASSERT_TRUE(model.ok()) << model.status().toString();
    const Clock::time_point prepared = Clock::now();
    Description description;
    for (uint32_t i = 0; i < kRoles; ++i) {
        description.inputs.push_back({.model = *model, .index = i});
    }
    const size_t before = (*model)->client()->account().memory->reserved();
    const Clock::time_point asked = Clock::now();
    const auto buffer = device->allocate(description, nullptr);
    const Clock::time_point allocated = Clock::now();
    ASSERT_TRUE(buffer.ok()) << buffer.status().toString();
    EXPECT_LT(allocated - asked, prepared - begin);
    EXPECT_GE((*model)->client()->account().memory->reserved(), before + kRoles * 16)
            << "they are kept with it";
}

TEST_F(ManagedBuffers, AreChargedToTheirClient) {
    Description large = {.dimensions = {1U << 24, 2},
                         .inputs = {{.model = prepare(mClient, openModel()).value()}},
                         .outputs = {}};
    EXPECT_EQ(tryAllocate(large).status().code(), StatusCode::RESOURCE_EXHAUSTED);
    std::vector<std::shared_ptr<ManagedBuffer>> many;
    Status refused;
    while (refused.ok() && many.size() < (size_t{1} << 20)) {
        auto buffer = tryAllocate(both());
        refused = buffer.status();
        if (buffer.ok()) {
            many.push_back(std::move(*buffer));
        }
    }
    EXPECT_EQ(refused.code(), StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace halyard::driver
