// SPDX-License-Identifier: Apache-2.0
//
// Kernel: one partition in one interpreter, which stands for its operators there.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/plan/profile.h"
#include "engine/plan/program.h"
#include "litert/delegate/partition.h"
#include "litert/delegate/report.h"
#include "litert/tflite_abi.h"

namespace halyard::litert {

// What kernels of one interpreter share, beyond the delegate's end.
struct KernelSurroundings {
    std::shared_ptr<const Runtime> runtime;
    std::shared_ptr<ThreadPool> threads;
    std::shared_ptr<Report> report;          // null: none is written
    std::shared_ptr<ProfileReport> profile;  // null: nothing is profiled
    const void* context = nullptr;           // by which the report knows the interpreter
};

// One thread at a time, as hosts call an interpreter's kernels; several kernels at once.
class Kernel {
  public:
    // `program`: what the partition came to with the extents of `shapes`, one for each of
    // source.given(); nothing: prepare() compiles it.
    Kernel(KernelSurroundings surroundings, PartitionSource source,
           std::optional<PartitionProgram> program, std::vector<std::vector<int32_t>> shapes);
    ~Kernel();
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;

    // Compiles where extents of inputs have changed, and resizes outputs.
    Status prepare(TfLiteContext* context);
    // Reads and writes the tensors where they lie. After the first run since prepare() it allocates
    // nothing here, unless it is profiled.
    Status invoke(TfLiteContext* context);
    const std::shared_ptr<const Runtime>& sharedRuntime() const { return mAround.runtime; }

  private:
    Status compile(TfLiteContext* context);
    Status makeExecution();
    Status resizeOutputs(TfLiteContext* context);
    void endProfile();
    Status bind(TfLiteContext* context, int32_t index, size_t size, uint8_t*& data) const;

    const KernelSurroundings mAround;
    PartitionSource mSource;
    std::optional<PartitionProgram> mProgram;
    std::vector<std::vector<int32_t>> mShapes;  // of mSource.given(), that mProgram is of
    std::optional<engine::Execution> mExecution;
    std::vector<size_t> mInputSizes;
    std::vector<size_t> mOutputSizes;
    std::vector<engine::InputBinding> mInputs;
    std::vector<engine::OutputBinding> mOutputs;
    engine::ExecutionReport mLastRun;
    std::unique_ptr<engine::Profile> mProfile;  // null: nothing is profiled
    size_t mRuns = 0;                           // since the execution was made
};

}  // namespace halyard::litert
