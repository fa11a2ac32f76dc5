// SPDX-License-Identifier: Apache-2.0

#include "library/memory.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/checked_math.h"
#include "engine/base/checkpoint.h"
#include "library/answer.h"

namespace halyard::library {
namespace {

Result<engine::DeviceMemory*> deviceOf(const Runtime& runtime, std::string_view name) {
    const auto found = std::ranges::find(runtime.list, name, &engine::Backend::name);
    if (found == runtime.list.end()) {
        return invalidArgument("the runtime has no backend \"" + std::string(name) + "\"");
    }
    engine::DeviceMemory* const memory = (*found)->memory();
    if (memory == nullptr) {
        return unsupported(std::string(name) +
                           " computes in the host's memory and has no buffers of its own");
    }
    return memory;
}

Result<std::shared_ptr<const Memory>> create(std::shared_ptr<const Runtime> runtime,
                                             const char* backend, size_t size) {
    HALYARD_ASSIGN_OR_RETURN(engine::DeviceMemory* const device, deviceOf(*runtime, backend));
    if (size == 0) {
        return invalidArgument("size is 0");
    }
    auto memory = std::make_shared<Memory>();
    HALYARD_ASSIGN_OR_RETURN(memory->block,
                             engine::ChargedBuffer::allocate(*device, size, nullptr));
    memory->runtime = std::move(runtime);
    memory->device = device;
    memory->size = size;
    return std::shared_ptr<const Memory>(std::move(memory));
}

// The memory of a call that copies bytes of it.
Result<const Memory*> memoryOf(const halyard_memory* memory, size_t offset, const void* data,
                               size_t size) {
    HALYARD_RETURN_IF_ERROR(present(memory, "memory"));
    HALYARD_RETURN_IF_ERROR(readArray(static_cast<const uint8_t*>(data), size, "data").status());
    HALYARD_RETURN_IF_ERROR(memory->shared->checkRange(offset, size));
    return memory->shared.get();
}

const LogTarget* linesOf(const Memory& memory) {
    return memory.runtime == nullptr ? nullptr : &memory.runtime->lines;
}

}  // namespace

Status Memory::checkRange(size_t offset, size_t count) const {
    return rangeFits<size_t>(offset, count, size)
                   ? Status()
                   : invalidArgument("the memory has " + std::to_string(size) + " bytes, and not " +
                                     std::to_string(count) + " from " + std::to_string(offset) +
                                     " on");
}

Result<std::shared_ptr<const Memory>> memoryNamedBy(const halyard_constant& constant,
                                                    std::span<const uint8_t> bytes) {
    const std::shared_ptr<const Memory>& memory = constant.memory->shared;
    if (constant.release != nullptr) {
        return invalidArgument("the constant has both a memory and a function to release it");
    }
    if (memory->device != nullptr) {
        return invalidArgument("the constant's memory is a device's; constants are the host's");
    }
    const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
    const auto first = reinterpret_cast<uintptr_t>(memory->bytes.data());
    if (begin < first || !rangeFits<size_t>(begin - first, bytes.size(), memory->size)) {
        return invalidArgument("the constant's data does not lie in its memory");
    }
    return memory;
}

}  // namespace halyard::library

using namespace halyard;  // NOLINT(google-build-using-namespace)

extern "C" halyard_status halyard_memory_borrow(void* data, size_t size,
                                                void (*release)(void* owner), void* owner,
                                                halyard_memory** memory, halyard_message* message) {
    const auto borrow = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(memory, "memory"));
        HALYARD_RETURN_IF_ERROR(
                library::readArray(static_cast<const uint8_t*>(data), size, "data").status());
        auto lent = std::make_shared<library::LentBytes>(release, owner);
        auto shared = std::make_shared<library::Memory>();
        shared->bytes = {static_cast<uint8_t*>(data), size};
        shared->size = size;
        lent->take();
        shared->lent = std::move(lent);
        *memory = new halyard_memory{.shared = std::move(shared)};
        return {};
    };
    return library::answer(borrow(), message);
}

extern "C" halyard_status halyard_memory_create(const halyard_runtime* runtime, const char* backend,
                                                size_t size, halyard_memory** memory,
                                                halyard_message* message) {
    const auto create = [&]() -> Status {
        HALYARD_RETURN_IF_ERROR(library::present(runtime, "runtime"));
        HALYARD_RETURN_IF_ERROR(library::present(backend, "backend"));
        HALYARD_RETURN_IF_ERROR(library::present(memory, "memory"));
        const LogScope scope(&runtime->shared->lines);
        HALYARD_ASSIGN_OR_RETURN(auto shared, library::create(runtime->shared, backend, size));
        *memory = new halyard_memory{.shared = std::move(shared)};
        return {};
    };
    return library::answer(create(), message);
}

extern "C" void halyard_memory_release(halyard_memory* memory) {
    if (memory != nullptr) {
        const std::shared_ptr<const library::Runtime> runtime = memory->shared->runtime;
        const LogScope scope(runtime == nullptr ? nullptr : &runtime->lines);
        delete memory;
    }
}

extern "C" size_t halyard_memory_size(const halyard_memory* memory) {
    return memory == nullptr ? 0 : memory->shared->size;
}

extern "C" halyard_status halyard_memory_write(halyard_memory* memory, size_t offset,
                                               const void* data, size_t size,
                                               halyard_message* message) {
    const auto write = [&]() -> Status {
        HALYARD_ASSIGN_OR_RETURN(const library::Memory* const to,
                                 library::memoryOf(memory, offset, data, size));
        if (size == 0) {
            return {};
        }
        if (to->device == nullptr) {
            std::memcpy(to->bytes.data() + offset, data, size);
            return {};
        }
        const LogScope scope(library::linesOf(*to));
        return to->device->copyIn(to->at(offset), {static_cast<const std::byte*>(data), size},
                                  Checkpoint());
    };
    return library::answer(write(), message);
}

extern "C" halyard_status halyard_memory_read(const halyard_memory* memory, size_t offset,
                                              void* data, size_t size, halyard_message* message) {
    const auto read = [&]() -> Status {
        HALYARD_ASSIGN_OR_RETURN(const library::Memory* const from,
                                 library::memoryOf(memory, offset, data, size));
        if (size == 0) {
            return {};
        }
        if (from->device == nullptr) {
            std::memcpy(data, from->bytes.data() + offset, size);
            return {};
        }
        const LogScope scope(library::linesOf(*from));
        return from->device->copyOut({static_cast<std::byte*>(data), size}, from->at(offset),
                                     Checkpoint());
    };
    return library::answer(read(), message);
}
