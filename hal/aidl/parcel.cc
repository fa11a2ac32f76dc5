// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/parcel.h"

#include <bit>
#include <cstring>
#include <utility>

namespace halyard::hal::aidl {
namespace {

// The strict-mode policy of a client's thread, which only Java heeds.
constexpr uint32_t kStrictMode = 0x80000000;
constexpr int32_t kNoWorkSource = -1;
constexpr int32_t kSystemHeader = 0x53595354;  // "SYST"
// Flags that libbinder writes for a null object: the nice value 19.
constexpr uint32_t kNullFlags = 0x13;

// Java's: more before the results, which begin behind it.
constexpr int32_t kNotedOpsHeader = -127;
constexpr int32_t kReplyHeader = -128;

constexpr char32_t kReplacement = 0xfffd;
constexpr char32_t kFirstHigh = 0xd800;
constexpr char32_t kFirstLow = 0xdc00;
constexpr char32_t kAfterLow = 0xe000;
constexpr char32_t kFirstOfPairs = 0x10000;
constexpr char32_t kAfterLast = 0x110000;

// Takes one code point off the front of UTF-8, which is not empty.
char32_t takeCodePoint(std::string_view& text) {
    const auto first = static_cast<uint8_t>(text.front());
    text.remove_prefix(1);
    const int leading = std::countl_one(first);
    if (leading == 0) {
        return first;
    }
    if (leading == 1 || leading > 4) {
        return kReplacement;
    }
    char32_t point = first & (0x7fU >> static_cast<unsigned>(leading));
    for (int i = 1; i < leading; ++i) {
        if (text.empty() || (static_cast<uint8_t>(text.front()) & 0xc0U) != 0x80U) {
            return kReplacement;
        }
        point = point << 6U | (static_cast<uint8_t>(text.front()) & 0x3fU);
        text.remove_prefix(1);
    }
    constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, kFirstOfPairs};
    const bool surrogate = point >= kFirstHigh && point < kAfterLow;
    return point < kLeast[leading] || point >= kAfterLast || surrogate ? kReplacement : point;
}

void appendUtf8(char32_t point, std::string& text) {
    if (point < 0x80) {
        text.push_back(static_cast<char>(point));
        return;
    }
    const unsigned rest = point < 0x800 ? 1 : point < kFirstOfPairs ? 2 : 3;
    const unsigned lead = 0xff00U >> (rest + 1) & 0xffU;
    text.push_back(static_cast<char>(lead | point >> (6 * rest)));
    for (unsigned i = rest; i > 0; --i) {
        text.push_back(static_cast<char>(0x80U | (point >> (6 * (i - 1)) & 0x3fU)));
    }
}

}  // namespace

// ---- AidlWriter ---------------------------------------------------------------------------------

void AidlWriter::writeFloat(float value) {
    writeInt32(std::bit_cast<int32_t>(value));
}

void AidlWriter::writeString(std::string_view text) {
    std::u16string units;
    while (!text.empty()) {
        const char32_t point = takeCodePoint(text);
        if (point >= kFirstOfPairs) {
            units.push_back(static_cast<char16_t>(kFirstHigh + ((point - kFirstOfPairs) >> 10U)));
            units.push_back(static_cast<char16_t>(kFirstLow + (point & 0x3ffU)));
        } else {
            units.push_back(static_cast<char16_t>(point));
        }
    }
    writeInt32(static_cast<int32_t>(units.size()));
    // With the NUL that ends it.
    mParcel.writeBytes({reinterpret_cast<const uint8_t*>(units.c_str()),
                        (units.size() + 1) * sizeof(char16_t)});
}

void AidlWriter::writeBytes(std::span<const uint8_t> bytes) {
    writeInt32(static_cast<int32_t>(bytes.size()));
    mParcel.writeBytes(bytes);
}

void AidlWriter::writeDescriptor(BorrowedDescriptor descriptor) {
    writeInt32(1);
    writeInt32(0);  // without a channel by which its sender hears of its end
    mParcel.writeDescriptor(descriptor.fd);
}

void AidlWriter::writeObject(const ObjectRef& object) {
    mParcel.writeObject(object, kNullFlags);
    mParcel.writeUint32(
            mRelease.stabilityWord(isNull(object) ? Stability::UNDECLARED : mStability));
}

void AidlWriter::writeMarkedObject(const MarkedObject& object) {
    mParcel.writeObject(object.object, kNullFlags);
    mParcel.writeUint32(object.stability);
}

size_t AidlWriter::beginParcelable() {
    writeInt32(1);
    const size_t at = mParcel.data().size();
    writeInt32(0);
    return at;
}

void AidlWriter::endParcelable(size_t at) {
    mParcel.setInt32(at, static_cast<int32_t>(mParcel.data().size() - at));
}

void AidlWriter::writeRequestHead(std::string_view descriptor) {
    mParcel.writeUint32(kStrictMode);
    writeInt32(kNoWorkSource);
    writeInt32(kSystemHeader);
    writeString(descriptor);
}

void AidlWriter::writeException(const Exception& exception) {
    writeInt32(exception.code);
    writeString(exception.message);
    writeInt32(0);  // bytes of a stack trace
    if (exception.code == Exception::kServiceSpecific) {
        writeInt32(exception.serviceSpecific);
    }
}

// ---- AidlReader ---------------------------------------------------------------------------------

Result<float> AidlReader::readFloat() {
    HALYARD_ASSIGN_OR_RETURN(const int32_t bits, readInt32());
    return std::bit_cast<float>(bits);
}

Result<std::optional<std::string>> AidlReader::readNullableString() {
    HALYARD_ASSIGN_OR_RETURN(const int32_t count, readInt32());
    std::optional<std::string> text;
    if (count == -1) {
        return text;
    }
    // Before anything is computed of it that 32 bits may not hold.
    const size_t left = mParcel.remaining();
    if (count < 0 || static_cast<size_t>(count) >= left / sizeof(char16_t)) {
        return invalidArgument("parcel: a string of " + std::to_string(count) + " units where " +
                               std::to_string(left) + " bytes are left");
    }
    const size_t size = (static_cast<size_t>(count) + 1) * sizeof(char16_t);
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, mParcel.readBytes(size));
    const auto unit = [&bytes](size_t i) {
        char16_t value = 0;
        std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
        return static_cast<char32_t>(value);
    };
    if (unit(static_cast<size_t>(count)) != 0) {
        return invalidArgument("parcel: a string without the NUL at its end");
    }
    text.emplace();
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        char32_t point = unit(i);
        if (point >= kFirstHigh && point < kAfterLow) {
            const char32_t low = unit(i + 1);
            if (point >= kFirstLow || low < kFirstLow || low >= kAfterLow) {
                return invalidArgument("parcel: a string with half a surrogate pair");
            }
            point = kFirstOfPairs + ((point - kFirstHigh) << 10U) + (low - kFirstLow);
            ++i;
        }
        appendUtf8(point, *text);
    }
    return text;
}

Result<std::string> AidlReader::readString() {
    HALYARD_ASSIGN_OR_RETURN(std::optional<std::string> text, readNullableString());
    if (!text.has_value()) {
        return invalidArgument("parcel: a null string");
    }
    return *std::move(text);
}

Result<std::vector<uint8_t>> AidlReader::readBytes() {
    HALYARD_ASSIGN_OR_RETURN(const int32_t length, readInt32());
    if (length < 0) {
        return invalidArgument("parcel: an array of " + std::to_string(length) + " bytes");
    }
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes,
                             mParcel.readBytes(static_cast<size_t>(length)));
    return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

Result<size_t> AidlReader::readCount() {
    HALYARD_ASSIGN_OR_RETURN(const int32_t count, readInt32());
    const size_t position = mParcel.position();
    const size_t left = position < mEnd ? mEnd - position : 0;
    if (count < 0 || static_cast<size_t>(count) > left / sizeof(int32_t)) {
        return invalidArgument("parcel: an array of " + std::to_string(count) + " elements where " +
                               std::to_string(left) + " bytes are left");
    }
    return static_cast<size_t>(count);
}

Status AidlReader::takeRoom(size_t bytes) {
    if (bytes > mRoom) {
        return invalidArgument("parcel: its arrays take far more room than the parcel itself");
    }
    mRoom -= bytes;
    return {};
}

Result<bool> AidlReader::readPresence() {
    HALYARD_ASSIGN_OR_RETURN(const int32_t present, readInt32());
    return present != 0;
}

Status AidlReader::readRequired() {
    HALYARD_ASSIGN_OR_RETURN(const bool present, readPresence());
    return present ? Status() : invalidArgument("parcel: a null value where one must be");
}

Result<BorrowedDescriptor> AidlReader::readDescriptor() {
    HALYARD_ASSIGN_OR_RETURN(const int32_t hasChannel, readInt32());
    HALYARD_ASSIGN_OR_RETURN(const BorrowedDescriptor descriptor, readBareDescriptor());
    if (hasChannel != 0) {
        HALYARD_RETURN_IF_ERROR(readBareDescriptor().status());
    }
    return descriptor;
}

Result<BorrowedDescriptor> AidlReader::readBareDescriptor() {
    HALYARD_ASSIGN_OR_RETURN(const int fd, mParcel.borrowDescriptor());
    return BorrowedDescriptor{.fd = fd};
}

Result<MarkedObject> AidlReader::readMarkedObject() {
    MarkedObject marked;
    HALYARD_ASSIGN_OR_RETURN(marked.object, mParcel.readObject());
    HALYARD_ASSIGN_OR_RETURN(marked.stability, mParcel.readUint32());
    return marked;
}

Result<ObjectRef> AidlReader::readObject() {
    HALYARD_ASSIGN_OR_RETURN(MarkedObject marked, readMarkedObject());
    return std::move(marked.object);
}

Result<AidlReader::Outer> AidlReader::beginParcelable() {
    const size_t start = mParcel.position();
    HALYARD_ASSIGN_OR_RETURN(const int32_t size, readInt32());
    // Its size is among its bytes.
    if (size < static_cast<int32_t>(sizeof(size)) || size % 4 != 0 || start > mEnd ||
        static_cast<size_t>(size) > mEnd - start) {
        return invalidArgument("parcel: a parcelable of " + std::to_string(size) + " bytes at " +
                               std::to_string(start) + " of " + std::to_string(mEnd));
    }
    return Outer{.end = std::exchange(mEnd, start + static_cast<size_t>(size))};
}

Status AidlReader::endParcelable(Outer outer) {
    const size_t end = std::exchange(mEnd, outer.end);
    const size_t position = mParcel.position();
    if (position > end) {
        return invalidArgument("parcel: a parcelable that is " + std::to_string(position - end) +
                               " bytes longer than it says");
    }
    return mParcel.skip(end - position);
}

Result<std::string> AidlReader::readRequestHead() {
    HALYARD_RETURN_IF_ERROR(readInt32().status());  // strict mode
    HALYARD_RETURN_IF_ERROR(readInt32().status());  // work source
    HALYARD_ASSIGN_OR_RETURN(const int32_t header, readInt32());
    if (header != kSystemHeader) {
        return invalidArgument("parcel: the head is not that of the system's libbinder");
    }
    return readString();
}

Result<std::optional<Exception>> AidlReader::readReplyHead() {
    Exception exception;
    HALYARD_ASSIGN_OR_RETURN(exception.code, readInt32());
    if (exception.code == kNotedOpsHeader || exception.code == kReplyHeader) {
        const bool last = exception.code == kReplyHeader;
        HALYARD_ASSIGN_OR_RETURN(const Outer outer, beginParcelable());
        HALYARD_RETURN_IF_ERROR(endParcelable(outer));
        exception.code = 0;
        if (!last) {
            HALYARD_ASSIGN_OR_RETURN(exception.code, readInt32());
        }
    }
    if (exception.code == 0) {
        return std::optional<Exception>();
    }
    HALYARD_ASSIGN_OR_RETURN(std::optional<std::string> message, readNullableString());
    exception.message = std::move(message).value_or("");
    HALYARD_ASSIGN_OR_RETURN(const int32_t stackTrace, readInt32());
    if (stackTrace < 0) {
        return invalidArgument("parcel: a stack trace of " + std::to_string(stackTrace) + " bytes");
    }
    HALYARD_RETURN_IF_ERROR(mParcel.skip(static_cast<size_t>(stackTrace)));
    if (exception.code == Exception::kServiceSpecific) {
        HALYARD_ASSIGN_OR_RETURN(exception.serviceSpecific, readInt32());
    }
    return std::optional(std::move(exception));
}

}  // namespace halyard::hal::aidl
