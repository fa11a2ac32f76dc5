// SPDX-License-Identifier: Apache-2.0
//
// GpuAcc on an OpenCL library that fails on demand, at each call of each function: what fails says
// which call it was, releases what it had, and leaves the next one to go well.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "engine/backends/gpu/gpu_acc.h"
#include "engine/backends/gpu/opencl/open_cl.h"
#include "engine/backends/gpu/programs/compiler_process.h"
#include "engine/backends/loaded/library.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/budget.h"
#include "engine/base/log.h"
#include "engine/plan/profile.h"
#include "engine/plan/program.h"
#include "tests/engine/base/file_bytes.h"
#include "tests/engine/gpu_acc/fake_device.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine::gpu_test {
namespace {

class GpuAccOnAFailingDevice : public OnAFakeDevice {
  protected:
    // softmax(x), of which there are several variants.
    static Graph tunedGraph() {
        Graph graph;
        const TensorId x = graph.addTensor(float32({500}));
        graph.setInputs({x});
        graph.setOutputs({addNode(graph, Softmax(), {x})});
        return graph;
    }
};

// Functions without which all goes on: what they would tell is not needed, or can't be helped.
bool canBeDoneWithout(std::string_view function) {
    return function == "clGetProgramInfo" || function == "clGetProgramBuildInfo" ||
           function == "clGetEventProfilingInfo" || function == "clGetPlatformInfo" ||
           function.starts_with("clRelease");
}

class GpuAccOnADeviceThatShares : public GpuAccOnAFailingDevice,
                                  public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Memory, GpuAccOnADeviceThatShares, testing::Bool());

TEST_P(GpuAccOnADeviceThatShares, FailsWithTheCallThatFailed) {
    share(GetParam());
    ASSERT_TRUE(live().ok()) << live().toString();
    constexpr const char* kFunctions[] = {
#define HALYARD_OPENCL_FUNCTION(name) #name,
#include "engine/backends/gpu/opencl/functions.inc"
#undef HALYARD_OPENCL_FUNCTION
    };
    for (const char* const function : kFunctions) {
        int calls = 0;
        while (true) {
            fail(function, calls + 1);
            const Status status = live();
            if (!failed()) {
                EXPECT_TRUE(status.ok()) << status.toString();
                break;
            }
            ++calls;
            const std::string call = std::string(function) + " " + std::to_string(calls);
            if (canBeDoneWithout(function)) {
                EXPECT_TRUE(status.ok()) << call << ": " << status.toString();
            } else if (std::string_view(function) == "clGetDeviceIDs") {
                EXPECT_EQ(status.code(), StatusCode::UNAVAILABLE) << "a platform has no device";
            } else {
                EXPECT_FALSE(status.ok()) << call;
                EXPECT_NE(status.message().find(function), std::string_view::npos)
                        << call << ": " << status.toString();
                EXPECT_NE(status.message().find("CL_OUT_OF_HOST_MEMORY (-6)"),
                          std::string_view::npos)
                        << call << ": " << status.toString();
            }
            EXPECT_EQ(mDeviceMemory->reserved(), 0U) << call;
            fail("", 0);
            EXPECT_EQ(this->call<int()>("fake_opencl_alive")(), 0) << call;
            ASSERT_TRUE(live().ok()) << "after " << call;
        }
        // Nothing fails here, so that the compiler's log is not asked for; no block is copied to
        // another; no command buffers are kept.
        const std::string_view name = function;
        const bool copies = name == "clEnqueueReadBuffer" || name == "clEnqueueWriteBuffer" ||
                            name == "clWaitForEvents";
        const bool maps = name == "clEnqueueUnmapMemObject" || name == "clEnqueueMapBuffer";
        EXPECT_TRUE(calls > 0 || name == "clGetProgramBuildInfo" || name == "clEnqueueCopyBuffer" ||
                    name == "clCreateProgramWithBinary" ||
                    name == "clGetExtensionFunctionAddressForPlatform" ||
                    (GetParam() ? copies : maps))
                << function << " is never called";
    }
}

TEST_F(GpuAccOnAFailingDevice, SaysWhyAProgramDoesNotBuild) {
    fail("clBuildProgram", 1, CL_BUILD_PROGRAM_FAILURE);
    EXPECT_EQ(live().message(),
              "GpuAcc: node: kernel softmax: line 1: no: clBuildProgram() failed: "
              "CL_BUILD_PROGRAM_FAILURE (-11)");
}

TEST_F(GpuAccOnAFailingDevice, TellsMemoryThatIsShortFromADeviceThatIsLost) {
    fail("clCreateBuffer", 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    EXPECT_EQ(live().code(), StatusCode::RESOURCE_EXHAUSTED);
    fail("clEnqueueNDRangeKernel", 1, CL_OUT_OF_RESOURCES);
    EXPECT_EQ(live().code(), StatusCode::RESOURCE_EXHAUSTED);
    fail("clFinish", 1, CL_OUT_OF_RESOURCES);
    EXPECT_EQ(live().code(), StatusCode::INTERNAL);
    fail("clFinish", 1, CL_DEVICE_NOT_AVAILABLE);
    EXPECT_EQ(live().code(), StatusCode::INTERNAL);
}

TEST_F(GpuAccOnAFailingDevice, FailsEveryRunOnALostDeviceAndEnds) {
    const std::unique_ptr<const Backend> backend = open().value();
    Execution execution = Execution::create(buildOrDie(graph(), {backend.get()})).value();
    const auto run = [&] {
        const Floats in(kWidth, 1.0F);
        Floats out(kWidth);
        return runOnce(execution, {bindInput(in)}, {bindOutput(out)});
    };
    ASSERT_TRUE(run().ok());
    call<void(int)>("fake_opencl_lose")(CL_OUT_OF_RESOURCES);
    EXPECT_FALSE(run().ok());
    for (int i = 0; i < 3; ++i) {
        const Status status = run();
        EXPECT_EQ(status.code(), StatusCode::INTERNAL);
        EXPECT_NE(status.message().find("the device is lost: clFinish() failed"),
                  std::string_view::npos)
                << status.toString();
    }
}

TEST_F(GpuAccOnAFailingDevice, LeavesToOthersWhatIsPreparedOnceItIsLost) {
    const std::unique_ptr<const Backend> backend = open().value();
    const std::unique_ptr<const Backend> other = makeCpuRef();
    const auto placed = [&] {
        return std::string(
                buildOrDie(graph(), {backend.get(), other.get()})->placement().front().backend);
    };
    EXPECT_EQ(placed(), "GpuAcc");
    // A step that has failed once is not lost.
    Execution execution = Execution::create(buildOrDie(graph(), {backend.get()})).value();
    const Floats in(kWidth, 1.0F);
    Floats out(kWidth);
    fail("clEnqueueReadBuffer", 1, CL_OUT_OF_RESOURCES);
    EXPECT_FALSE(runOnce(execution, {bindInput(in)}, {bindOutput(out)}).ok());
    EXPECT_EQ(placed(), "GpuAcc");
    call<void(int)>("fake_opencl_lose")(CL_OUT_OF_RESOURCES);
    EXPECT_FALSE(runOnce(execution, {bindInput(in)}, {bindOutput(out)}).ok());
    EXPECT_EQ(placed(), "CpuRef");
}

TEST_F(GpuAccOnAFailingDevice, ChargesWhatItTakesOnTheDevice) {
    const std::unique_ptr<const Backend> backend = open().value();
    const auto build = [&](const std::shared_ptr<Budget>& budget) {
        return Program::build(analyze(graph(), {backend.get()}, nullptr).value(), {backend.get()},
                              {.memory = nullptr, .deviceMemory = budget});
    };
    {
        const auto program = build(mDeviceMemory);
        ASSERT_TRUE(program.ok()) << program.status().toString();
        EXPECT_GE(mDeviceMemory->reserved(), kWidth * sizeof(float)) << "the numbers";
    }
    EXPECT_EQ(mDeviceMemory->reserved(), 0U);
    const auto tooLarge = build(std::make_shared<Budget>(8));
    EXPECT_EQ(tooLarge.status().code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_NE(tooLarge.status().message().find("Fake GPU"), std::string_view::npos)
            << tooLarge.status().toString();
}

TEST_F(GpuAccOnAFailingDevice, BuildsNothingForAProgramThatComesBack) {
    const auto counted = [&](const char* what) { return call<int()>(what)(); };
    SectionWriter writer;
    {
        const std::unique_ptr<const Backend> backend = open().value();
        const auto program = buildOrDie(graph(), {backend.get()});
        program->save(writer, SavedBlobs::ALL);
        const FileBytes file = FileBytes::of(writer);
        const int built = counted("fake_opencl_built");
        const int loaded = counted("fake_opencl_loaded");
        const std::unique_ptr<const Backend> other = open().value();
        const auto again = Program::load(SectionFile::open(file.owner(), file.bytes()).value(),
                                         SavedBytes::AUTHENTIC, {other.get()}, {});
        ASSERT_TRUE(again.ok()) << again.status().toString();
        EXPECT_EQ(counted("fake_opencl_built"), built);
        EXPECT_EQ(counted("fake_opencl_loaded"), loaded + 2) << "a softmax and a sum";
        // A binary that the driver does not take is built anew.
        fail("clCreateProgramWithBinary", 1, CL_INVALID_BINARY);
        const std::unique_ptr<const Backend> third = open().value();
        EXPECT_TRUE(Program::load(SectionFile::open(file.owner(), file.bytes()).value(),
                                  SavedBytes::AUTHENTIC, {third.get()}, {})
                            .ok());
        EXPECT_EQ(counted("fake_opencl_built"), built + 1);
    }
}

// A program that came in a file is for clients that bring it, not for those that would have it
// built.
TEST_F(GpuAccOnAFailingDevice, GivesAProgramThatCameBackToNoOther) {
    const auto counted = [&](const char* what) { return call<int()>(what)(); };
    SectionWriter writer;
    const std::unique_ptr<const Backend> backend = open().value();
    const auto program = buildOrDie(graph(), {backend.get()});
    program->save(writer, SavedBlobs::ALL);
    const FileBytes file = FileBytes::of(writer);
    const std::unique_ptr<const Backend> other = open().value();
    const auto load = [&](SavedBytes trust) {
        const auto again = Program::load(SectionFile::open(file.owner(), file.bytes()).value(),
                                         trust, {other.get()}, {});
        ASSERT_TRUE(again.ok()) << again.status().toString();
    };
    const int built = counted("fake_opencl_built");
    const int loaded = counted("fake_opencl_loaded");
    load(SavedBytes::AUTHENTIC);
    load(SavedBytes::AUTHENTIC);
    EXPECT_EQ(counted("fake_opencl_loaded"), loaded + 2) << "once for all who bring the same";
    buildOrDie(graph(), {other.get()});
    EXPECT_EQ(counted("fake_opencl_built"), built + 2) << "who brings nothing has it built";
    load(SavedBytes::AUTHENTIC);
    load(SavedBytes::PRIVATE);
    EXPECT_EQ(counted("fake_opencl_built"), built + 2);
    EXPECT_EQ(counted("fake_opencl_loaded"), loaded + 2) << "what is built is for all";
    const std::unique_ptr<const Backend> third = open().value();
    ASSERT_TRUE(Program::load(SectionFile::open(file.owner(), file.bytes()).value(),
                              SavedBytes::PRIVATE, {third.get()}, {})
                        .ok());
    EXPECT_EQ(counted("fake_opencl_built"), built + 4) << "what anybody may have made is not taken";
    EXPECT_EQ(counted("fake_opencl_loaded"), loaded + 2);
}

TEST_F(GpuAccOnAFailingDevice, GivesBackWhatMeasuringTookHoweverItFails) {
    setLogThreshold(LogLevel::ERROR);  // each variant that fails is a warning
    constexpr const char* kFunctions[] = {"clCreateBuffer",          "clCreateCommandQueue",
                                          "clCreateKernel",          "clSetKernelArg",
                                          "clBuildProgram",          "clEnqueueNDRangeKernel",
                                          "clEnqueueWriteBuffer",    "clFinish",
                                          "clGetEventProfilingInfo", "clCreateProgramWithSource"};
    for (const char* const function : kFunctions) {
        int forgiven = 0;
        for (int nth = 1;; ++nth) {
            fail(function, nth);
            {
                const std::unique_ptr<const Backend> backend =
                        open({.mode = gpu::TuningMode::UPDATE}).value();
                const auto program = Program::build(
                        analyze(tunedGraph(), {backend.get()}, nullptr).value(), {backend.get()},
                        {.memory = nullptr, .deviceMemory = mDeviceMemory});
                forgiven += failed() && program.ok() ? 1 : 0;
                EXPECT_TRUE(program.ok() || failed()) << program.status().toString();
            }
            EXPECT_EQ(mDeviceMemory->reserved(), 0U) << function << " " << nth;
            const bool isLast = !failed();
            fail("", 0);
            EXPECT_EQ(call<int()>("fake_opencl_alive")(), 0) << function << " " << nth;
            if (isLast) {
                break;
            }
        }
        EXPECT_GT(forgiven, 0) << function << ": of three variants one may fail";
    }
}

TEST_F(GpuAccOnAFailingDevice, MeasuresOnceForAllWhoPrepareAtOnce) {
    static std::atomic<int> measured = 0;
    measured = 0;
    setLogThreshold(LogLevel::VERBOSE);
    setLogSink([](LogLevel, std::string_view line) {
        measured += line.starts_with("GpuAcc tuned") ? 1 : 0;
    });
    constexpr int kTimes = 30;
    for (int time = 0; time < kTimes; ++time) {
        const std::unique_ptr<const Backend> backend =
                open({.mode = gpu::TuningMode::UPDATE}).value();
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&] { buildOrDie(tunedGraph(), {backend.get()}); });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    setLogSink(nullptr);
    EXPECT_EQ(measured, kTimes);
}

TEST_F(GpuAccOnAFailingDevice, MeasuresNothingForAProgramThatComesBack) {
    const auto counted = [&](const char* what) { return call<int()>(what)(); };
    const gpu::TuningSettings updates = {.mode = gpu::TuningMode::UPDATE};
    SectionWriter writer;
    const std::unique_ptr<const Backend> backend = open(updates).value();
    const int before = counted("fake_opencl_built");
    const auto program = buildOrDie(tunedGraph(), {backend.get()});
    EXPECT_EQ(counted("fake_opencl_built"), before + 3) << "64, 128 and 256 items";
    program->save(writer, SavedBlobs::ALL);
    const FileBytes file = FileBytes::of(writer);
    const auto load = [&](const gpu::TuningSettings& settings) {
        const std::unique_ptr<const Backend> other = open(settings).value();
        return Program::load(SectionFile::open(file.owner(), file.bytes()).value(),
                             SavedBytes::AUTHENTIC, {other.get()}, {})
                .status();
    };
    const int loaded = counted("fake_opencl_loaded");
    EXPECT_TRUE(load(updates).ok()) << load(updates).toString();
    EXPECT_EQ(counted("fake_opencl_built"), before + 3);
    EXPECT_EQ(counted("fake_opencl_loaded"), loaded + 1) << "the one that was taken";
    EXPECT_EQ(load({}).code(), StatusCode::UNSUPPORTED) << "it would have chosen otherwise";
}

// The compiler in its own process: what becomes of it, an environment variable says. Each test has
// a library of its own, as one that is loaded already compiles in the process that has it.
class GpuAccOnAFailingCompiler : public testing::Test {
  protected:
    void SetUp() override {
        if (!Library::canOpenAny()) {
            GTEST_SKIP() << "this program loads no libraries";
        }
        setLogThreshold(LogLevel::WARNING);
        const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
        mLibrary = testing::TempDir() + "fake_opencl_" + std::to_string(getpid()) + test->name() +
                   ".so";
        std::error_code failure;
        if (!std::filesystem::copy_file(kFakeOpenCl, mLibrary, failure)) {
            GTEST_SKIP() << kFakeOpenCl << ": " << failure.message();
        }
    }
    void TearDown() override {
        setLogThreshold(LogLevel::INFO);
        unsetenv("FAKE_OPENCL_COMPILER");
        unlink(mLibrary.c_str());
    }

    std::unique_ptr<const Backend> openWith(const char* compiler) const {
        setenv("FAKE_OPENCL_COMPILER", compiler, 1);
        return makeGpuAcc({.choice = {.library = mLibrary, .device = ""},
                           .longestBuild = std::chrono::milliseconds(500)})
                .value();
    }
    static Status build(const Backend& backend, const NodeDescriptor& node) {
        Graph graph;
        const TensorId x = graph.addTensor(float32({kWidth}));
        graph.setInputs({x});
        graph.setOutputs({addNode(graph, node, {x})});
        return Program::build(analyze(std::move(graph), {&backend}, nullptr).value(), {&backend},
                              {})
                .status();
    }

    std::string mLibrary;
};

TEST_F(GpuAccOnAFailingCompiler, BuildsInAnotherProcess) {
    const std::unique_ptr<const Backend> backend = openWith("");
    EXPECT_TRUE(build(*backend, Softmax()).ok()) << build(*backend, Softmax()).toString();
    void* const library = dlopen(mLibrary.c_str(), RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr);
    const auto counted = [&](const char* what) {
        return reinterpret_cast<int (*)()>(dlsym(library, what))();
    };
    EXPECT_EQ(counted("fake_opencl_built"), 0);
    EXPECT_EQ(counted("fake_opencl_loaded"), 1);
    dlclose(library);
}

TEST_F(GpuAccOnAFailingCompiler, IsNotKeptWhereThereIsNoLibrary) {
    const auto start = [](const std::string& library) {
        return gpu::CompilerProcess::start({.library = library, .device = ""},
                                           std::chrono::milliseconds(500))
                .value();
    };
    EXPECT_EQ(start("/nowhere/libOpenCL.so"), nullptr);
    EXPECT_EQ(start("libm.so.6"), nullptr) << "which is another library";
    EXPECT_NE(start(mLibrary), nullptr);
    EXPECT_FALSE(gpu::OpenCl::isLoaded({.loaders = {mLibrary}, .vendors = {}}))
            << "here, nothing is loaded";
}

TEST_F(GpuAccOnAFailingCompiler, OutlivesOneThatDies) {
    const std::unique_ptr<const Backend> backend = openWith("dies");
    const Status status = build(*backend, Softmax());
    EXPECT_EQ(status.code(), StatusCode::INTERNAL);
    EXPECT_EQ(status.message(), "GpuAcc: node: kernel softmax: the compiler died of signal 6");
}

TEST_F(GpuAccOnAFailingCompiler, OutlivesOneThatHangs) {
    const std::unique_ptr<const Backend> backend = openWith("hangs");
    const Status status = build(*backend, Softmax());
    EXPECT_EQ(status.code(), StatusCode::INTERNAL);
    EXPECT_EQ(status.message(),
              "GpuAcc: node: kernel softmax: the compiler took longer than 500 ms");
}

TEST_F(GpuAccOnAFailingCompiler, BuildsTheNextProgramAfterOneThatKilledIt) {
    const std::unique_ptr<const Backend> backend = openWith("dies of softmax");
    EXPECT_EQ(build(*backend, Softmax()).code(), StatusCode::INTERNAL);
    const Status status = build(*backend, Activate());
    EXPECT_TRUE(status.ok()) << status.toString();
}

// A device's features beyond OpenCL C are tried there.
TEST_F(GpuAccOnAFailingCompiler, IsNotTheEndOfWhoTriesAKernelThatKillsIt) {
    setenv("FAKE_OPENCL_COMPILER", "dies of softmax", 1);
    const auto compiler = gpu::CompilerProcess::start({.library = mLibrary, .device = ""},
                                                      std::chrono::milliseconds(500));
    ASSERT_TRUE(compiler.ok() && *compiler != nullptr);
    EXPECT_TRUE((*compiler)->attempt("another kernel").ok());
    EXPECT_EQ((*compiler)->attempt("softmax").status().code(), StatusCode::INTERNAL);
    const Result<int32_t> after = (*compiler)->attempt("another kernel");
    EXPECT_TRUE(after.ok()) << after.status().toString();
}

// A driver may know an instruction and yet not build every kernel that has it.
TEST_F(GpuAccOnAFailingDevice, GoesWithoutInstructionsWhereAKernelDoesNotBuild) {
    for (const bool hasMatrixUnit : {true, false}) {
        const auto backend = makeGpuAcc({.choice = {.library = kFakeOpenCl,
                                                    .device = "",
                                                    .emulatesMatrixUnit = hasMatrixUnit},
                                         .compilesApart = false});
        ASSERT_TRUE(backend.ok()) << backend.status().message();
        setLogThreshold(LogLevel::ERROR);
        fail("clBuildProgram", 1, CL_BUILD_PROGRAM_FAILURE);
        Result<AnalyzedGraph> analyzed = analyze(graph(), {backend->get()}, nullptr);
        ASSERT_TRUE(analyzed.ok()) << analyzed.status().message();
        const auto program =
                Program::build(*std::move(analyzed), {backend->get()}, {.memory = nullptr});
        EXPECT_EQ(program.ok(), hasMatrixUnit) << program.status().message();
        EXPECT_TRUE(failed());
    }
}

TEST(GpuAccDevice, IsChosenByNumberOrName) {
    EXPECT_TRUE(makeGpuAcc({.choice = {.library = kFakeOpenCl, .device = "0"}}).ok());
    EXPECT_TRUE(makeGpuAcc({.choice = {.library = kFakeOpenCl, .device = "GPU"}}).ok());
    for (const char* const wrong : {"1", "Mali"}) {
        const auto refused = makeGpuAcc({.choice = {.library = kFakeOpenCl, .device = wrong}});
        EXPECT_EQ(refused.status().code(), StatusCode::INVALID_ARGUMENT);
        EXPECT_EQ(refused.status().message(), "there is no OpenCL device \"" + std::string(wrong) +
                                                      "\"; those there are: 0: Fake GPU");
    }
}

TEST(GpuAccDevice, IsNoneWhereThereIsNoLibrary) {
    const auto refused = makeGpuAcc({.choice = {.library = "/nowhere/libOpenCL.so", .device = ""}});
    EXPECT_EQ(refused.status().code(), StatusCode::UNAVAILABLE);
    EXPECT_NE(refused.status().message().find("/nowhere/libOpenCL.so"), std::string_view::npos)
            << refused.status().toString();
    const auto other = makeGpuAcc({.choice = {.library = "libm.so.6", .device = ""}});
    EXPECT_EQ(other.status().code(), StatusCode::UNAVAILABLE);
}

TEST(GpuAccDevice, IsNotThereWithoutTheNativeDriverThatIsAskedFor) {
    const auto refused = makeGpuAcc({.choice = {.library = kFakeOpenCl,
                                                .device = "",
                                                .nativeDriver = "/nowhere/libnative.so"}});
    EXPECT_EQ(refused.status().code(), StatusCode::UNAVAILABLE);
    EXPECT_NE(refused.status().message().find("was asked for"), std::string_view::npos)
            << refused.status().toString();
    EXPECT_TRUE(
            makeGpuAcc({.choice = {.library = kFakeOpenCl, .device = "", .nativeDriver = "off"}})
                    .ok());
}

}  // namespace
}  // namespace halyard::engine::gpu_test
