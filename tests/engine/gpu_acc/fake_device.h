// SPDX-License-Identifier: Apache-2.0
//
// GpuAcc on the library of tests/fake_opencl, and what tells that to fail and what it has seen.

#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "engine/backends/gpu/device/staging.h"
#include "engine/backends/gpu/gpu_acc.h"
#include "engine/backends/gpu/opencl/open_cl.h"
#include "engine/base/budget.h"
#include "engine/base/log.h"
#include "engine/plan/profile.h"
#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"
#include "tests/fake_opencl/fake_opencl.h"

namespace halyard::engine::gpu_test {

inline constexpr const char* kFakeOpenCl = HALYARD_BACKENDS "/fake_opencl/fake_opencl.so";
inline constexpr int32_t kWidth = 6;

// The library, and what tells it to fail.
class OnAFakeDevice : public testing::Test {
  protected:
    void SetUp() override {
        setLogThreshold(LogLevel::WARNING);  // it says each time what it computes on
        mLibrary = dlopen(kFakeOpenCl, RTLD_NOW | RTLD_LOCAL);
        if (mLibrary == nullptr) {
            GTEST_SKIP() << "this program loads no libraries";
        }
    }
    void TearDown() override {
        if (mLibrary != nullptr) {
            setLogThreshold(LogLevel::INFO);
            fail("", 0);
            defer(false);
            share(false);
            EXPECT_EQ(call<int()>("fake_opencl_alive")(), 0) << "objects that were not released";
        }
    }

    template <typename Function>
    Function* call(const char* name) const {
        return reinterpret_cast<Function*>(dlsym(mLibrary, name));
    }
    void fail(const char* function, int nth, int code = CL_OUT_OF_HOST_MEMORY) const {
        call<void(const char*, int, int)>("fake_opencl_fail")(function, nth, code);
    }
    void defer(bool whether) const { call<void(int)>("fake_opencl_defer")(whether ? 1 : 0); }
    void share(bool whether) const { call<void(int)>("fake_opencl_share")(whether ? 1 : 0); }
    int number(const char* name) const { return call<int()>(name)(); }
    int calls(const char* function) const {
        return call<int(const char*)>("fake_opencl_calls")(function);
    }
    bool failed() const { return call<int()>("fake_opencl_failed")() != 0; }

    // softmax(x) + numbers.
    static Graph graph() {
        Graph graph;
        const TensorId x = graph.addTensor(float32({kWidth}));
        graph.setInputs({x});
        const TensorId numbers = addConstant<float>(graph, float32({kWidth}), {1, 2, 3, 4, 5, 6});
        graph.setOutputs({addSum(graph, addNode(graph, Softmax(), {x}), numbers)});
        return graph;
    }

    static Result<std::unique_ptr<const Backend>> open(const gpu::TuningSettings& tuning = {}) {
        return makeGpuAcc({.choice = {.library = kFakeOpenCl, .device = ""},
                           .compilesApart = false,
                           .tuning = tuning,
                           .profiles = true});
    }

    // All of a backend's life: two runs, of which one is traced. What it ends with.
    Status live() const {
        HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<const Backend> backend, open());
        HALYARD_ASSIGN_OR_RETURN(AnalyzedGraph analyzed,
                                 analyze(graph(), {backend.get()}, nullptr));
        HALYARD_ASSIGN_OR_RETURN(
                const std::shared_ptr<const Program> program,
                Program::build(std::move(analyzed), {backend.get()},
                               {.memory = nullptr, .deviceMemory = mDeviceMemory}));
        HALYARD_ASSIGN_OR_RETURN(Execution execution, Execution::create(program));
        const Floats in(kWidth, 1.0F);
        Floats out(kWidth);
        HALYARD_RETURN_IF_ERROR(runOnce(execution, {bindInput(in)}, {bindOutput(out)}));
        Profile profile(program);
        const std::vector<InputBinding> inputs = {bindInput(in)};
        const std::vector<OutputBinding> outputs = {bindOutput(out)};
        HALYARD_RETURN_IF_ERROR(execution.run(inputs, outputs, {.trace = &profile}, nullptr));
        return copyMuch(*backend->memory());
    }
    // There and back, more than staging memory takes at once.
    static Status copyMuch(DeviceMemory& memory) {
        std::vector<std::byte> bytes(gpu::Staging::kBytes + 100);
        HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceBuffer> block,
                                 memory.allocate(bytes.size()));
        HALYARD_RETURN_IF_ERROR(memory.copyIn({.buffer = block.get()}, bytes, {}));
        return memory.copyOut(bytes, {.buffer = block.get()}, {});
    }

    void* mLibrary = nullptr;
    const std::shared_ptr<Budget> mDeviceMemory = std::make_shared<Budget>(size_t{1} << 20);
};

}  // namespace halyard::engine::gpu_test
