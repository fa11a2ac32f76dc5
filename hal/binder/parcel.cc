// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/parcel.h"

#include <linux/android/binder.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "hal/binder/address.h"
#include "hal/binder/received_descriptors.h"

namespace halyard::hal {

namespace {

// Closest distance of two objects in a parcel: the smallest of them, a flat_binder_object.
constexpr uint64_t kMinObjectDistance = sizeof(flat_binder_object);

constexpr uint64_t roundUp(uint64_t value, uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

uint32_t ObjectFlags::onTheWire() const {
    constexpr uint32_t kInheritRealTime = 0x800;
    uint32_t flags = mostNice;
    if (takesDescriptors) {
        flags |= FLAT_BINDER_FLAG_ACCEPTS_FDS;
    }
    return inheritsRealTime ? flags | kInheritRealTime : flags;
}

// ---- ParcelWriter ------------------------------------------------------------------------------

void ParcelWriter::append(const void* bytes, size_t size) {
    const auto* first = static_cast<const uint8_t*>(bytes);
    mData.insert(mData.end(), first, first + size);
    mData.resize(roundUp(mData.size(), 4));
}

BufferIndex ParcelWriter::appendObject(const void* bytes, size_t size) {
    mOffsets.push_back(mData.size());
    append(bytes, size);
    return mOffsets.size() - 1;
}

void ParcelWriter::writeInt32(int32_t value) {
    append(&value, sizeof(value));
}

void ParcelWriter::writeUint32(uint32_t value) {
    append(&value, sizeof(value));
}

void ParcelWriter::writeInt64(int64_t value) {
    append(&value, sizeof(value));
}

void ParcelWriter::writeUint64(uint64_t value) {
    append(&value, sizeof(value));
}

void ParcelWriter::writeBytes(std::span<const uint8_t> bytes) {
    append(bytes.data(), bytes.size());
}

BufferIndex ParcelWriter::writeBufferObject(std::span<const uint8_t> bytes,
                                            const ParentSlot* parent) {
    binder_buffer_object object = {};
    object.hdr.type = BINDER_TYPE_PTR;
    object.buffer = reinterpret_cast<uintptr_t>(bytes.data());
    object.length = bytes.size();
    if (parent != nullptr) {
        object.flags = BINDER_BUFFER_FLAG_HAS_PARENT;
        object.parent = parent->index;
        object.parent_offset = parent->offset;
        if (bytes.data() == nullptr) {
            // The kernel would refuse a null buffer, so the object stands there unlisted.
            append(&object, sizeof(object));
            return std::numeric_limits<BufferIndex>::max();
        }
    }
    mBuffersSize += roundUp(bytes.size(), 8);
    return appendObject(&object, sizeof(object));
}

BufferIndex ParcelWriter::writeBuffer(std::span<const uint8_t> bytes) {
    return writeBufferObject(bytes, nullptr);
}

BufferIndex ParcelWriter::writeChildBuffer(std::span<const uint8_t> bytes, ParentSlot parent) {
    return writeBufferObject(bytes, &parent);
}

void ParcelWriter::writeDescriptorArray(size_t count, ParentSlot at) {
    binder_fd_array_object array = {};
    array.hdr.type = BINDER_TYPE_FDA;
    array.num_fds = count;
    array.parent = at.index;
    array.parent_offset = at.offset;
    appendObject(&array, sizeof(array));
}

void ParcelWriter::writeDescriptor(int fd) {
    // As long as any other single object; the kernel's own struct for it has the same fields.
    flat_binder_object object = {};
    object.hdr.type = BINDER_TYPE_FD;
    object.handle = static_cast<uint32_t>(fd);
    appendObject(&object, sizeof(object));
}

void ParcelWriter::setInt32(size_t at, int32_t value) {
    std::memcpy(mData.data() + at, &value, sizeof(value));
}

void ParcelWriter::writeObject(const ObjectRef& object, uint32_t nullFlags) {
    flat_binder_object flat = {};
    flat.hdr.type = BINDER_TYPE_BINDER;
    if (const auto* local = std::get_if<std::shared_ptr<LocalObject>>(&object)) {
        flat.flags = (*local)->flags().onTheWire();
        flat.binder = reinterpret_cast<uintptr_t>(local->get());
        flat.cookie = flat.binder;
    } else if (const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&object)) {
        flat.hdr.type = BINDER_TYPE_HANDLE;
        flat.flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
        flat.handle = (*remote)->handle();
    } else {
        flat.flags = nullFlags;
        append(&flat, sizeof(flat));
        return;
    }
    appendObject(&flat, sizeof(flat));
    mObjects.push_back(object);
}

std::span<uint8_t> ParcelWriter::keepZeroed(size_t size) {
    // One word at least, so that an empty buffer has an address too.
    std::vector<uint64_t>& words = mKept.emplace_back(size / sizeof(uint64_t) + 1);
    return {reinterpret_cast<uint8_t*>(words.data()), size};
}

std::span<uint8_t> ParcelWriter::keep(std::span<const uint8_t> bytes) {
    std::span<uint8_t> kept = keepZeroed(bytes.size());
    if (!bytes.empty()) {
        std::memcpy(kept.data(), bytes.data(), bytes.size());
    }
    return kept;
}

// ---- ParcelReader ------------------------------------------------------------------------------

ParcelReader::ParcelReader(std::span<const uint8_t> data, std::span<const uint64_t> offsets,
                           ObjectResolver* resolver, ReceivedDescriptors* descriptors)
    : mData(data), mOffsets(offsets), mResolver(resolver), mDescriptors(descriptors) {
    uint64_t earliest = 0;
    for (uint64_t offset : offsets) {
        if (offset < earliest || offset % 4 != 0 || data.size() < kMinObjectDistance ||
            offset > data.size() - kMinObjectDistance) {
            // Nothing in such a parcel can be read.
            close();
            return;
        }
        earliest = offset + kMinObjectDistance;
    }
}

bool ParcelReader::atObject() const {
    return mNextObject < mOffsets.size() && mOffsets[mNextObject] == mPosition;
}

std::span<const uint8_t> ParcelReader::plainAhead() const {
    const size_t end = mNextObject < mOffsets.size() ? mOffsets[mNextObject] : mData.size();
    return end < mPosition ? std::span<const uint8_t>() : mData.subspan(mPosition, end - mPosition);
}

Result<std::span<const uint8_t>> ParcelReader::readBytes(size_t size) {
    const std::span<const uint8_t> ahead = plainAhead();
    // Rounding up can't overflow once the size is known to fit.
    if (size > ahead.size() || roundUp(size, 4) > ahead.size()) {
        return invalidArgument("parcel: " + std::to_string(size) + " bytes wanted at " +
                               std::to_string(mPosition) + ", plain data ends after " +
                               std::to_string(ahead.size()));
    }
    mPosition += roundUp(size, 4);
    return ahead.first(size);
}

Status ParcelReader::readPlain(void* into, size_t size) {
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, readBytes(size));
    std::memcpy(into, bytes.data(), size);
    return {};
}

Status ParcelReader::checkEnd() const {
    if (mReadable && mPosition == mData.size() && mNextObject == mOffsets.size()) {
        return {};
    }
    return invalidArgument("parcel: " + std::to_string(mData.size() - mPosition) + " bytes and " +
                           std::to_string(mOffsets.size() - mNextObject) +
                           " objects after what was to be read");
}

void ParcelReader::close() {
    mData = {};
    mOffsets = {};
    mPosition = 0;
    mNextObject = 0;
    mReadable = false;
}

Status ParcelReader::readListedObject(void* into, size_t size, uint32_t type) {
    if (!atObject()) {
        return invalidArgument("parcel: no object is listed at " + std::to_string(mPosition));
    }
    size_t end = mNextObject + 1 < mOffsets.size() ? mOffsets[mNextObject + 1] : mData.size();
    if (end - mPosition < size) {
        return invalidArgument("parcel: the object at " + std::to_string(mPosition) +
                               " is cut short");
    }
    uint32_t actual = 0;
    std::memcpy(&actual, mData.data() + mPosition, sizeof(actual));
    if (actual != type) {
        return invalidArgument("parcel: object type " + std::to_string(actual) + " at " +
                               std::to_string(mPosition) + ", expected " + std::to_string(type));
    }
    std::memcpy(into, mData.data() + mPosition, size);
    mPosition += size;
    ++mNextObject;
    return {};
}

Result<int32_t> ParcelReader::readInt32() {
    int32_t value = 0;
    HALYARD_RETURN_IF_ERROR(readPlain(&value, sizeof(value)));
    return value;
}

Result<uint32_t> ParcelReader::readUint32() {
    uint32_t value = 0;
    HALYARD_RETURN_IF_ERROR(readPlain(&value, sizeof(value)));
    return value;
}

Result<int64_t> ParcelReader::readInt64() {
    int64_t value = 0;
    HALYARD_RETURN_IF_ERROR(readPlain(&value, sizeof(value)));
    return value;
}

Result<uint64_t> ParcelReader::readUint64() {
    uint64_t value = 0;
    HALYARD_RETURN_IF_ERROR(readPlain(&value, sizeof(value)));
    return value;
}

Result<bool> ParcelReader::readBool() {
    uint8_t value = 0;
    HALYARD_RETURN_IF_ERROR(readPlain(&value, sizeof(value)));
    return value != 0;
}

Result<ParcelReader::Buffer> ParcelReader::readBufferObject(uint64_t length,
                                                            const ParentSlot* parent,
                                                            uint64_t address) {
    const size_t at = mPosition;
    binder_buffer_object object = {};
    bool null = parent != nullptr && length == 0 && address == 0 && !atObject();
    if (null) {
        HALYARD_RETURN_IF_ERROR(readPlain(&object, sizeof(object)));
    } else {
        HALYARD_RETURN_IF_ERROR(readListedObject(&object, sizeof(object), BINDER_TYPE_PTR));
    }
    auto refuse = [at](std::string_view what) {
        return invalidArgument("parcel: buffer at " + std::to_string(at) + ": " +
                               std::string(what));
    };
    if (object.hdr.type != BINDER_TYPE_PTR) {
        return refuse("not a buffer");
    }
    if (object.length != length || length > std::numeric_limits<size_t>::max()) {
        return refuse(std::to_string(object.length) + " bytes long, expected " +
                      std::to_string(length));
    }
    if (object.flags != (parent != nullptr ? BINDER_BUFFER_FLAG_HAS_PARENT : 0)) {
        return refuse("flags " + std::to_string(object.flags));
    }
    if (parent != nullptr) {
        if (object.parent != parent->index || object.parent_offset != parent->offset) {
            return refuse("hangs off another place than expected");
        }
        if (object.buffer != address) {
            return refuse("is not where its parent points");
        }
    }
    if (null) {
        return Buffer{.index = std::numeric_limits<BufferIndex>::max(), .bytes = {}};
    }
    const auto* bytes = pointerTo<uint8_t>(object.buffer);
    return Buffer{.index = mNextObject - 1, .bytes = {bytes, static_cast<size_t>(length)}};
}

Result<ParcelReader::Buffer> ParcelReader::readBuffer(uint64_t length) {
    return readBufferObject(length, nullptr, 0);
}

Result<ParcelReader::Buffer> ParcelReader::readChildBuffer(uint64_t length, ParentSlot parent,
                                                           uint64_t address) {
    return readBufferObject(length, &parent, address);
}

Status ParcelReader::readDescriptorArray(uint64_t count, ParentSlot at) {
    binder_fd_array_object array = {};
    HALYARD_RETURN_IF_ERROR(readListedObject(&array, sizeof(array), BINDER_TYPE_FDA));
    if (array.num_fds != count || array.parent != at.index || array.parent_offset != at.offset) {
        return invalidArgument("parcel: an array of " + std::to_string(array.num_fds) +
                               " descriptors that is not the one expected");
    }
    return {};
}

Result<FileDescriptor> ParcelReader::readDescriptor() {
    const size_t at = mPosition;
    flat_binder_object object = {};
    HALYARD_RETURN_IF_ERROR(readListedObject(&object, sizeof(object), BINDER_TYPE_FD));
    if (mDescriptors == nullptr) {
        return invalidArgument("parcel: a descriptor where none is taken");
    }
    return mDescriptors->take(at);
}

Result<int> ParcelReader::borrowDescriptor() {
    const size_t at = mPosition;
    flat_binder_object object = {};
    HALYARD_RETURN_IF_ERROR(readListedObject(&object, sizeof(object), BINDER_TYPE_FD));
    if (mDescriptors == nullptr) {
        return invalidArgument("parcel: a descriptor where none is taken");
    }
    return mDescriptors->borrow(at);
}

Status ParcelReader::skip(size_t size) {
    if (size > remaining()) {
        return invalidArgument("parcel: " + std::to_string(size) + " bytes to be skipped of " +
                               std::to_string(remaining()));
    }
    const size_t end = mPosition + roundUp(size, 4);
    while (mNextObject < mOffsets.size() && mOffsets[mNextObject] < end) {
        if (end - mOffsets[mNextObject] < kMinObjectDistance) {
            return invalidArgument("parcel: an object lies across the end of what is skipped");
        }
        ++mNextObject;
    }
    mPosition = std::min(end, mData.size());
    return {};
}

Result<ObjectRef> ParcelReader::readObject() {
    flat_binder_object flat = {};
    if (!atObject()) {
        HALYARD_RETURN_IF_ERROR(readPlain(&flat, sizeof(flat)));
        if (flat.hdr.type != BINDER_TYPE_BINDER || flat.binder != 0 || flat.cookie != 0) {
            return invalidArgument("parcel: a binder object that is not listed and not null");
        }
        static const ObjectRef kNull;
        return kNull;
    }
    uint32_t type = 0;
    std::memcpy(&type, mData.data() + mPosition, sizeof(type));
    if (type != BINDER_TYPE_BINDER && type != BINDER_TYPE_HANDLE) {
        return invalidArgument("parcel: object type " + std::to_string(type) +
                               " is no binder object");
    }
    HALYARD_RETURN_IF_ERROR(readListedObject(&flat, sizeof(flat), type));
    if (mResolver == nullptr) {
        return invalidArgument("parcel: a binder object where none is taken");
    }
    return mResolver->resolve(type, type == BINDER_TYPE_HANDLE ? flat.handle : flat.binder,
                              flat.cookie);
}

}  // namespace halyard::hal
