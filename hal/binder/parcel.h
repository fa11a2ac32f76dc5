// SPDX-License-Identifier: Apache-2.0
//
// Parcels: the bytes of a transaction, with the objects in it (buffers, file descriptors, binder
// objects). Only what the kernel itself knows of, and numbers; how a wire makes strings, handles,
// structs and heads of calls of them is that wire's (for HIDL: hal/hidl/hidl_parcel.h and codec.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"
#include "hal/binder/object.h"

namespace halyard::hal {

class ReceivedDescriptors;

// Position of a buffer object in a parcel's object list; children name their parent by it.
using BufferIndex = size_t;

// Where a child buffer's address is stored: at `offset` bytes inside buffer `index`.
struct ParentSlot {
    BufferIndex index = 0;
    size_t offset = 0;
};

class ParcelWriter {
  public:
    ParcelWriter() = default;
    ParcelWriter(const ParcelWriter&) = delete;
    ParcelWriter& operator=(const ParcelWriter&) = delete;

    // Each item begins on four bytes; nothing is aligned further.
    void writeInt32(int32_t value);  // also smaller integers, bools and 32-bit enums
    void writeUint32(uint32_t value);
    void writeInt64(int64_t value);
    void writeUint64(uint64_t value);
    // As they are, then zeros up to the next item.
    void writeBytes(std::span<const uint8_t> bytes);

    // A buffer without parent. `bytes` must stay valid until the parcel is sent (keep() helps).
    BufferIndex writeBuffer(std::span<const uint8_t> bytes);
    // A child buffer; an empty span with null data is written but not listed as an object.
    BufferIndex writeChildBuffer(std::span<const uint8_t> bytes, ParentSlot parent);
    // Says that at `at` in a buffer `count` descriptors stand, as int32 each, that are to be sent.
    void writeDescriptorArray(size_t count, ParentSlot at);
    // A descriptor, which stays open and the caller's; it must be so until the parcel is sent.
    void writeDescriptor(int fd);
    // A local object is written as type BINDER with its address as both pointer and cookie.
    // `nullFlags`: what the wire has as flags where there is no object.
    void writeObject(const ObjectRef& object, uint32_t nullFlags = 0);
    // Replaces an int32 that was written as plain data when there were `at` bytes.
    void setInt32(size_t at, int32_t value);

    // A copy of `bytes`, or `size` zero bytes, that lives as long as the writer; 8-byte aligned.
    std::span<uint8_t> keep(std::span<const uint8_t> bytes);
    std::span<uint8_t> keepZeroed(size_t size);

    // For the transport and for tests.
    std::span<const uint8_t> data() const { return mData; }
    std::span<const uint64_t> offsets() const { return mOffsets; }  // of the objects in data()
    // Sum of the buffers' lengths, each rounded up to 8: what the kernel must set aside.
    uint64_t buffersSize() const { return mBuffersSize; }
    // Objects written, which the transport keeps alive and turns into kernel references.
    std::span<const ObjectRef> objects() const { return mObjects; }

  private:
    BufferIndex writeBufferObject(std::span<const uint8_t> bytes, const ParentSlot* parent);
    void append(const void* bytes, size_t size);
    BufferIndex appendObject(const void* bytes, size_t size);

    std::vector<uint8_t> mData;
    std::vector<uint64_t> mOffsets;
    uint64_t mBuffersSize = 0;
    std::vector<ObjectRef> mObjects;
    std::deque<std::vector<uint64_t>> mKept;
};

// Turns a flat_binder_object as the kernel delivered it into a reference.
class ObjectResolver {
  public:
    virtual ~ObjectResolver() = default;
    virtual Result<ObjectRef> resolve(uint32_t type, uint64_t binderOrHandle, uint64_t cookie) = 0;
};

// Reads a received parcel. Every read checks lengths, object positions, flags and parents as the
// reference reader does, and fails with INVALID_ARGUMENT; after a failure, reading on is harmless.
// Bytes of buffers are in the receiver's read-only mapping: the sender can't change them any more.
//
// Trust: the kernel has checked and rewritten the objects that `offsets` lists, and nothing else.
// An object in `data` that is not listed, and a pointer that no listed child covers, are the
// sender's words. So objects are read strictly in the order of `offsets`, plain data never reaches
// into one, and what is not listed counts only if it is null.
class ParcelReader {
  public:
    // `data` and everything it refers to outlive the reader. A null resolver refuses all binder
    // objects but null, and no `descriptors` any descriptor that is an object of its own.
    ParcelReader(std::span<const uint8_t> data, std::span<const uint64_t> offsets,
                 ObjectResolver* resolver, ReceivedDescriptors* descriptors = nullptr);

    Result<int32_t> readInt32();
    Result<uint32_t> readUint32();
    Result<int64_t> readInt64();
    Result<uint64_t> readUint64();
    Result<bool> readBool();
    // In place; what pads them to the next item is skipped.
    Result<std::span<const uint8_t>> readBytes(size_t size);
    // The plain data that stands between here and the next object, unread.
    std::span<const uint8_t> plainAhead() const;

    struct Buffer {
        BufferIndex index = 0;
        std::span<const uint8_t> bytes;
    };
    // A buffer without parent of exactly `length` bytes.
    Result<Buffer> readBuffer(uint64_t length);
    // A child of exactly `length` bytes, attached at `parent`. `address` is what the parent holds
    // there, and must be the child's. A null child (length and address 0) gives empty bytes.
    Result<Buffer> readChildBuffer(uint64_t length, ParentSlot parent, uint64_t address);
    // The `count` descriptors at `at` of a buffer that has been read. They are the kernel's, which
    // closes them with the parcel: what is kept must be duplicated.
    Status readDescriptorArray(uint64_t count, ParentSlot at);
    // The caller's own from then on.
    Result<FileDescriptor> readDescriptor();
    // The same one, which stays the parcel's.
    Result<int> borrowDescriptor();
    Result<ObjectRef> readObject();
    // Skips plain data and whole objects.
    Status skip(size_t size);

    size_t position() const { return mPosition; }
    size_t remaining() const { return mData.size() - mPosition; }
    // INVALID_ARGUMENT if anything is left to read, also if nothing of this parcel could be.
    Status checkEnd() const;
    // Nothing can be read any more.
    void close();

  private:
    bool atObject() const;
    Status readPlain(void* into, size_t size);
    Status readListedObject(void* into, size_t size, uint32_t type);
    Result<Buffer> readBufferObject(uint64_t length, const ParentSlot* parent, uint64_t address);

    std::span<const uint8_t> mData;
    std::span<const uint64_t> mOffsets;
    ObjectResolver* mResolver;
    ReceivedDescriptors* mDescriptors;
    bool mReadable = true;
    size_t mPosition = 0;
    size_t mNextObject = 0;  // index in mOffsets of the next object to be read
};

}  // namespace halyard::hal
