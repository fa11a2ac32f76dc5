// SPDX-License-Identifier: Apache-2.0
//
// Parcels of stable AIDL: strings, arrays, parcelables, unions, descriptors, objects,
// and the heads of requests and replies. Structs are written and read by codec.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "hal/aidl/release.h"
#include "hal/binder/parcel.h"

namespace halyard::hal::aidl {

// A descriptor that is owned elsewhere: when it is written, by the sender; when it was read, by the
// parcel, which closes it (what is kept is duplicated). -1: none.
struct BorrowedDescriptor {
    int fd = -1;
};

// An object with the word that stands behind it, as it was sent or is to be sent on: what its owner
// promises of its interface's stability.
struct MarkedObject {
    ObjectRef object = {};
    uint32_t stability = 0;
};

// How a call failed, where its interface or its stub says so.
struct Exception {
    static constexpr int32_t kSecurity = -1;
    static constexpr int32_t kIllegalArgument = -3;
    static constexpr int32_t kNullPointer = -4;
    static constexpr int32_t kIllegalState = -5;
    static constexpr int32_t kUnsupportedOperation = -7;
    static constexpr int32_t kServiceSpecific = -8;

    int32_t code = kServiceSpecific;
    std::string message = {};
    int32_t serviceSpecific = 0;  // counts with kServiceSpecific alone
};

class AidlWriter {
  public:
    // The parcel outlives the writer. `stability`: of all objects that are written.
    AidlWriter(ParcelWriter& parcel, const Release& release, Stability stability = Stability::VINTF)
        : mParcel(parcel), mRelease(release), mStability(stability) {}

    void writeInt32(int32_t value) { mParcel.writeInt32(value); }
    void writeInt64(int64_t value) { mParcel.writeInt64(value); }
    void writeFloat(float value);
    // `text` is UTF-8; what is none becomes U+FFFD.
    void writeString(std::string_view text);
    void writeNullString() { writeInt32(-1); }
    void writeBytes(std::span<const uint8_t> bytes);
    void writeDescriptor(BorrowedDescriptor descriptor);
    void writeObject(const ObjectRef& object);
    void writeMarkedObject(const MarkedObject& object);

    // Of a parcelable that is there: where endParcelable() writes its size.
    size_t beginParcelable();
    void endParcelable(size_t at);

    void writeRequestHead(std::string_view descriptor);
    // Without an exception.
    void writeReplyHead() { writeInt32(0); }
    void writeException(const Exception& exception);

  private:
    ParcelWriter& mParcel;
    const Release mRelease;
    const Stability mStability;
};

// All failures are INVALID_ARGUMENT. Which stability an object was sent with only the service
// manager looks at: it says what its owner promises, and nothing else here would be done otherwise.
class AidlReader {
  public:
    explicit AidlReader(ParcelReader& parcel)
        : mParcel(parcel),
          mEnd(parcel.position() + parcel.remaining()),
          mRoom(kRoomAnyway + kRoomPerByte * parcel.remaining()) {}

    Result<int32_t> readInt32() { return mParcel.readInt32(); }
    Result<int64_t> readInt64() { return mParcel.readInt64(); }
    Result<float> readFloat();
    // As UTF-8. A string of halves of surrogate pairs is refused, as is a null one.
    Result<std::string> readString();
    Result<std::optional<std::string>> readNullableString();
    Result<std::vector<uint8_t>> readBytes();
    // A number of elements that take four bytes each at least, and so can be there.
    Result<size_t> readCount();
    // Room for an element of an array. A struct in memory is far larger than the least that it can
    // travel as, without its fields; only a hostile sender makes use of that, so that the receiver
    // runs short of memory before a client is charged for it.
    Status takeRoom(size_t bytes);
    // Whether a value stands here that may be absent.
    Result<bool> readPresence();
    // The same of one that may not.
    Status readRequired();
    // Of a ParcelFileDescriptor that is there.
    Result<BorrowedDescriptor> readDescriptor();
    // One that stands by itself, as the transaction DUMP has it.
    Result<BorrowedDescriptor> readBareDescriptor();
    Result<ObjectRef> readObject();
    Result<MarkedObject> readMarkedObject();

    // Of a parcelable that is there. endParcelable() takes what that gave, and goes to its end,
    // whatever is left in it: newer versions have more fields.
    struct Outer {
        size_t end;
    };
    Result<Outer> beginParcelable();
    Status endParcelable(Outer outer);
    // No field comes any more: older versions have fewer.
    bool atEndOfParcelable() const { return mParcel.position() >= mEnd; }

    // The interface's descriptor.
    Result<std::string> readRequestHead();
    // Nothing: the results follow.
    Result<std::optional<Exception>> readReplyHead();

  private:
    // At least as much memory as values with all of their fields take.
    static constexpr size_t kRoomPerByte = 4;
    static constexpr size_t kRoomAnyway = 64 * 1024;

    ParcelReader& mParcel;
    size_t mEnd;  // of the parcelable that is being read
    size_t mRoom;
};

}  // namespace halyard::hal::aidl
