// SPDX-License-Identifier: Apache-2.0
//
// Marks of --atrace, in an ordinary file in place of the kernel's trace.

#include "driver/trace/trace_marker.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "driver/trace/trace_contract.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

class Marking : public testing::Test {
  protected:
    Marking() { std::ofstream(mPath).flush(); }
    ~Marking() override { std::filesystem::remove(mPath); }

    std::string text() const {
        std::ifstream file(mPath, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    // Without what stands before the name, so that tests name no process.
    std::vector<std::string> marks() const {
        std::ifstream file(mPath);
        std::vector<std::string> lines;
        const std::string process = "|" + std::to_string(getpid());
        for (std::string line; std::getline(file, line);) {
            EXPECT_EQ(line.substr(1, process.size()), process) << line;
            lines.push_back(line.substr(0, 1) + line.substr(1 + process.size()));
        }
        return lines;
    }

    std::unique_ptr<Device> device() {
        Options options;
        options.traceMarkerFile = mPath.string();
        return makeDevice(options);
    }

    const std::filesystem::path mPath = std::filesystem::path(testing::TempDir()) /
                                        ("halyard_trace_marker_" + std::to_string(getpid()));
};

TEST_F(Marking, MarksWhatIsPreparedAndExecuted) {
    const std::unique_ptr<Device> device = this->device();
    const auto model = *device->prepare(reluModel(), HalVersion::V1_0, {});
    RequestBuilder request;
    request.input<float>({-1, 2, -3, 4}).output(16);
    ASSERT_TRUE(model->execute(request.request(), HalVersion::V1_0, {}).status.ok());
    EXPECT_EQ(marks(), (std::vector<std::string>{
                               "B|[NN_LD_PC]prepareModel",
                               "E",
                               "C|halyard requests|1",
                               "B|[NN_LD_PE]execute",
                               "B|[NN_LD_PIO]bind",
                               "E",
                               "B|[NN_LD_PE]partition on CpuRef",
                               "B|[NN_LC_PCO]operation 0 (RELU)",
                               "E",
                               "E",
                               "B|[NN_LD_PR]settle",
                               "E",
                               "E",
                               "C|halyard requests|0",
                       }));
}

// Slices that have begun end, wherever the run breaks off.
TEST_F(Marking, EndsWhatAFailedRunHasBegun) {
    ModelBuilder builder;
    const uint32_t values = builder.input(floats({2}));
    const uint32_t axis = builder.int32(0);
    const uint32_t indices = builder.input({OperandType::TENSOR_INT32, {1}});
    builder.operation(OperationType::GATHER, {values, axis, indices},
                      {builder.output(floats({1}))});
    const std::unique_ptr<Device> device = this->device();
    const auto model = *device->prepare(builder.build(), HalVersion::V1_2, {});
    RequestBuilder request;
    request.input<float>({1, 2}).input<int32_t>({7}).output(4);
    ASSERT_FALSE(model->execute(request.request(), HalVersion::V1_2, {}).status.ok());
    int depth = 0;
    bool computed = false;
    for (const std::string& mark : marks()) {
        depth += mark.starts_with("B") ? 1 : mark.starts_with("E") ? -1 : 0;
        EXPECT_GE(depth, 0) << mark;
        computed |= mark == "B|[NN_LC_PCO]operation 0 (GATHER)";
    }
    EXPECT_TRUE(computed);
    EXPECT_EQ(depth, 0);
    EXPECT_EQ(marks().back(), "C|halyard requests|0");
}

TEST_F(Marking, ANameIsOneFieldOfOneLine) {
    const auto marker = *TraceMarker::open(mPath.string());
    marker->begin("a|b\nc");
    marker->begin(std::string(5000, 'x'));
    EXPECT_EQ(marks()[0], "B|a_b_c");
    EXPECT_LT(marks()[1].size(), 1000U);
}

TEST_F(Marking, AnOrdinaryFileGrowsOnlySoFar) {
    const auto marker = *TraceMarker::open(mPath.string());
    const std::string name(400, 'x');
    for (size_t i = 0; i < TraceMarker::kMostFileBytes / name.size() + 10; ++i) {
        marker->begin(name);
    }
    EXPECT_LE(std::filesystem::file_size(mPath), TraceMarker::kMostFileBytes);
    EXPECT_GT(std::filesystem::file_size(mPath), TraceMarker::kMostFileBytes - 1000);
}

TEST_F(Marking, NothingIsMarkedUnlessItIsAsked) {
    const std::unique_ptr<Device> device = makeDevice();
    ASSERT_TRUE(device->prepare(reluModel(), HalVersion::V1_0, {}).ok());
    EXPECT_EQ(text(), "");
    EXPECT_EQ(*TraceMarker::open(""), nullptr);
}

TEST_F(Marking, RefusesWhatCanNotBeMarked) {
    Options options;
    options.traceMarkerFile = mPath.string() + ".missing";
    Status refused = Device::create(options).status();
    EXPECT_EQ(refused.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(refused.message().find("--atrace: can't open"), std::string::npos);
    EXPECT_NE(refused.message().find("No such file"), std::string::npos);
    // A pipe's reader could keep the driver waiting.
    const std::string pipe = mPath.string() + ".pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    refused = TraceMarker::open(pipe).status();
    EXPECT_NE(refused.message().find("neither tracefs's trace_marker nor an ordinary file"),
              std::string::npos)
            << refused.message();
    close(reader);
    std::filesystem::remove(pipe);
}

TEST(TraceContract, NamesALayerAPhaseAndADetail) {
    EXPECT_EQ(driverSlice(TracePhase::COMPILATION, "prepareModel"), "[NN_LD_PC]prepareModel");
    EXPECT_EQ(sliceOf({.kind = engine::Trace::Kind::PARTITION, .name = "CpuAcc"}),
              "[NN_LD_PE]partition on CpuAcc");
    EXPECT_EQ(sliceOf({.kind = engine::Trace::Kind::COPY, .name = "to Far"}),
              "[NN_LC_PTR]copy to Far");
    EXPECT_EQ(sliceOf({.kind = engine::Trace::Kind::NODE, .name = "a kernel"}),
              "[NN_LC_PCO]a kernel");
}

}  // namespace
}  // namespace halyard::driver
