// SPDX-License-Identifier: Apache-2.0

#include "driver/model/validate_request.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

// input [2, ?], a scalar, output [?, 3].
ModelBoundary boundary() {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2, 0}));
    builder.input({OperandType::INT32, {}});
    const uint32_t output = builder.output(floats({0, 3}));
    builder.operation(OperationType::RELU, {input}, {output});
    return boundaryOf(builder.build().main);
}

RequestBuilder validRequest() {
    RequestBuilder builder;
    builder.input<float>({1, 2, 3, 4, 5, 6}, {2, 3}).input<int32_t>({7}).output(24, {2, 3});
    return builder;
}

Status validate(const Request& request, HalVersion version = HalVersion::V1_3) {
    RequestShapes shapes;
    return resolveRequest(request, boundary(), version, shapes);
}

void expectInvalid(const Request& request, const std::string& what,
                   HalVersion version = HalVersion::V1_3) {
    const Status status = validate(request, version);
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT) << what;
    EXPECT_FALSE(status.message().empty()) << what;
}

TEST(ValidateRequest, AcceptsAValidRequestInEveryVersion) {
    for (const HalVersion version : kVersions) {
        const Status status = validate(validRequest().request(), version);
        EXPECT_TRUE(status.ok()) << status.toString();
    }
}

// removeInputTest, removeOutputTest
TEST(ValidateRequest, RejectsAnotherNumberOfArguments) {
    RequestBuilder builder = validRequest();
    builder.request().inputs.pop_back();
    expectInvalid(builder.request(), "an input less");
    builder = validRequest();
    builder.input<float>({1});
    expectInvalid(builder.request(), "an input more");
    builder = validRequest();
    builder.request().outputs.clear();
    expectInvalid(builder.request(), "an output less");
    builder = validRequest();
    builder.output(4);
    expectInvalid(builder.request(), "an output more");
}

TEST(ValidateRequest, RejectsLocationsOutsideTheirPool) {
    constexpr uint32_t kMax = std::numeric_limits<uint32_t>::max();
    for (const DataLocation& location :
         {DataLocation{3, 0, 4}, DataLocation{kMax, 0, 4}, DataLocation{0, 24, 1},
          DataLocation{0, 0, 25}, DataLocation{0, kMax, 1}, DataLocation{0, 1, kMax},
          DataLocation{0, kMax, kMax}, DataLocation{0, 0x80000000, 0x80000000}}) {
        RequestBuilder builder = validRequest();
        builder.request().inputs[0].location = location;
        expectInvalid(builder.request(), "of the input");
        builder = validRequest();
        builder.request().outputs[0].location = location;
        expectInvalid(builder.request(), "of the output");
    }
}

TEST(ValidateRequest, RejectsLocationsThatOnlyWrappedSumsWouldPutIntoTheirPool) {
    constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
    for (const DataLocation& location :
         {DataLocation{0, kMax, 1}, DataLocation{0, 1, kMax}, DataLocation{0, kMax - 23, 24},
          DataLocation{0, uint64_t{1} << 32U, 24}, DataLocation{0, 0, 24, kMax},
          DataLocation{0, 0, 24, kMax - 23}, DataLocation{0, 8, 8, kMax - 15},
          DataLocation{0, kMax, kMax, 2}}) {
        RequestBuilder builder = validRequest();
        builder.request().inputs[0].location = location;
        expectInvalid(builder.request(), "of the input");
        builder = validRequest();
        builder.request().outputs[0].location = location;
        expectInvalid(builder.request(), "of the output");
    }
}

TEST(ValidateRequest, HoldsPaddingToThePoolAsWell) {
    RequestBuilder builder = validRequest();
    ASSERT_EQ(std::get<SharedMemory>(builder.request().pools[0])->size(), 24U);
    DataLocation& location = builder.request().inputs[1].location;
    location = {.poolIndex = 0, .offset = 4, .length = 4, .padding = 16};
    EXPECT_TRUE(validate(builder.request()).ok());
    location.padding = 17;
    expectInvalid(builder.request(), "one byte of padding too many");
}

TEST(ValidateRequest, RejectsAnArgumentThatHasNoValueAndYetSomething) {
    RequestBuilder builder = validRequest();
    builder.request().inputs[0] = {.hasNoValue = true, .location = {}, .dimensions = {}};
    EXPECT_TRUE(validate(builder.request()).ok());
    builder.request().inputs[0].dimensions = {2, 3};
    expectInvalid(builder.request(), "dimensions");
    builder.request().inputs[0] = {.hasNoValue = true, .location = {0, 0, 4}, .dimensions = {}};
    expectInvalid(builder.request(), "a location");
}

TEST(ValidateRequest, RejectsDimensionsThatContradictTheModel) {
    for (const std::vector<uint32_t>& dimensions :
         std::vector<std::vector<uint32_t>>{{3, 3}, {2, 3, 1}, {6}, {2, 0}, {0, 0}, {}}) {
        RequestBuilder builder = validRequest();
        builder.request().inputs[0].dimensions = dimensions;
        expectInvalid(builder.request(), "of the input");
    }
    for (const std::vector<uint32_t>& dimensions :
         std::vector<std::vector<uint32_t>>{{2, 4}, {2, 3, 1}, {3}}) {
        RequestBuilder builder = validRequest();
        builder.request().outputs[0].dimensions = dimensions;
        expectInvalid(builder.request(), "of the output");
    }
    RequestBuilder builder = validRequest();
    builder.request().inputs[1].dimensions = {1};
    expectInvalid(builder.request(), "of the scalar");
}

TEST(ValidateRequest, AcceptsDimensionsThatTheModelHas) {
    RequestBuilder builder = validRequest();
    builder.request().inputs[0].dimensions = {0, 3};
    EXPECT_TRUE(validate(builder.request()).ok());
}

TEST(ValidateRequest, LeavesOutputDimensionsOpenFrom1_2) {
    for (const std::vector<uint32_t>& dimensions :
         std::vector<std::vector<uint32_t>>{{}, {0, 3}, {0, 0}}) {
        RequestBuilder builder = validRequest();
        builder.request().outputs[0].dimensions = dimensions;
        expectInvalid(builder.request(), "before 1.2", HalVersion::V1_1);
        EXPECT_TRUE(validate(builder.request(), HalVersion::V1_2).ok());
    }
}

TEST(ValidateRequest, TakesTokensFrom13On) {
    RequestBuilder builder = validRequest();
    builder.request().pools.emplace_back(1U);
    EXPECT_TRUE(validate(builder.request()).ok());
    expectInvalid(builder.request(), "a token before 1.3", HalVersion::V1_2);
    builder.request().pools.back() = 0U;
    expectInvalid(builder.request(), "which no buffer has");
}

TEST(ValidateRequest, LeavesToABufferWhatItKnows) {
    RequestBuilder builder = validRequest();
    builder.request().pools[0] = 1U;
    RequestArgument& input = builder.request().inputs[0];
    expectInvalid(builder.request(), "bytes of a buffer");
    input.location.length = 0;
    EXPECT_TRUE(validate(builder.request()).ok());
    input.location.offset = 1;
    expectInvalid(builder.request(), "an offset in a buffer");
}

TEST(ValidateRequest, RejectsPoolsWithoutHandleOrWithUnknownName) {
    RequestBuilder builder = validRequest();
    auto pool = std::make_shared<FakeMemory>(24);
    pool->hasHandle = false;
    builder.request().pools[0] = SharedMemory(pool);
    expectInvalid(builder.request(), "no handle");
    builder.request().pools[0] = SharedMemory();
    expectInvalid(builder.request(), "no memory");
    pool = std::make_shared<FakeMemory>(24);
    pool->memoryName = "";
    builder.request().pools[0] = SharedMemory(pool);
    expectInvalid(builder.request(), "no name");
    pool->memoryName = "hardware_buffer";
    expectInvalid(builder.request(), "a hardware buffer before 1.2", HalVersion::V1_1);
    EXPECT_TRUE(validate(builder.request(), HalVersion::V1_2).ok());
}

TEST(ValidateRequest, NamesTheArgumentAndTheRule) {
    RequestBuilder builder = validRequest();
    builder.request().outputs[0].dimensions = {2, 4};
    const Status status = validate(builder.request());
    EXPECT_NE(status.message().find("output 0: dimension 1 is 4"), std::string_view::npos)
            << status.message();
}

TEST(ValidateRequest, RejectsAnInputShorterThanItsOperand) {
    RequestBuilder builder = validRequest();
    builder.request().inputs[0].location.length = 23;
    expectInvalid(builder.request(), "23 of 24 bytes");
    builder.request().inputs[0].location = {0, 4, 20};
    expectInvalid(builder.request(), "20 of 24 bytes");
}

TEST(ValidateRequest, RefusesRanksAndExtentsBeyondTheEngine) {
    ModelBuilder model;
    const uint32_t input = model.input(floats({}));
    model.operation(OperationType::RELU, {input}, {model.output(floats({}))});
    const ModelBoundary open = boundaryOf(model.build().main);
    RequestShapes shapes;
    for (const std::vector<uint32_t>& dimensions : std::vector<std::vector<uint32_t>>{
                 std::vector<uint32_t>(17, 1), {0x80000000}, {0xFFFFFFFF}}) {
        RequestBuilder builder;
        builder.input<float>({1}, dimensions).output(4);
        EXPECT_EQ(resolveRequest(builder.request(), open, HalVersion::V1_3, shapes).code(),
                  StatusCode::UNSUPPORTED);
    }
    RequestBuilder builder;
    builder.input<float>({1}, {0x7FFFFFFF, 0x7FFFFFFF, 4}).output(4);
    EXPECT_FALSE(resolveRequest(builder.request(), open, HalVersion::V1_3, shapes).ok());
}

TEST(RequestShapes, TakeEachExtentFromWhoKnowsIt) {
    RequestBuilder builder;
    builder.input<float>({1, 2, 3, 4, 5, 6}, {0, 3}).input<int32_t>({7}).output(24, {2, 0});
    RequestShapes shapes;
    ASSERT_TRUE(resolveRequest(builder.request(), boundary(), HalVersion::V1_2, shapes).ok());
    ASSERT_EQ(shapes.inputs.size(), 2U);
    EXPECT_EQ(shapes.inputs[0], (engine::Shape{2, 3}));
    EXPECT_EQ(shapes.inputs[1], engine::Shape());
    EXPECT_EQ(shapes.inputBytes, (std::vector<size_t>{24, 4}));
    ASSERT_EQ(shapes.outputs.size(), 1U);
    EXPECT_EQ(shapes.outputs[0], (engine::Shape{2, 3}));
}

TEST(RequestShapes, LeaveUnknownExtentsOpen) {
    RequestBuilder builder = validRequest();
    builder.request().outputs[0].dimensions = {};
    RequestShapes shapes;
    ASSERT_TRUE(resolveRequest(builder.request(), boundary(), HalVersion::V1_2, shapes).ok());
    EXPECT_EQ(shapes.outputs[0], (engine::Shape{engine::kUnknownDimension, 3}));
    builder.request().inputs[0] = {.hasNoValue = true, .location = {}, .dimensions = {}};
    ASSERT_TRUE(resolveRequest(builder.request(), boundary(), HalVersion::V1_2, shapes).ok());
    EXPECT_EQ(shapes.inputs[0], engine::Shape::unknownRank());
    EXPECT_EQ(shapes.inputBytes[0], 0U);
    EXPECT_EQ(shapes.inputs.size(), 2U) << "nothing is left of the request before";
}

}  // namespace
}  // namespace halyard::driver
