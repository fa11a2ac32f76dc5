// SPDX-License-Identifier: Apache-2.0
//
// KernelCall: what a kernel gets to compute one node: its inputs and outputs, memory, and word that
// it must stop. A node may be so large that it runs for hours, and so may one element of its
// output, so every loop whose length a shape gives counts its operations, and every so often the
// count asks the checkpoint.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/reused_buffer.h"
#include "engine/base/status.h"
#include "engine/graph/tensor.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// Scratch memory of the kernels of one execution: what one kernel has used serves the next, and the
// next run. One thread at a time.
class ScratchStack {
  public:
    // Uninitialised; lives until clear().
    Result<std::byte*> take(size_t bytes, const std::shared_ptr<Budget>& memory);
    void clear() { mTaken = 0; }

  private:
    std::vector<ReusedBuffer> mBuffers;  // the first mTaken are in use
    size_t mTaken = 0;
};

// Where a kernel's memory lies: what its threads share, and what each has for itself.
struct KernelMemory {
    std::byte* workspace = nullptr;
    std::byte* threads = nullptr;  // the first one's
    size_t stride = 0;             // bytes from one thread's to the next one's
};

// One kernel's view of one run of its node. Every input is there, or omitted where the node's kind
// allows it; inferShapes() has accepted the types, shapes and values of control inputs. Every shape
// is known, but for those of outputs that are found by running. Inputs and outputs do not overlap;
// data is aligned to its element size. Control inputs lie in memory that no other process writes
// to; other inputs may change while the kernel runs. One thread.
class KernelCall {
  public:
    struct Environment {
        std::span<const ConstTensorView> inputs;
        std::span<TensorView> outputs;
        OutputAllocator* allocator = nullptr;  // null: no output is found by running
        ScratchStack* scratch = nullptr;       // null: scratch lives with the call
        ThreadLease* threads = nullptr;
        Checkpoint checkpoint = {};
        std::shared_ptr<Budget> memory;        // null: not limited
        std::span<const std::byte> constants;  // the program's store
    };
    explicit KernelCall(Environment environment) : mEnvironment(std::move(environment)) {}

    size_t inputCount() const { return mEnvironment.inputs.size(); }
    size_t outputCount() const { return mEnvironment.outputs.size(); }
    // Not present() if it was left out.
    const ConstTensorView& input(size_t index) const { return mEnvironment.inputs[index]; }
    const TensorView& output(size_t index) const { return mEnvironment.outputs[index]; }

    // Gives memory to an output that is found by running, now that its shape is; output(index) then
    // has it, too. INVALID_ARGUMENT if the caller expects another shape.
    Result<TensorView> allocate(size_t index, const Shape& shape);

    // Room for `count` elements, reserved from the budget, until the kernel returns. Uninitialised.
    template <typename T>
    Result<std::span<T>> scratch(size_t count) {
        static_assert(std::is_trivially_destructible_v<T>);
        HALYARD_ASSIGN_OR_RETURN(std::byte* const bytes, scratchBytes(count, sizeof(T)));
        return std::span<T>(reinterpret_cast<T*>(bytes), count);
    }

    // ShapedKernel::workspaceBytes() bytes, and threadBytes() for each worker of inParallel(), both
    // aligned to kTensorAlignment. Content is undefined.
    std::byte* workspace() const { return mMemory.workspace; }
    std::byte* memoryOf(size_t worker) const { return mMemory.threads + worker * mMemory.stride; }
    void setMemory(const KernelMemory& memory) { mMemory = memory; }

    ThreadLease* threads() const { return mEnvironment.threads; }
    std::span<const std::byte> constants() const { return mEnvironment.constants; }

    // Counts `operations`, and fails when it is time to stop.
    Status checkpoint(int64_t operations) {
        mUntilAsked -= operations;
        return mUntilAsked > 0 ? Status() : ask();
    }

    // Operations between two looks at the checkpoint: some milliseconds of the slowest ones; far
    // more time than asking takes. What a kernel does between two calls of the functions below is
    // a small part of that, or counted as one.
    static constexpr int64_t kInterval = int64_t{1} << 18;

    // Calls body(i) for every i in [0, count), where a call takes about `operations` operations,
    // without those that it counts itself; a failure, the body's or the checkpoint's, says that it
    // stopped before the end.
    template <typename Body>
    Status forEach(int64_t count, int64_t operations, Body body) {
        if constexpr (std::is_void_v<decltype(body(int64_t{0}))>) {
            return inSlices(count, operations, [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                    body(i);
                }
            });
        } else {
            return inSlices(count, operations, [&](int64_t begin, int64_t end) -> Status {
                for (int64_t i = begin; i < end; ++i) {
                    HALYARD_RETURN_IF_ERROR(body(i));
                }
                return {};
            });
        }
    }

    // Calls body(begin, end) over consecutive ranges that cover [0, count). The checkpoint is asked
    // between them, out of the way of the loops inside, which a compiler can then optimise. A body
    // may return a Status, whose failure ends it, too. Cheap enough for the sum behind one element.
    template <typename Body>
    Status inSlices(int64_t count, int64_t operations, Body body) {
        operations = std::max<int64_t>(operations, 1);
        const bool isShort =
                count <= kInterval && operations <= kInterval && count * operations <= kInterval;
        const int64_t length = isShort ? kInterval : std::max<int64_t>(kInterval / operations, 1);
        for (int64_t begin = 0; begin < count; begin += length) {
            const int64_t end = std::min(begin + length, count);
            HALYARD_RETURN_IF_ERROR(checkpoint((end - begin) * operations));
            if constexpr (std::is_void_v<decltype(body(begin, end))>) {
                body(begin, end);
            } else {
                HALYARD_RETURN_IF_ERROR(body(begin, end));
            }
        }
        return {};
    }

    // How many threads share a loop, as it is now.
    size_t threadCount() const {
        return mEnvironment.threads == nullptr ? 1 : mEnvironment.threads->threadCount();
    }

    // Calls body(begin, end, worker) over ranges that cover [0, tiles), on the threads of the run,
    // where a tile takes about `operations` arithmetic instructions. Each range is short enough for
    // the checkpoint to be asked before it; what that says, or a body, ends the loop.
    template <typename Body>
    Status inParallel(int64_t tiles, int64_t operations, Body body) {
        const int64_t slice =
                std::max<int64_t>(kParallelInterval / std::max<int64_t>(operations, 1), 1);
        const Checkpoint& checkpoint = mEnvironment.checkpoint;
        const auto run = [&](int64_t begin, int64_t end, size_t worker) -> Status {
            for (int64_t first = begin; first < end; first += slice) {
                if (checkpoint.expired()) {
                    return checkpoint.check("while it ran");
                }
                const int64_t last = std::min(first + slice, end);
                if constexpr (std::is_void_v<decltype(body(first, last, worker))>) {
                    body(first, last, worker);
                } else {
                    HALYARD_RETURN_IF_ERROR(body(first, last, worker));
                }
            }
            return {};
        };
        if (mEnvironment.threads == nullptr) {
            return run(0, tiles, 0);
        }
        const int64_t each = std::max<int64_t>(operations, 1);
        const bool isWorthwhile = tiles > kFewestToShare / each;
        const int64_t grain = isWorthwhile ? std::max<int64_t>(kFewestAtOnce / each, 1)
                                           : std::max<int64_t>(tiles, 1);
        return mEnvironment.threads->parallelFor(tiles, grain, run);
    }

  private:
    // Arithmetic instructions of a tuned loop between two looks at the checkpoint: a millisecond.
    static constexpr int64_t kParallelInterval = int64_t{1} << 21;
    // And those of a loop that is worth sharing: a few microseconds.
    static constexpr int64_t kFewestToShare = int64_t{1} << 13;
    // Then other threads get no fewer than these, of which most wait for what another one has in
    // its cache.
    static constexpr int64_t kFewestAtOnce = int64_t{1} << 11;

    Status ask();
    Result<std::byte*> scratchBytes(size_t count, size_t elementSize);

    Environment mEnvironment;
    ScratchStack mOwnScratch;
    KernelMemory mMemory;
    int64_t mUntilAsked = kInterval;  // operations
};

}  // namespace halyard::engine
