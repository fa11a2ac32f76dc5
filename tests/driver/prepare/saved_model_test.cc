// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/saved_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/device.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"
#include "tests/engine/base/file_bytes.h"

namespace halyard::driver {
namespace {

std::unique_ptr<Device> makeTunedDevice(Options options = {}) {
    options.backends = {"CpuAcc"};
    options.threads = 1;
    return Device::create(std::move(options)).value();
}

// A file in memory, which its owner may change, or cut short.
class FileMemory final : public ResidentMemory {
  public:
    explicit FileMemory(std::span<const uint8_t> bytes) : mBytes(bytes) {}

    std::string_view name() const override { return "mmap_fd"; }
    bool intact() const override { return isIntact; }
    void flip(size_t at) { mBytes.flip(at); }

    bool isIntact = true;

  private:
    std::span<uint8_t> all() const override {
        const std::span<const uint8_t> bytes = mBytes.bytes();
        return {const_cast<uint8_t*>(bytes.data()), bytes.size()};
    }

    FileBytes mBytes;
};

std::shared_ptr<FileMemory> saved(const PreparedModel& model) {
    VectorSink sink;
    EXPECT_TRUE(model.save(sink).ok());
    return std::make_shared<FileMemory>(sink.bytes);
}

// The status, and the output.
std::pair<StatusCode, std::vector<float>> run(const PreparedModel& model) {
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}).output(8 * sizeof(float));
    const StatusCode code = model.execute(request.request(), HalVersion::V1_3, {}).status.code();
    return {code, request.result<float>(0, 8)};
}

class SavedModels : public testing::Test {
  protected:
    const std::unique_ptr<Device> mDevice = makeTunedDevice();
    const std::shared_ptr<PreparedModel> mModel =
            mDevice->prepare(floatConvModel(), HalVersion::V1_3, {}).value();
};

TEST_F(SavedModels, ExecuteAsTheyDid) {
    const auto file = saved(*mModel);
    const auto expected = run(*mModel);
    ASSERT_EQ(expected.first, StatusCode::OK);
    const auto other = makeTunedDevice();
    const auto loaded = other->load(*file, {});
    ASSERT_TRUE(loaded.ok()) << loaded.status().toString();
    EXPECT_EQ(run(**loaded), expected);
    EXPECT_EQ((*loaded)->program().constantsFilled(), 0U);
    EXPECT_GT(mModel->program().constantsFilled(), 0U);
}

TEST_F(SavedModels, AreChargedToTheirClient) {
    const auto file = saved(*mModel);
    const auto device = makeTunedDevice();
    const auto client = device->client({.pid = 1, .uid = 1}).value();
    const Account& account = client->account();
    const size_t before = account.memory->reserved();
    {
        PrepareOptions options;
        options.client = client;
        const auto loaded = device->load(*file, options).value();
        EXPECT_GT(account.memory->reserved(), before);
        EXPECT_EQ(account.models->reserved(), 1U);
    }
    EXPECT_EQ(account.memory->reserved(), before);
    EXPECT_EQ(account.models->reserved(), 0U);
}

TEST_F(SavedModels, AreRefusedByDevicesOfOtherOptions) {
    const auto file = saved(*mModel);
    Options options;
    options.precision = engine::FloatPrecision::BFLOAT16;
    const Status status = makeTunedDevice(options)->load(*file, {}).status();
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_NE(status.message().find("prepared with other options"), std::string_view::npos);
}

TEST_F(SavedModels, FailOnceTheirFileWasCutShort) {
    const auto file = saved(*mModel);
    const auto loaded = mDevice->load(*file, {}).value();
    file->isIntact = false;
    EXPECT_NE(run(*loaded).first, StatusCode::OK);
    EXPECT_FALSE(mDevice->load(*file, {}).ok());
}

TEST_F(SavedModels, AreRefusedWhateverByteIsFlippedAndWhereverTheyAreCut) {
    const auto file = saved(*mModel);
    const std::vector<uint8_t> bytes(file->map()->begin(), file->map()->end());
    for (size_t at = 0; at < bytes.size(); ++at) {
        file->flip(at);
        ASSERT_FALSE(mDevice->load(*file, {}).ok()) << at;
        file->flip(at);
    }
    ASSERT_TRUE(mDevice->load(*file, {}).ok());
    for (size_t size = 0; size < bytes.size(); ++size) {
        const auto cut = std::make_shared<FileMemory>(std::span(bytes).first(size));
        ASSERT_FALSE(mDevice->load(*cut, {}).ok()) << size;
    }
}

TEST(SavedModel, BringsItsBoundaryBack) {
    SavedModel model;
    model.footprint = 12345;
    model.settings = "as ever";
    Operand operand;
    operand.type = OperandType::TENSOR_QUANT8_ASYMM;
    operand.dimensions = {1, 0, 3};
    operand.scale = 0.5F;
    operand.zeroPoint = 7;
    model.boundary.inputs.push_back(operand);
    operand.type = OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL;
    operand.dimensions = {2};
    operand.extraParams = SymmPerChannelQuantParams{.scales = {1, 2}, .channelDim = 0};
    model.boundary.inputs.push_back(operand);
    model.boundary.outputs.emplace_back().type = OperandType::INT32;
    const std::vector<uint8_t> bytes = toBytes(model);
    const Result<SavedModel> back = savedModelFrom(bytes);
    ASSERT_TRUE(back.ok()) << back.status().toString();
    EXPECT_EQ(toBytes(*back), bytes);
    EXPECT_EQ(back->footprint, 12345U);
    EXPECT_EQ(back->boundary.inputs[0].dimensions, (std::vector<uint32_t>{1, 0, 3}));
    EXPECT_EQ(back->boundary.inputs[0].lifetime, OperandLifeTime::SUBGRAPH_INPUT);
    for (size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(savedModelFrom(std::span(bytes).first(size)).ok()) << size;
    }
}

}  // namespace
}  // namespace halyard::driver
