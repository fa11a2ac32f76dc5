// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/saved_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "engine/base/checksum.h"
#include "engine/base/section_file.h"
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

TEST_F(SavedModels, HaveAPriorityThatThereIs) {
    PrepareOptions options;
    options.priority = static_cast<Priority>(99);
    EXPECT_EQ(mDevice->load(*saved(*mModel), options).status().message(), "priority 99 is unknown");
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

// The file with another section "model", which is no longer than that was, and the checksum of it.
std::shared_ptr<FileMemory> changed(const FileMemory& file,
                                    const std::function<std::vector<uint8_t>(SavedModel)>& change) {
    std::vector<uint8_t> bytes(file.map()->begin(), file.map()->end());
    constexpr std::string_view kName("\5\0\0\0model\0", 10);  // and that it is a description
    const auto row = std::search(bytes.begin(), bytes.end(), kName.begin(), kName.end());
    std::array<uint64_t, 2> place = {};  // its offset and size
    std::memcpy(place.data(), &*row + kName.size(), sizeof place);
    const std::vector<uint8_t> content =
            change(savedModelFrom(std::span(bytes).subspan(place[0], place[1])).value());
    EXPECT_LE(content.size(), place[1] + 1);
    std::ranges::copy(content, bytes.begin() + static_cast<ptrdiff_t>(place[0]));
    place[1] = content.size();
    std::memcpy(&*row + kName.size(), place.data(), sizeof place);
    Checksum sum;
    sum.add(std::span(bytes).first(bytes.size() - sizeof(uint64_t)));
    const uint64_t value = sum.value();
    std::memcpy(&*(bytes.end() - sizeof value), &value, sizeof value);
    return std::make_shared<FileMemory>(bytes);
}

TEST_F(SavedModels, AreHeldToWhatTheirProgramHas) {
    const auto file = saved(*mModel);
    const auto load = [&](const std::function<std::vector<uint8_t>(SavedModel)>& change) {
        return mDevice->load(*changed(*file, change), {}).status();
    };
    const auto loadWith = [&](const std::function<void(SavedModel&)>& change) {
        return load([&](SavedModel model) {
            change(model);
            return toBytes(model);
        });
    };
    EXPECT_TRUE(loadWith([](SavedModel& /*model*/) {}).ok());
    constexpr std::string_view kOthers = "the model and its program have other inputs and outputs";
    EXPECT_EQ(loadWith([](SavedModel& model) { model.boundary.inputs.clear(); }).message(),
              kOthers);
    EXPECT_EQ(loadWith([](SavedModel& model) { model.boundary.outputs.clear(); }).message(),
              kOthers);
    EXPECT_EQ(loadWith([](SavedModel& model) {
                  model.boundary.inputs[0].type = static_cast<OperandType>(9999);
              }).code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(loadWith([](SavedModel& model) { model.footprint = uint64_t{1} << 50; }).code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(load([](const SavedModel& model) {
                  std::vector<uint8_t> bytes = toBytes(model);
                  ++bytes[0];
                  return bytes;
              }).code(),
              StatusCode::UNSUPPORTED);
    EXPECT_EQ(load([](const SavedModel& model) {
                  std::vector<uint8_t> bytes = toBytes(model);
                  bytes.push_back(0);
                  return bytes;
              }).message(),
              "there is more than the model's boundary");
}

// So that a file of small things, each of which becomes a large one, is refused before it becomes
// anything: this one would show its last byte only to who has read it all.
TEST(SavedModelFiles, ArePaidForBeforeTheyAreRead) {
    SavedModel model;
    model.boundary.inputs.resize(100'000);
    for (Operand& operand : model.boundary.inputs) {
        operand.type = OperandType::TENSOR_FLOAT32;
    }
    std::vector<uint8_t> bytes = toBytes(model);
    bytes.push_back(0);
    SectionWriter writer;
    writer.addDescription("model", std::move(bytes));
    VectorSink sink;
    ASSERT_TRUE(writer.writeTo(sink).ok());
    const auto file = std::make_shared<FileMemory>(sink.bytes);
    const auto codeOf = [&](size_t mebibytes) {
        Options options;
        options.maxMemoryMib = 1024;
        options.maxClientMemoryMib = mebibytes;
        const auto device = makeTunedDevice(options);
        PrepareOptions prepare;
        prepare.client = device->client({.pid = 1, .uid = 1}).value();
        const StatusCode code = device->load(*file, prepare).status().code();
        EXPECT_EQ(prepare.client->account().memory->reserved(), 0U);
        return code;
    };
    EXPECT_EQ(codeOf(4), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(codeOf(256), StatusCode::INVALID_ARGUMENT);
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
