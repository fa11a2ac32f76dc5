// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/parcel.h"

#include <gtest/gtest.h>
#include <linux/android/binder.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hal/hidl/codec.h"
#include "hal/hidl/types.h"
#include "tests/hal/loopback.h"

namespace halyard::hal {

namespace {

using hidl::HidlHandle;
using hidl::HidlString;
using hidl::HidlVec;
using testing::capture;
using testing::deliver;
using testing::DeliveredParcel;
using testing::Descriptors;
using testing::SentParcel;

class SomeObject : public LocalObject {
  public:
    explicit SomeObject(const ObjectFlags& flags = {}) : mFlags(flags) {}
    ObjectFlags flags() const override { return mFlags; }
    WireStatus onTransact(IncomingCall& /*call*/) override {
        return WireStatus::UNKNOWN_TRANSACTION;
    }

  private:
    const ObjectFlags mFlags;
};

// A parcel on its way, which tests damage.
class Parcel {
  public:
    explicit Parcel(const ParcelWriter& writer) : mSent(capture(writer)) {}

    SentParcel& sent() { return mSent; }
    template <typename Object>
    void change(size_t index, void (*how)(Object&)) {
        Object object;
        uint8_t* at = mSent.data.data() + mSent.offsets[index];
        std::memcpy(&object, at, sizeof(object));
        how(object);
        std::memcpy(at, &object, sizeof(object));
    }
    void unlist(size_t index) {
        mSent.offsets.erase(mSent.offsets.begin() + static_cast<ptrdiff_t>(index));
        mSent.buffers.erase(mSent.buffers.begin() + static_cast<ptrdiff_t>(index));
    }
    // The result of a reader of T, once the kernel has passed the parcel on.
    template <typename T>
    Status read() {
        Result<DeliveredParcel> delivered = deliver(mSent, Descriptors::KEEP);
        if (!delivered.ok()) {
            return internalError(std::string(delivered.status().message()));
        }
        ParcelReader reader = delivered->reader(nullptr);
        return hidl::readValue<T>(reader).status();
    }

  private:
    SentParcel mSent;
};

Parcel vecOfStrings() {
    ParcelWriter writer;
    const std::vector<HidlString> strings = {hidl::makeString(writer, "one"),
                                             hidl::makeString(writer, "two")};
    hidl::writeValue(writer, hidl::makeVec(writer, strings));
    return Parcel(writer);
}

Parcel vecOfOneHandle() {
    ParcelWriter writer;
    const std::vector<HidlHandle> handles = {
            hidl::makeHandle(writer, {.fds = {3, 4}, .ints = {5}})};
    hidl::writeValue(writer, hidl::makeVec(writer, handles));
    return Parcel(writer);
}

// INVALID_ARGUMENT: the reader refused it, not the kernel.
void expectRefused(const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT) << status.toString();
}

TEST(Parcel, PutsEveryItemOnFourBytes) {
    ParcelWriter writer;
    hidl::writeInterfaceToken(writer, "abcd");
    writer.writeUint64(1);
    EXPECT_EQ(writer.data().size(), 8U + 8U);
    writer.writeInt32(-1);
    writer.writeObject({});
    EXPECT_EQ(writer.data().size(), 20U + sizeof(flat_binder_object));
}

TEST(Parcel, ReadsBackWhatWasWritten) {
    ParcelWriter writer;
    hidl::writeInterfaceToken(writer, "android.hidl.base@1.0::IBase");
    writer.writeInt32(-5);
    writer.writeUint64(0x1122334455667788);
    writer.writeInt32(1);
    Result<DeliveredParcel> parcel = deliver(capture(writer), Descriptors::KEEP);
    ASSERT_TRUE(parcel.ok());
    ParcelReader reader = parcel->reader(nullptr);
    EXPECT_EQ(*hidl::readInterfaceToken(reader), "android.hidl.base@1.0::IBase");
    EXPECT_EQ(*reader.readInt32(), -5);
    EXPECT_EQ(*reader.readUint64(), 0x1122334455667788U);
    EXPECT_TRUE(*reader.readBool());
    EXPECT_EQ(reader.remaining(), 0U);
    expectRefused(reader.readInt32().status());
}

TEST(Parcel, ReadsBytesInPlaceUpToTheNextObject) {
    ParcelWriter writer;
    const std::vector<uint8_t> bytes = {1, 2, 3, 4, 5};
    writer.writeBytes(bytes);
    writer.writeInt64(-6);
    writer.writeObject(ObjectRef(std::make_shared<SomeObject>()));
    Result<DeliveredParcel> parcel = deliver(capture(writer), Descriptors::KEEP);
    ASSERT_TRUE(parcel.ok());
    ParcelReader reader = parcel->reader(nullptr);
    EXPECT_EQ(reader.plainAhead().size(), 8U + 8U);
    expectRefused(reader.readBytes(17).status());
    expectRefused(reader.readBytes(0xffffffffffffffff).status());
    const std::span<const uint8_t> read = reader.readBytes(5).value();
    EXPECT_TRUE(std::equal(read.begin(), read.end(), bytes.begin(), bytes.end()));
    EXPECT_EQ(reader.readInt64().value(), -6);
    EXPECT_TRUE(reader.plainAhead().empty());
    expectRefused(reader.readBytes(1).status());
    expectRefused(reader.checkEnd());
}

TEST(Parcel, CountsBuffersRoundedUpToEight) {
    ParcelWriter writer;
    const std::vector<uint8_t> bytes(9);
    writer.writeBuffer(bytes);
    writer.writeBuffer(std::span(bytes).first(1));
    EXPECT_EQ(writer.buffersSize(), 16U + 8U);
}

TEST(Parcel, WritesEmptyVecWithoutListingIt) {
    ParcelWriter writer;
    hidl::writeValue(writer, HidlVec<uint32_t>());
    EXPECT_EQ(writer.offsets().size(), 1U);
    EXPECT_EQ(writer.data().size(), 2 * sizeof(binder_buffer_object));
    EXPECT_TRUE(Parcel(writer).read<HidlVec<uint32_t>>().ok());
}

TEST(Parcel, AcceptsListedBufferOfNoBytes) {
    ParcelWriter writer;
    HidlVec<uint32_t> vec;
    const uint64_t somewhere = 0;
    vec.address = reinterpret_cast<uintptr_t>(&somewhere);
    hidl::writeValue(writer, vec);
    EXPECT_EQ(writer.offsets().size(), 2U);
    EXPECT_TRUE(Parcel(writer).read<HidlVec<uint32_t>>().ok());
}

TEST(Parcel, PassesDescriptors) {
    ParcelWriter writer;
    NativeHandle handle{.fds = {0}, .ints = {7, 8}};
    hidl::writeNativeHandle(writer, &handle);
    hidl::writeNativeHandle(writer, nullptr);
    Result<DeliveredParcel> parcel = deliver(capture(writer), Descriptors::DUPLICATE);
    ASSERT_TRUE(parcel.ok());
    ParcelReader reader = parcel->reader(nullptr);
    Result<ReceivedHandle> read = hidl::readNativeHandle(reader);
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(read->valid);
    ASSERT_EQ(read->handle.fds.size(), 1U);
    EXPECT_GT(read->handle.fds[0], 2);
    EXPECT_EQ(read->handle.ints, handle.ints);
    Result<ReceivedHandle> null = hidl::readNativeHandle(reader);
    ASSERT_TRUE(null.ok());
    EXPECT_FALSE(null->valid);
}

TEST(Parcel, TellsTheKernelWhatAnObjectSaysOfItself) {
    const std::vector<std::pair<ObjectFlags, uint32_t>> flags = {
            {{.takesDescriptors = true}, 0x100},
            {{.takesDescriptors = false}, 0},
            {{.takesDescriptors = true, .inheritsRealTime = true}, 0x900},
            {{.takesDescriptors = true, .inheritsRealTime = false, .mostNice = 19}, 0x113}};
    for (const auto& [said, expected] : flags) {
        ParcelWriter writer;
        writer.writeObject(std::make_shared<SomeObject>(said));
        flat_binder_object object = {};
        ASSERT_GE(writer.data().size(), sizeof(object));
        std::memcpy(&object, writer.data().data(), sizeof(object));
        EXPECT_EQ(object.flags, expected);
    }
}

TEST(Parcel, RejectsBufferOfAnotherLength) {
    expectRefused(vecOfStrings().read<std::array<uint8_t, 32>>());
}

TEST(Parcel, RejectsRootThatHasParent) {
    ParcelWriter writer;
    const std::vector<uint64_t> words(4);
    const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
    BufferIndex root = writer.writeBuffer({bytes, 32});
    writer.writeChildBuffer({bytes, 32}, {root, 0});
    Result<DeliveredParcel> parcel = deliver(capture(writer), Descriptors::KEEP);
    ASSERT_TRUE(parcel.ok());
    ParcelReader reader = parcel->reader(nullptr);
    EXPECT_TRUE(reader.readBuffer(32).ok());
    expectRefused(reader.readBuffer(32).status());
}

TEST(Parcel, RejectsChildWithWrongParent) {
    Parcel parcel = vecOfStrings();
    parcel.change<binder_buffer_object>(3, [](auto& object) { object.parent = 0; });
    parcel.change<binder_buffer_object>(3, [](auto& object) { object.parent_offset = 8; });
    expectRefused(parcel.read<HidlVec<HidlString>>());
}

TEST(Parcel, RejectsChildAtAnotherPlaceInItsParent) {
    Parcel parcel = vecOfStrings();
    parcel.change<binder_buffer_object>(3, [](auto& object) { object.parent_offset = 24; });
    expectRefused(parcel.read<HidlVec<HidlString>>());
}

TEST(Parcel, RejectsChildThatHangsOffAnotherSlotAndYetLiesWhereItsOwnPoints) {
    const std::vector<uint8_t> parent(32);
    const std::vector<uint8_t> bytes(4);
    const uint64_t address = reinterpret_cast<uintptr_t>(bytes.data());
    ParcelWriter writer;
    writer.writeChildBuffer(bytes, {.index = writer.writeBuffer(parent), .offset = 24});
    ParcelReader elsewhere(writer.data(), writer.offsets(), nullptr, nullptr);
    ASSERT_TRUE(elsewhere.readBuffer(parent.size()).ok());
    expectRefused(elsewhere.readChildBuffer(4, {.index = 0, .offset = 16}, address).status());
    ParcelReader reader(writer.data(), writer.offsets(), nullptr, nullptr);
    ASSERT_TRUE(reader.readBuffer(parent.size()).ok());
    EXPECT_TRUE(reader.readChildBuffer(4, {.index = 0, .offset = 24}, address).ok());
    EXPECT_TRUE(reader.checkEnd().ok());
}

TEST(Parcel, NeverFollowsPointerThatNoListedChildCovers) {
    Parcel parcel = vecOfStrings();
    // The second string's buffer is gone from the list; its address is the sender's word.
    parcel.unlist(3);
    const uint64_t address = 0xdead0000;
    std::memcpy(parcel.sent().buffer(1)->data() + sizeof(HidlString), &address, sizeof(address));
    expectRefused(parcel.read<HidlVec<HidlString>>());
}

TEST(Parcel, RejectsElementsThatNoBufferHolds) {
    ParcelWriter writer;
    hidl::writeValue(writer, HidlVec<uint32_t>());
    Parcel parcel(writer);
    const uint32_t count = 1000;
    std::memcpy(parcel.sent().buffer(0)->data() + offsetof(HidlVec<uint32_t>, count), &count,
                sizeof(count));
    expectRefused(parcel.read<HidlVec<uint32_t>>());
}

TEST(Parcel, RejectsVecOfAnotherCountThanItsBuffer) {
    Parcel parcel = vecOfStrings();
    for (uint32_t count : {0U, 1U, 3U, 0xffffffffU}) {
        std::memcpy(parcel.sent().buffer(0)->data() + offsetof(HidlVec<HidlString>, count), &count,
                    sizeof(count));
        expectRefused(parcel.read<HidlVec<HidlString>>());
    }
}

TEST(Parcel, RejectsStringWithoutNul) {
    Parcel parcel = vecOfStrings();
    parcel.sent().buffer(2)->back() = 'x';
    expectRefused(parcel.read<HidlVec<HidlString>>());
}

TEST(Parcel, RejectsUnknownUnionMember) {
    ParcelWriter writer;
    hidl::nn::v1_3::OptionalTimePoint none;
    hidl::writeValue(writer, none);
    Parcel parcel(writer);
    EXPECT_TRUE(parcel.read<hidl::nn::v1_3::OptionalTimePoint>().ok());
    parcel.sent().buffer(0)->front() = 2;
    expectRefused(parcel.read<hidl::nn::v1_3::OptionalTimePoint>());
}

TEST(Parcel, RejectsHandleWhoseCountsDoNotFit) {
    EXPECT_TRUE(vecOfOneHandle().read<HidlVec<HidlHandle>>().ok());
    const int32_t headers[][3] = {{11, 2, 1},  {12, 1, 1},  {12, 3, 1},    {12, 2, 0},
                                  {12, 2, 2},  {12, -1, 4}, {12, 1025, 1}, {12, 2, -1},
                                  {12, 4, -1}, {12, 3, 0},  {0, 2, 1},     {12, 2, 1025}};
    for (const auto& header : headers) {
        Parcel parcel = vecOfOneHandle();
        std::memcpy(parcel.sent().buffer(2)->data(), header, sizeof(header));
        Status status = parcel.read<HidlVec<HidlHandle>>();
        EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT)
                << header[0] << " " << header[1] << " " << header[2];
    }
}

TEST(Parcel, RejectsHandleWithoutDescriptorArray) {
    Parcel parcel = vecOfOneHandle();
    parcel.unlist(3);
    expectRefused(parcel.read<HidlVec<HidlHandle>>());
}

TEST(Parcel, RejectsDescriptorArrayOfAnotherCountOrPlace) {
    Parcel fewer = vecOfOneHandle();
    fewer.change<binder_fd_array_object>(3, [](auto& object) { object.num_fds = 1; });
    expectRefused(fewer.read<HidlVec<HidlHandle>>());
    Parcel elsewhere = vecOfOneHandle();
    elsewhere.change<binder_fd_array_object>(3, [](auto& object) { object.parent_offset = 16; });
    expectRefused(elsewhere.read<HidlVec<HidlHandle>>());
    Parcel ofAnother = vecOfOneHandle();
    ofAnother.change<binder_fd_array_object>(3, [](auto& object) {
        object.parent = 1;
        object.parent_offset = 8;
    });
    expectRefused(ofAnother.read<HidlVec<HidlHandle>>());
}

TEST(Parcel, RejectsNullHandleWithAddress) {
    ParcelWriter writer;
    const std::vector<HidlHandle> handles(1);
    hidl::writeValue(writer, hidl::makeVec(writer, handles));
    Parcel parcel(writer);
    EXPECT_TRUE(parcel.read<HidlVec<HidlHandle>>().ok());
    parcel.sent().buffer(1)->front() = 1;
    expectRefused(parcel.read<HidlVec<HidlHandle>>());
}

TEST(Parcel, RejectsUnlistedObjectThatIsNotNull) {
    ParcelWriter writer;
    writer.writeObject(ObjectRef(std::make_shared<SomeObject>()));
    Parcel parcel(writer);
    parcel.unlist(0);
    parcel.sent().data[offsetof(flat_binder_object, binder)] = 1;
    Result<DeliveredParcel> delivered = deliver(parcel.sent(), Descriptors::KEEP);
    ASSERT_TRUE(delivered.ok());
    ParcelReader reader = delivered->reader(nullptr);
    expectRefused(reader.readObject().status());
}

TEST(Parcel, RejectsPlainDataThatReachesIntoAnObject) {
    ParcelWriter writer;
    writer.writeInt32(0);
    writer.writeObject(ObjectRef(std::make_shared<SomeObject>()));
    Result<DeliveredParcel> delivered = deliver(capture(writer), Descriptors::KEEP);
    ASSERT_TRUE(delivered.ok());
    ParcelReader reader = delivered->reader(nullptr);
    expectRefused(reader.readUint64().status());
    EXPECT_TRUE(reader.readInt32().ok());
    expectRefused(reader.readInt32().status());
}

// The kernel lets objects be as short as the shortest that there is.
TEST(Parcel, RejectsObjectsThatAreCutShort) {
    binder_buffer_object object = {};
    object.hdr.type = BINDER_TYPE_PTR;
    std::vector<uint8_t> data(2 * sizeof(flat_binder_object));
    static_assert(sizeof(object) > sizeof(flat_binder_object));
    std::memcpy(data.data(), &object, sizeof object);
    const auto readWith = [&](const std::vector<uint64_t>& offsets, size_t size) {
        ParcelReader reader(std::span<const uint8_t>(data).first(size), offsets, nullptr);
        return std::string(reader.readBuffer(0).status().message());
    };
    EXPECT_EQ(readWith({0}, sizeof object), "");
    EXPECT_EQ(readWith({0}, sizeof(flat_binder_object)), "parcel: the object at 0 is cut short");
    EXPECT_EQ(readWith({0, sizeof(flat_binder_object)}, data.size()),
              "parcel: the object at 0 is cut short");
}

// Objects one behind the other, as no kernel passes them on: what reads them trusts none.
class Raw {
  public:
    template <typename Object>
    Raw& add(const Object& object, bool isListed = true) {
        if (isListed) {
            mOffsets.push_back(mData.size());
        }
        const auto* const bytes = reinterpret_cast<const uint8_t*>(&object);
        mData.insert(mData.end(), bytes, bytes + sizeof(object));
        return *this;
    }
    ParcelReader reader() const { return {mData, mOffsets, nullptr}; }

  private:
    std::vector<uint8_t> mData;
    std::vector<uint64_t> mOffsets;
};

TEST(Parcel, RejectsChildrenThatLieElsewhereThanTheirParentPoints) {
    const std::array<uint32_t, 1> elements = {7};
    const std::array<uint32_t, 1> others = {8};
    HidlVec<uint32_t> vec;
    vec.address = reinterpret_cast<uintptr_t>(elements.data());
    vec.count = 1;
    const auto readWith = [&](const std::array<uint32_t, 1>& bytes, uint64_t parent,
                              uint64_t parentOffset) {
        binder_buffer_object root = {};
        root.hdr.type = BINDER_TYPE_PTR;
        root.buffer = reinterpret_cast<uintptr_t>(&vec);
        root.length = sizeof vec;
        binder_buffer_object child = root;
        child.flags = BINDER_BUFFER_FLAG_HAS_PARENT;
        child.buffer = reinterpret_cast<uintptr_t>(bytes.data());
        child.length = sizeof bytes;
        child.parent = parent;
        child.parent_offset = parentOffset;
        const Raw raw = Raw().add(root).add(child);
        ParcelReader reader = raw.reader();
        return std::string(hidl::readValue<HidlVec<uint32_t>>(reader).status().message());
    };
    EXPECT_EQ(readWith(elements, 0, 0), "");
    for (const auto& [message, wrong] :
         {std::pair("is not where its parent points", readWith(others, 0, 0)),
          std::pair("hangs off another place than expected", readWith(elements, 1, 0)),
          std::pair("hangs off another place than expected", readWith(elements, 0, 8))}) {
        EXPECT_NE(wrong.find(message), std::string::npos) << wrong;
    }
}

TEST(Parcel, RejectsDescriptorsAndObjectsWhereNoneAreTaken) {
    flat_binder_object descriptor = {};
    descriptor.hdr.type = BINDER_TYPE_FD;
    const Raw withDescriptor = Raw().add(descriptor);
    expectRefused(withDescriptor.reader().readDescriptor().status());
    expectRefused(withDescriptor.reader().borrowDescriptor().status());
    for (const uint32_t type : {BINDER_TYPE_BINDER, BINDER_TYPE_HANDLE, BINDER_TYPE_FD}) {
        flat_binder_object object = {};
        object.hdr.type = type;
        expectRefused(Raw().add(object).reader().readObject().status());
    }
}

TEST(Parcel, TakesForNullOnlyWhatIsNull) {
    flat_binder_object null = {};
    null.hdr.type = BINDER_TYPE_BINDER;
    const auto read = [](const flat_binder_object& object) {
        const Raw raw = Raw().add(object, false);
        return raw.reader().readObject().status();
    };
    EXPECT_TRUE(read(null).ok());
    flat_binder_object wrong = null;
    wrong.hdr.type = BINDER_TYPE_HANDLE;
    expectRefused(read(wrong));
    wrong = null;
    wrong.binder = 1;
    expectRefused(read(wrong));
    wrong = null;
    wrong.cookie = 1;
    expectRefused(read(wrong));
}

TEST(Parcel, SkipsNoMoreThanThereIsAndNoPartsOfObjects) {
    const flat_binder_object object = {};
    const Raw raw = Raw().add(uint32_t{7}, false).add(object).add(uint32_t{8}, false);
    constexpr size_t kSize = 2 * sizeof(uint32_t) + sizeof object;
    for (const size_t size : {size_t{8}, sizeof object, kSize + 1, ~size_t{0}}) {
        expectRefused(raw.reader().skip(size));
    }
    for (const size_t size : {size_t{4}, kSize - 4, kSize}) {
        ParcelReader reader = raw.reader();
        EXPECT_TRUE(reader.skip(size).ok()) << size;
        EXPECT_EQ(reader.remaining(), kSize - size);
    }
}

TEST(Parcel, RejectsAnEmptyVecOfSomethingElse) {
    ParcelWriter writer;
    hidl::writeValue(writer, HidlVec<uint32_t>());
    Parcel parcel(writer);
    parcel.sent().data[sizeof(binder_buffer_object)] ^= 1;  // of its type
    const Status status = parcel.read<HidlVec<uint32_t>>();
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("not a buffer"), std::string_view::npos) << status.message();
}

TEST(Parcel, RejectsTokenWithoutEnd) {
    const std::vector<uint8_t> data = {'a', 'b', 'c', 'd'};
    ParcelReader reader(data, {}, nullptr);
    EXPECT_EQ(hidl::readInterfaceToken(reader).status().message(),
              "parcel: no interface token, or one without an end");
}

TEST(Parcel, RejectsRepliesThatAreExceptions) {
    for (const int32_t exception : {0, 1, -1, -8}) {
        ParcelWriter writer;
        writer.writeInt32(exception);
        const SentParcel sent = capture(writer);
        ParcelReader reader(sent.data, sent.offsets, nullptr);
        EXPECT_EQ(hidl::readReplyHead(reader).ok(), exception == 0) << exception;
    }
}

TEST(Parcel, RejectsHandlesOfMoreThanAnybodyHas) {
    for (const auto& [fds, ints] :
         {std::pair(1024, 1024), std::pair(1025, 0), std::pair(0, 1025)}) {
        ParcelWriter writer;
        const std::vector<HidlHandle> handles = {hidl::makeHandle(
                writer, {.fds = std::vector<int>(static_cast<size_t>(fds), 3),
                         .ints = std::vector<int32_t>(static_cast<size_t>(ints), 5)})};
        hidl::writeValue(writer, hidl::makeVec(writer, handles));
        EXPECT_EQ(Parcel(writer).read<HidlVec<HidlHandle>>().code(),
                  fds + ints == 2048 ? StatusCode::OK : StatusCode::INVALID_ARGUMENT)
                << fds << " " << ints;
    }
}

TEST(Parcel, RejectsOffsetsThatAreOutOfOrderOrBounds) {
    const std::vector<uint8_t> data(96);
    const std::vector<std::vector<uint64_t>> bad = {
            {24, 0}, {0, 20}, {2}, {26}, {76}, {96}, {0xfffffffffffffffc}};
    for (const std::vector<uint64_t>& offsets : bad) {
        ParcelReader reader(data, offsets, nullptr);
        expectRefused(reader.readInt32().status());
    }
    const std::vector<uint64_t> behind = {4};
    ParcelReader small(std::span<const uint8_t>(data).first(8), behind, nullptr);
    expectRefused(small.readInt32().status());
    const std::vector<uint64_t> good = {24, 48, 72};
    ParcelReader reader(data, good, nullptr);
    EXPECT_TRUE(reader.readInt32().ok());
}

}  // namespace

}  // namespace halyard::hal
