// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "engine/base/file_descriptor.h"
#include "nnapi/compilation.h"
#include "nnapi/descriptor_memory.h"
#include "nnapi/entry/entry.h"
#include "nnapi/memory_description.h"

using namespace halyard::nnapi;  // NOLINT: the C functions are outside of it

namespace {

Answer addRole(ANeuralNetworksMemoryDesc* desc, const ANeuralNetworksCompilation* compilation,
               bool isInput, uint32_t index, float frequency) {
    HALYARD_RETURN_UNLESS_OK(present(desc, "desc"));
    HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
    HALYARD_RETURN_UNLESS_OK(desc->checkOpen());
    if (const Answer finished = compilation->checkFinished(); !finished.ok()) {
        return badData(finished.reason());
    }
    return desc->addRole(compilation->compiled(), isInput, index, frequency);
}

}  // namespace

int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
                                       ANeuralNetworksMemory** memory) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(memory, "memory"));
        *memory = nullptr;
        if (fcntl(fd, F_GETFD) < 0) {
            return {ANEURALNETWORKS_OP_FAILED,
                    "descriptor " + std::to_string(fd) + ": " + std::strerror(errno)};
        }
        halyard::driver::SharedMemory shared = descriptorMemory(fd, size, protect, offset);
        *memory = std::make_unique<ANeuralNetworksMemory>(std::move(shared), size).release();
        return {};
    });
}

int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer* ahwb,
                                                    ANeuralNetworksMemory** memory) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(ahwb, "ahwb"));
        HALYARD_RETURN_UNLESS_OK(present(memory, "memory"));
        *memory = nullptr;
        return {ANEURALNETWORKS_UNMAPPABLE,
                "this library knows no hardware buffers: createFromFd takes their descriptors"};
    });
}

int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc* desc,
                                         ANeuralNetworksMemory** memory) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(desc, "desc"));
        HALYARD_RETURN_UNLESS_OK(present(memory, "memory"));
        *memory = nullptr;
        std::unique_ptr<ANeuralNetworksMemory> made;
        HALYARD_RETURN_UNLESS_OK(desc->allocate(made));
        *memory = made.release();
        return {};
    });
}

int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory* src, const ANeuralNetworksMemory* dst) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(src, "src"));
        HALYARD_RETURN_UNLESS_OK(present(dst, "dst"));
        return Memory::copy(*src, *dst);
    });
}

void ANeuralNetworksMemory_free(ANeuralNetworksMemory* memory) {
    delete memory;
}

int ANeuralNetworksMemoryDesc_create(ANeuralNetworksMemoryDesc** desc) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(desc, "desc"));
        *desc = std::make_unique<ANeuralNetworksMemoryDesc>().release();
        return {};
    });
}

void ANeuralNetworksMemoryDesc_free(ANeuralNetworksMemoryDesc* desc) {
    delete desc;
}

int ANeuralNetworksMemoryDesc_addInputRole(ANeuralNetworksMemoryDesc* desc,
                                           const ANeuralNetworksCompilation* compilation,
                                           uint32_t index, float frequency) {
    return enter(__func__, [&] { return addRole(desc, compilation, true, index, frequency); });
}

int ANeuralNetworksMemoryDesc_addOutputRole(ANeuralNetworksMemoryDesc* desc,
                                            const ANeuralNetworksCompilation* compilation,
                                            uint32_t index, float frequency) {
    return enter(__func__, [&] { return addRole(desc, compilation, false, index, frequency); });
}

int ANeuralNetworksMemoryDesc_setDimensions(ANeuralNetworksMemoryDesc* desc, uint32_t rank,
                                            const uint32_t* dimensions) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(desc, "desc"));
        if (rank > 0) {
            HALYARD_RETURN_UNLESS_OK(present(dimensions, "dimensions"));
        }
        return desc->setDimensions({dimensions, rank});
    });
}

int ANeuralNetworksMemoryDesc_finish(ANeuralNetworksMemoryDesc* desc) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(desc, "desc"));
        return desc->finish();
    });
}
