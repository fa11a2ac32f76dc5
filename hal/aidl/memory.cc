// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/memory.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace halyard::hal::aidl {
namespace {

// Of PixelFormat: rows of bytes, the only ones that can be mapped without knowing who made them.
constexpr int32_t kBlob = 33;
// Of BufferUsage, by processors: CPU_READ_OFTEN and CPU_WRITE_OFTEN.
constexpr int64_t kReadAndWrittenOften = 0x33;

Result<uint64_t> unsignedOf(int64_t value, std::string_view what) {
    if (value < 0) {
        return invalidArgument("memory: its " + std::string(what) + " is " + std::to_string(value));
    }
    return static_cast<uint64_t>(value);
}

Result<driver::SharedMemory> import(const hardware::Ashmem& wire, const ImportOptions& options) {
    HALYARD_ASSIGN_OR_RETURN(const uint64_t size, unsignedOf(wire.size, "size"));
    return importAshmem(wire.fd.fd, size, options);
}

Result<driver::SharedMemory> import(const hardware::MappableFile& wire,
                                    const ImportOptions& options) {
    HALYARD_ASSIGN_OR_RETURN(const uint64_t length, unsignedOf(wire.length, "length"));
    HALYARD_ASSIGN_OR_RETURN(const uint64_t offset, unsignedOf(wire.offset, "offset"));
    return importMappedFile(wire.fd.fd, length, wire.prot, offset, options);
}

Result<driver::SharedMemory> import(const graphics::HardwareBuffer& wire,
                                    const ImportOptions& options) {
    const graphics::HardwareBufferDescription& description = wire.description;
    if (description.format != kBlob) {
        return unmappableMemory(
                "hardware_buffer", 0, true,
                unsupported("a hardware buffer of format " + std::to_string(description.format) +
                            " can't be mapped"));
    }
    HALYARD_ASSIGN_OR_RETURN(const uint64_t width, unsignedOf(description.width, "width"));
    if (description.height != 1 || description.layers != 1) {
        return invalidArgument("memory: a hardware buffer of bytes with " +
                               std::to_string(description.height) + " rows and " +
                               std::to_string(description.layers) + " layers");
    }
    if (wire.handle.fds.empty()) {
        return invalidArgument("memory: a hardware buffer without a descriptor");
    }
    std::vector<int> fds;
    for (const BorrowedDescriptor& descriptor : wire.handle.fds) {
        fds.push_back(descriptor.fd);
    }
    return importHardwareBuffer(fds, width, options);
}

}  // namespace

Result<driver::SharedMemory> importMemory(const nn::Memory& wire, const ImportOptions& options) {
    return std::visit([&options](const auto& member) { return import(member, options); },
                      wire.value);
}

nn::Memory exportMemory(const driver::Memory& memory) {
    const driver::MemoryHandle& handle = *memory.handle();
    const auto descriptor =
            BorrowedDescriptor{.fd = handle.descriptors.empty() ? -1 : handle.descriptors[0]};
    const auto size = static_cast<int64_t>(memory.size());
    constexpr size_t kNumbersOfFile = 3;
    nn::Memory wire;
    if (memory.name() == "mmap_fd" && handle.numbers.size() == kNumbersOfFile) {
        const auto low = static_cast<uint32_t>(handle.numbers[1]);
        const auto high = static_cast<uint32_t>(handle.numbers[2]);
        wire.value = hardware::MappableFile{
                .length = size,
                .prot = handle.numbers[0],
                .fd = descriptor,
                .offset = static_cast<int64_t>(low | static_cast<uint64_t>(high) << 32U)};
    } else if (memory.name() == "hardware_buffer_blob") {
        graphics::HardwareBuffer buffer;
        buffer.description = {.width = static_cast<int32_t>(size),
                              .height = 1,
                              .layers = 1,
                              .format = kBlob,
                              .usage = kReadAndWrittenOften,
                              .stride = static_cast<int32_t>(size)};
        for (const int fd : handle.descriptors) {
            buffer.handle.fds.push_back({.fd = fd});
        }
        buffer.handle.ints = handle.numbers;
        wire.value = std::move(buffer);
    } else {
        wire.value = hardware::Ashmem{.fd = descriptor, .size = size};
    }
    return wire;
}

}  // namespace halyard::hal::aidl
