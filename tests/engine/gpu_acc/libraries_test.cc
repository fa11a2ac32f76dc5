// SPDX-License-Identifier: Apache-2.0
//
// Which libraries GpuAcc looks for OpenCL's devices in, and what it says of those that it leaves.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "tests/engine/gpu_acc/fake_device.h"

namespace halyard::engine::gpu_test {
namespace {

using gpu::Device;
using gpu::OpenCl;
using gpu::OpenClPaths;

constexpr const char* kProcessor =
        HALYARD_BACKENDS "/fake_opencl_is_a_processor/fake_opencl_is_a_processor.so";
constexpr const char* kForLoaders =
        HALYARD_BACKENDS "/fake_opencl_for_loaders/fake_opencl_for_loaders.so";

class OpenClLibraries : public testing::Test {
  protected:
    void SetUp() override {
        if (!OpenCl::canLoad()) {
            GTEST_SKIP() << "this program loads no libraries";
        }
        sLog.clear();
        setLogSink([](LogLevel /*level*/, std::string_view line) { sLog += line; });
    }
    void TearDown() override { setLogSink(nullptr); }

    static Result<std::shared_ptr<const Device>> open(const OpenClPaths& paths,
                                                      const std::string& device = "") {
        return Device::open({.library = "", .device = device, .searched = paths});
    }

    static std::string sLog;  // what a sink writes to
};
std::string OpenClLibraries::sLog;

TEST_F(OpenClLibraries, AreVendorsWhereTheLoaderListsOnlyAProcessor) {
    const auto device = open({.loaders = {"/nowhere/libOpenCL.so", kProcessor},
                              .vendors = {"libnowhere-opencl.so.1", "libm.so.6", kFakeOpenCl}});
    ASSERT_TRUE(device.ok()) << device.status().toString();
    EXPECT_EQ((*device)->facts().name, "Fake GPU");
    for (const char* const said :
         {"GpuAcc takes Fake GPU from ", kFakeOpenCl, "libnowhere-opencl.so.1 (", "No such file",
          "libm.so.6 (libm.so.6 has no clGet"}) {
        EXPECT_NE(sLog.find(said), std::string::npos) << said << " in " << sLog;
    }
}

TEST_F(OpenClLibraries, AreVendorsWhereThereIsNoLoader) {
    const auto device = open({.loaders = {"/nowhere/libOpenCL.so", "/nowhere/libOpenCL.so.1"},
                              .vendors = {kFakeOpenCl}});
    ASSERT_TRUE(device.ok()) << device.status().toString();
    EXPECT_EQ((*device)->facts().name, "Fake GPU");
    EXPECT_NE(sLog.find("none of /nowhere/libOpenCL.so, /nowhere/libOpenCL.so.1 loads"),
              std::string::npos)
            << sLog;
}

// NVIDIA's and Intel's have no functions of OpenCL to be found by their names.
TEST_F(OpenClLibraries, MayBeForLoadersAlone) {
    const auto device = open({.loaders = {kProcessor}, .vendors = {kForLoaders}});
    ASSERT_TRUE(device.ok()) << device.status().toString();
    EXPECT_EQ((*device)->facts().name, "Fake GPU");
    const auto backend =
            makeGpuAcc({.choice = {.library = kForLoaders, .device = ""}, .compilesApart = false});
    ASSERT_TRUE(backend.ok()) << backend.status().toString();
    Graph graph;
    const TensorId x = graph.addTensor(float32({4}));
    graph.setInputs({x});
    graph.setOutputs({addNode(graph, Softmax(), {x})});
    Execution execution = Execution::create(buildOrDie(graph, {backend->get()})).value();
    const Floats in(4);
    Floats out(4);
    const Status run = runOnce(execution, {bindInput(in)}, {bindOutput(out)});
    EXPECT_TRUE(run.ok()) << run.toString();
}

TEST_F(OpenClLibraries, AreNotTriedWhereTheLoaderHasAGpu) {
    const auto device = open({.loaders = {kFakeOpenCl}, .vendors = {"libnowhere-opencl.so.1"}});
    ASSERT_TRUE(device.ok()) << device.status().toString();
    EXPECT_EQ(sLog.find("nowhere"), std::string::npos) << sLog;
    // Nor where it is named.
    EXPECT_EQ(Device::open({.library = kProcessor, .device = ""}).status().message(),
              "there is no OpenCL device that could be used; those there are: 0: Fake processor (a "
              "processor, which is taken where it is named)");
}

TEST_F(OpenClLibraries, AreNamedWithTheReasonWhereNoneIsTaken) {
    const Status none =
            open({.loaders = {kProcessor}, .vendors = {"libnowhere.so.1", kProcessor}}).status();
    EXPECT_EQ(none.code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(none.message(),
              "there is no OpenCL device that could be used; those there are: 0: Fake processor (a "
              "processor, which is taken where it is named); also tried: libnowhere.so.1 (cannot "
              "open shared object file: No such file or directory)");
    const Status nowhere =
            open({.loaders = {"/nowhere/libOpenCL.so"}, .vendors = {"libnowhere.so.1"}}).status();
    EXPECT_EQ(nowhere.code(), StatusCode::UNAVAILABLE);
    EXPECT_NE(nowhere.message().find("also tried: libnowhere.so.1 ("), std::string::npos)
            << nowhere.toString();
}

TEST_F(OpenClLibraries, AreCountedTogetherByNumber) {
    const OpenClPaths paths = {.loaders = {kProcessor}, .vendors = {kFakeOpenCl}};
    EXPECT_EQ(open(paths, "0").value()->facts().name, "Fake processor");
    EXPECT_EQ(open(paths, "1").value()->facts().name, "Fake GPU");
    EXPECT_EQ(open(paths, "processor").value()->facts().name, "Fake processor");
    EXPECT_EQ(open(paths, "2").status().code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(OpenClLibraries, AreThoseOfVendorsThatContainersBring) {
    const std::vector<std::string> vendors = OpenClPaths::usual().vendors;
    for (const char* const name : {"libnvidia-opencl.so.1", "libmali.so", "libGLES_mali.so",
                                   "libOpenCL_adreno.so", "libigdrcl.so"}) {
        EXPECT_NE(std::ranges::find(vendors, name), vendors.end()) << name;
    }
}

}  // namespace
}  // namespace halyard::engine::gpu_test
