// SPDX-License-Identifier: Apache-2.0
//
// LoadedIsland: bytecode that was made ready to run. One for each invocation context.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "engine/plan/backend.h"
#include "engine/plan/program.h"
#include "litert/vendor/bytecode.h"
#include "litert/vendor/dispatch/device.h"

namespace halyard::vendor {

// By its inputs' ports.
using PortShapes = std::vector<std::vector<int32_t>>;

// Belongs to one thread at a time.
class LoadedIsland {
  public:
    // A program is loaded for the processor that it was compiled for: UNSUPPORTED where this is
    // another. A graph is compiled for this one, which the log says.
    static Result<std::unique_ptr<LoadedIsland>> load(Device& device,
                                                      const abi::MemBuffer& bytecode, size_t inputs,
                                                      size_t outputs);

    const BytecodeInfo& info() const { return mBytecode.info; }
    // Whether the bytecode is used where it lies in a file.
    bool isMapped() const { return mBytecode.trust == engine::SavedBytes::SHARED; }
    // What runs with inputs of these shapes: INVALID_ARGUMENT where they are others than the model
    // was compiled for and it can't be compiled again.
    struct Form {
        PortShapes shapes;
        std::shared_ptr<const engine::Program> program;
        engine::Execution execution;
    };
    Result<Form*> formFor(const PortShapes& shapes);
    // Of the shapes that the model declares.
    const engine::Program& program() const { return *mForms.front()->program; }

  private:
    LoadedIsland(Device& device, Bytecode bytecode)
        : mDevice(device), mBytecode(std::move(bytecode)) {}
    Status openBackends();
    Status checkPorts(const engine::Program& program) const;
    Result<std::shared_ptr<const engine::Program>> loadProgram();
    Result<std::shared_ptr<const engine::Program>> compileGraph(const PortShapes& shapes);

    Device& mDevice;
    Bytecode mBytecode;
    std::unique_ptr<const engine::Backend> mTuned;
    std::unique_ptr<const engine::Backend> mReference;
    engine::BackendList mBackends;
    std::vector<std::unique_ptr<Form>> mForms;  // the declared shapes first, then the latest
};

// Bytes of a port's elements with this shape: INVALID_ARGUMENT where they can't be counted.
Result<size_t> bytesOf(int32_t elementType, std::span<const int32_t> shape);

}  // namespace halyard::vendor
