// SPDX-License-Identifier: Apache-2.0
//
// A compilation of a library, and what all executions of it share.

#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "driver/model/memory.h"
#include "driver/model/request.h"
#include "harness/device/ndk/library.h"
#include "harness/device/ndk/model.h"

namespace halyard::ndk {

// What belongs to a library: given back to it at the end.
template <typename T>
class Owned {
  public:
    Owned(std::shared_ptr<const Library> library, void (*free)(T*))
        : mLibrary(std::move(library)), mFree(free) {}
    ~Owned() { mFree(mObject); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

    T** out() { return &mObject; }
    T* get() const { return mObject; }
    T* release() { return std::exchange(mObject, nullptr); }

  private:
    const std::shared_ptr<const Library> mLibrary;
    void (*const mFree)(T*);
    T* mObject = nullptr;
};

// Shared memory that the library was told of, by its descriptor.
class Memories {
  public:
    explicit Memories(std::shared_ptr<const Library> library) : mLibrary(std::move(library)) {}
    ~Memories() {
        for (const auto& [memory, known] : mKnown) {
            mLibrary->ANeuralNetworksMemory_free(known.object);
        }
    }
    Memories(const Memories&) = delete;
    Memories& operator=(const Memories&) = delete;

    // Null: it has no descriptor of its own.
    Result<ANeuralNetworksMemory*> of(const driver::SharedMemory& memory) {
        const driver::MemoryHandle* const handle = memory->handle();
        if (handle == nullptr || handle->descriptors.size() != 1 || !handle->numbers.empty()) {
            return static_cast<ANeuralNetworksMemory*>(nullptr);
        }
        const std::lock_guard lock(mMutex);
        Known& known = mKnown[memory.get()];
        if (known.object == nullptr) {
            HALYARD_RETURN_IF_ERROR(statusOf(mLibrary->ANeuralNetworksMemory_createFromFd(
                                                     memory->size(), PROT_READ | PROT_WRITE,
                                                     handle->descriptors.front(), 0, &known.object),
                                             "Memory_createFromFd"));
            known.memory = memory;
        }
        return known.object;
    }

  private:
    struct Known {
        driver::SharedMemory memory;  // so that its address stays its own
        ANeuralNetworksMemory* object = nullptr;
    };

    const std::shared_ptr<const Library> mLibrary;
    std::mutex mMutex;
    std::map<const driver::Memory*, Known> mKnown;
};

// What all executions of a model share.
struct Compiled {
    Compiled(std::shared_ptr<const BuiltModel> of, const ANeuralNetworksDevice* on)
        : model(std::move(of)),
          device(on),
          object(model->library, model->library->ANeuralNetworksCompilation_free),
          memories(model->library) {}

    const Library& library() const { return *model->library; }

    const std::shared_ptr<const BuiltModel> model;
    const ANeuralNetworksDevice* const device;  // null: those that the library chose
    Owned<ANeuralNetworksCompilation> object;
    Memories memories;
};

using CompiledModel = std::shared_ptr<Compiled>;

// Nanoseconds until then, one at least: none would be no timeout.
inline uint64_t remaining(const Deadline& deadline) {
    const auto left = *deadline - std::chrono::steady_clock::now();
    return static_cast<uint64_t>(std::max<int64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(left).count(), 1));
}

}  // namespace halyard::ndk
