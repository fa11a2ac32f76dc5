// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/hidl_parcel.h"

#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace halyard::hal::hidl {

namespace {

// Layout of native_handle: int32 version (= bytes of this header), fd count, int count, then data.
constexpr size_t kHandleHeaderSize = 12;
constexpr int32_t kMaxHandleFds = 1024;
constexpr int32_t kMaxHandleInts = 1024;

Result<ReceivedHandle> readHandleBody(ParcelReader& reader, const ParentSlot* parent,
                                      uint64_t address) {
    HALYARD_ASSIGN_OR_RETURN(const uint64_t size, reader.readUint64());
    if (size == 0) {
        if (address != 0) {
            return invalidArgument("parcel: null handle with an address in its parent");
        }
        return ReceivedHandle{};
    }
    HALYARD_ASSIGN_OR_RETURN(const ParcelReader::Buffer body,
                             parent == nullptr ? reader.readBuffer(size)
                                               : reader.readChildBuffer(size, *parent, address));
    int32_t header[3] = {};
    static_assert(sizeof(header) == kHandleHeaderSize);
    if (body.bytes.size() < sizeof(header)) {
        return invalidArgument("parcel: native_handle of " + std::to_string(size) + " bytes");
    }
    std::memcpy(header, body.bytes.data(), sizeof(header));
    const auto [version, fds, ints] = header;
    if (version != static_cast<int32_t>(kHandleHeaderSize) || fds < 0 || fds > kMaxHandleFds ||
        ints < 0 || ints > kMaxHandleInts ||
        size != kHandleHeaderSize + sizeof(int32_t) * static_cast<uint64_t>(fds + ints)) {
        return invalidArgument("parcel: native_handle of " + std::to_string(size) +
                               " bytes with version " + std::to_string(version) + ", " +
                               std::to_string(fds) + " descriptors, " + std::to_string(ints) +
                               " integers");
    }
    HALYARD_RETURN_IF_ERROR(reader.readDescriptorArray(
            static_cast<uint64_t>(fds), {.index = body.index, .offset = kHandleHeaderSize}));
    ReceivedHandle handle{.valid = true, .handle = {}};
    const uint8_t* words = body.bytes.data() + kHandleHeaderSize;
    handle.handle.fds.resize(fds);
    handle.handle.ints.resize(ints);
    if (fds > 0) {
        std::memcpy(handle.handle.fds.data(), words, sizeof(int32_t) * fds);
    }
    if (ints > 0) {
        std::memcpy(handle.handle.ints.data(), words + sizeof(int32_t) * fds,
                    sizeof(int32_t) * ints);
    }
    return handle;
}

void writeHandleBody(ParcelWriter& writer, const NativeHandle* handle, const ParentSlot* parent) {
    if (handle == nullptr) {
        writer.writeUint64(0);
        return;
    }
    std::vector<int32_t> words = {static_cast<int32_t>(kHandleHeaderSize),
                                  static_cast<int32_t>(handle->fds.size()),
                                  static_cast<int32_t>(handle->ints.size())};
    words.insert(words.end(), handle->fds.begin(), handle->fds.end());
    words.insert(words.end(), handle->ints.begin(), handle->ints.end());
    const std::span<const uint8_t> body = writer.keep(
            {reinterpret_cast<const uint8_t*>(words.data()), words.size() * sizeof(int32_t)});
    writer.writeUint64(body.size());
    const BufferIndex index =
            parent == nullptr ? writer.writeBuffer(body) : writer.writeChildBuffer(body, *parent);
    writer.writeDescriptorArray(handle->fds.size(), {.index = index, .offset = kHandleHeaderSize});
}

}  // namespace

Result<std::string_view> readInterfaceToken(ParcelReader& reader) {
    const std::span<const uint8_t> ahead = reader.plainAhead();
    const void* nul = ahead.empty() ? nullptr : std::memchr(ahead.data(), 0, ahead.size());
    if (nul == nullptr) {
        return invalidArgument("parcel: no interface token, or one without an end");
    }
    const size_t length = static_cast<const uint8_t*>(nul) - ahead.data();
    HALYARD_RETURN_IF_ERROR(reader.readBytes(length + 1).status().withContext("interface token"));
    return std::string_view(reinterpret_cast<const char*>(ahead.data()), length);
}

Status readReplyHead(ParcelReader& reader) {
    HALYARD_ASSIGN_OR_RETURN(int32_t exception, reader.readInt32());
    return exception == 0 ? Status()
                          : internalError("the reply is exception " + std::to_string(exception));
}

Result<ReceivedHandle> readNativeHandle(ParcelReader& reader) {
    return readHandleBody(reader, nullptr, 0);
}

Result<ReceivedHandle> readChildNativeHandle(ParcelReader& reader, ParentSlot parent,
                                             uint64_t address) {
    return readHandleBody(reader, &parent, address);
}

void writeInterfaceToken(ParcelWriter& writer, std::string_view descriptor) {
    const std::string terminated(descriptor);
    writer.writeBytes(
            {reinterpret_cast<const uint8_t*>(terminated.c_str()), terminated.size() + 1});
}

void writeRequestHead(ParcelWriter& writer, const InterfaceLayout& interface, uint32_t code) {
    const MethodLayout* method = findMethod(interface, code);
    writeInterfaceToken(writer, method != nullptr ? method->token : interface.descriptor);
}

void writeReplyHead(ParcelWriter& writer) {
    writer.writeInt32(0);
}

void writeNativeHandle(ParcelWriter& writer, const NativeHandle* handle) {
    writeHandleBody(writer, handle, nullptr);
}

void writeChildNativeHandle(ParcelWriter& writer, const NativeHandle* handle, ParentSlot parent) {
    writeHandleBody(writer, handle, &parent);
}

}  // namespace halyard::hal::hidl
