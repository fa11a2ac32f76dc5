// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/gpu_acc.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/backends/gpu/device/gpu_memory.h"
#include "engine/backends/gpu/gpu_partition.h"
#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/programs/compiler_process.h"
#include "engine/backends/gpu/programs/programs.h"
#include "engine/backends/loaded/library.h"
#include "engine/base/log.h"

namespace halyard::engine {
namespace {

// Counts up whenever the bytes of a packed constant change, or what a kernel reads there.
constexpr int kPackingVersion = 1;

class GpuAcc final : public Backend {
  public:
    GpuAcc(std::shared_ptr<const gpu::Device> device,
           std::vector<std::unique_ptr<gpu::CompilerProcess>> compilers,
           const GpuSettings& settings)
        : mDevice(std::move(device)),
          mMemory(mDevice),
          mPrograms(mDevice, std::move(compilers)),
          mTuning(settings.tuning, mDevice->facts().identity()),
          mWritesTuning(settings.tuning.mode == gpu::TuningMode::UPDATE &&
                        !settings.tuning.file.empty()),
          mProfiles(settings.profiles) {}

    std::string_view name() const override { return "GpuAcc"; }
    DeviceType deviceType() const override { return DeviceType::GPU; }
    std::string identity() const override {
        return "GpuAcc packing " + std::to_string(kPackingVersion) + " " +
               mDevice->facts().identity() + mTuning.identity();
    }
    Status supports(const Graph& graph, NodeId node) const override {
        // So that the next backend gets what is prepared from now on.
        if (const Status usable = mDevice->usable(); !usable.ok()) {
            return unsupported("can't compute: " + std::string(usable.message()));
        }
        return gpu::supportsNode(graph, graph.node(node), mDevice->facts());
    }
    Result<std::unique_ptr<CompiledPartition>> compile(
            const CompileArguments& arguments) const override {
        return gpu::compilePartition({.device = mDevice,
                                      .memory = mMemory,
                                      .programs = mPrograms,
                                      .tuning = mTuning,
                                      .profiles = mProfiles},
                                     arguments);
    }
    bool readsInMemory(const Graph& graph, NodeId node, size_t input) const override {
        return gpu::readsOnDevice(graph.node(node), input);
    }
    DeviceMemory* memory() const override { return &mMemory; }
    ProcessNeeds needs() const override {
        return {.systemCalls = mWritesTuning ? gpu::callsOfTuning() : std::vector<std::string>()};
    }

  private:
    const std::shared_ptr<const gpu::Device> mDevice;
    // Thread-safe, all of them.
    mutable gpu::GpuMemory mMemory;
    mutable gpu::Programs mPrograms;
    mutable gpu::Tuning mTuning;
    const bool mWritesTuning;
    const bool mProfiles;
};

// Compilers at once: vendors' keep a processor busy for a tenth of a second with each program, and
// some hundred megabytes while they are in use.
constexpr unsigned kMostCompilers = 4;

// None where no library loads, or no process can be had.
std::vector<std::unique_ptr<gpu::CompilerProcess>> startCompilers(const GpuSettings& settings) {
    std::vector<std::unique_ptr<gpu::CompilerProcess>> compilers;
    const unsigned count =
            settings.compilers != 0
                    ? settings.compilers
                    : std::clamp(std::thread::hardware_concurrency() / 2, 1U, kMostCompilers);
    while (compilers.size() < count) {
        Result<std::unique_ptr<gpu::CompilerProcess>> started =
                gpu::CompilerProcess::start(settings.choice, settings.longestBuild);
        if (!started.ok() && compilers.empty()) {
            log(LogLevel::WARNING,
                "GpuAcc compiles in this process: " + std::string(started.status().message()));
        }
        if (!started.ok() || *started == nullptr) {
            break;
        }
        compilers.push_back(*std::move(started));
    }
    return compilers;
}

}  // namespace

Result<std::unique_ptr<const Backend>> makeGpuAcc(const GpuSettings& settings) {
    std::vector<std::unique_ptr<gpu::CompilerProcess>> compilers;
    // Threads that a vendor's library has started in this process would be missing in a fork of it.
    if (settings.compilesApart && Library::canOpenAny() &&
        !gpu::OpenCl::isLoaded(settings.choice.paths())) {
        compilers = startCompilers(settings);
    }
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const gpu::Device> device,
                             gpu::Device::open(settings.choice));
    log(LogLevel::INFO, "GpuAcc computes on " + device->facts().identity());
    return std::unique_ptr<const Backend>(
            std::make_unique<GpuAcc>(std::move(device), std::move(compilers), settings));
}

}  // namespace halyard::engine
