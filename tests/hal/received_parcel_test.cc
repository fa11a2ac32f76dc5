// SPDX-License-Identifier: Apache-2.0
//
// A received parcel's descriptors and buffers, and when it lets go of them.

#include "hal/binder/received_parcel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/android/binder.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "hal/binder/incoming_call.h"
#include "hal/hidl/hidl_parcel.h"
#include "tests/hal/loopback.h"
#include "tests/hal/open_descriptors.h"

namespace halyard::hal {

namespace {

using testing::capture;
using testing::deliver;
using testing::DeliveredParcel;
using testing::Descriptors;
using testing::openDescriptors;

class ReceivedParcels : public ::testing::Test {
  protected:
    void SetUp() override { mBefore = openDescriptors(); }
    void TearDown() override { EXPECT_LE(openDescriptors(), mBefore); }

    static std::unique_ptr<ReceivedParcel> receive(const ParcelWriter& writer) {
        Result<DeliveredParcel> delivered = deliver(capture(writer), Descriptors::DUPLICATE);
        EXPECT_TRUE(delivered.ok()) << delivered.status().toString();
        return delivered.ok() ? DeliveredParcel::receive(std::move(*delivered), nullptr) : nullptr;
    }
    size_t opened() const { return openDescriptors() - mBefore; }

    size_t mBefore = 0;
};

TEST_F(ReceivedParcels, CloseUnreadDescriptors) {
    ParcelWriter writer;
    for (int i = 0; i < 254; ++i) {
        writer.writeDescriptor(0);
    }
    std::unique_ptr<ReceivedParcel> parcel = receive(writer);
    EXPECT_EQ(opened(), 254U);
    parcel = nullptr;
    EXPECT_EQ(opened(), 0U);
}

TEST_F(ReceivedParcels, LeaveATakenDescriptorToItsTaker) {
    ParcelWriter writer;
    writer.writeInt32(7);
    writer.writeDescriptor(0);
    writer.writeDescriptor(0);
    std::unique_ptr<ReceivedParcel> parcel = receive(writer);
    EXPECT_EQ(parcel->reader().readInt32().value(), 7);
    Result<FileDescriptor> taken = parcel->reader().readDescriptor();
    ASSERT_TRUE(taken.ok()) << taken.status().toString();
    parcel->release();
    EXPECT_EQ(opened(), 1U);
    EXPECT_GE(fcntl(taken->get(), F_GETFD), 0);
}

TEST_F(ReceivedParcels, GiveADescriptorToOneTakerOnly) {
    flat_binder_object object = {};
    object.hdr.type = BINDER_TYPE_FD;
    object.handle = static_cast<uint32_t>(fcntl(0, F_DUPFD_CLOEXEC, 0));
    const uint64_t offset = 0;
    ReceivedDescriptors descriptors({reinterpret_cast<const uint8_t*>(&object), sizeof(object)},
                                    {&offset, 1});
    const Result<FileDescriptor> taken = descriptors.take(offset);
    ASSERT_TRUE(taken.ok()) << taken.status().toString();
    EXPECT_TRUE(taken->valid());
    EXPECT_EQ(descriptors.take(offset).status().code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ReceivedParcels, LeaveDescriptorsOfArraysToTheKernel) {
    ParcelWriter writer;
    const NativeHandle handle{.fds = {0, 0}, .ints = {}};
    hidl::writeNativeHandle(writer, &handle);
    writer.writeDescriptor(0);
    Result<DeliveredParcel> delivered = deliver(capture(writer), Descriptors::DUPLICATE);
    ASSERT_TRUE(delivered.ok());
    // Released without the kernel's part: it stays open until that is done too.
    bool freed = false;
    {
        const ReceivedParcel parcel(delivered->data(), delivered->offsets(), nullptr,
                                    [&] { freed = true; });
        EXPECT_EQ(opened(), 3U);
    }
    EXPECT_TRUE(freed);
    EXPECT_EQ(opened(), 2U);
}

TEST_F(ReceivedParcels, GiveTheirBufferBackOnce) {
    int freed = 0;
    {
        ReceivedParcel parcel({}, {}, nullptr, [&] { ++freed; });
        parcel.release();
        parcel.release();
    }
    EXPECT_EQ(freed, 1);
}

TEST_F(ReceivedParcels, CanNotBeReadOnceReleased) {
    ParcelWriter writer;
    writer.writeInt32(1);
    writer.writeDescriptor(0);
    const std::unique_ptr<ReceivedParcel> parcel = receive(writer);
    parcel->release();
    EXPECT_FALSE(parcel->reader().readInt32().ok());
    EXPECT_FALSE(parcel->reader().readDescriptor().ok());
    EXPECT_FALSE(parcel->reader().checkEnd().ok());
}

TEST_F(ReceivedParcels, RefuseMoreDescriptorsThanOneHandleMayHold) {
    const auto parcelOf = [](uint64_t single, uint64_t inArray) {
        std::vector<uint8_t> data;
        std::vector<uint64_t> offsets;
        const auto append = [&](const auto& object) {
            offsets.push_back(data.size());
            const auto* bytes = reinterpret_cast<const uint8_t*>(&object);
            data.insert(data.end(), bytes, bytes + sizeof(object));
        };
        for (uint64_t i = 0; i < single; ++i) {
            binder_fd_object object = {};
            object.hdr.type = BINDER_TYPE_FD;
            object.fd = static_cast<uint32_t>(fcntl(0, F_DUPFD_CLOEXEC, 0));
            append(object);
        }
        binder_fd_array_object array = {};
        array.hdr.type = BINDER_TYPE_FDA;
        array.num_fds = inArray;
        append(array);
        return ReceivedParcel(data, offsets, nullptr, nullptr).check().code();
    };
    EXPECT_EQ(parcelOf(0, 1024), StatusCode::OK);
    EXPECT_EQ(parcelOf(24, 1000), StatusCode::OK);
    EXPECT_EQ(parcelOf(0, 1025), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(parcelOf(25, 1000), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(parcelOf(1, 0xffffffffffffffff), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ReceivedParcels, RefuseMoreObjectsThanAnyCallHas) {
    const auto checked = [](size_t count, uint32_t type) {
        std::vector<flat_binder_object> objects(count);
        std::vector<uint64_t> offsets;
        for (flat_binder_object& object : objects) {
            object.hdr.type = type;
            offsets.push_back(offsets.size() * sizeof(object));
        }
        const auto* bytes = reinterpret_cast<const uint8_t*>(objects.data());
        return ReceivedParcel({bytes, count * sizeof(flat_binder_object)}, offsets, nullptr,
                              nullptr)
                .check();
    };
    EXPECT_TRUE(checked(64, BINDER_TYPE_HANDLE).ok());
    EXPECT_TRUE(checked(500, BINDER_TYPE_PTR).ok()) << "buffers are no objects in this sense";
    EXPECT_EQ(checked(65, BINDER_TYPE_BINDER).code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(checked(65, BINDER_TYPE_HANDLE).message(),
              "parcel: 65 objects, at most 64 are taken");
}

// Offsets that no kernel passes on: what lies behind the data, and might be anything, is not read.
TEST_F(ReceivedParcels, HaveNothingWhereTheirDataDoNotReach) {
    std::array<flat_binder_object, 2> objects = {};
    objects[0].hdr.type = BINDER_TYPE_HANDLE;
    objects[1].hdr.type = BINDER_TYPE_HANDLE;
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(objects.data()),
                                         sizeof objects);
    const std::vector<uint64_t> first(65, 0);
    const std::vector<uint64_t> second(65, sizeof(flat_binder_object));
    const auto holds = [&](size_t size, const std::vector<uint64_t>& offsets) {
        return !ReceivedParcel(bytes.first(size), offsets, nullptr, nullptr).check().ok();
    };
    EXPECT_TRUE(holds(bytes.size(), first));
    EXPECT_TRUE(holds(bytes.size(), second));
    EXPECT_FALSE(holds(2, first));
    EXPECT_FALSE(holds(sizeof(flat_binder_object) + 2, second));
    EXPECT_FALSE(holds(4, second));
    for (flat_binder_object& object : objects) {
        object.hdr.type = BINDER_TYPE_FD;
        object.handle = static_cast<uint32_t>(-1);
    }
    EXPECT_EQ(ReceivedDescriptors(bytes, second).count(), 65U);
    EXPECT_EQ(ReceivedDescriptors(bytes.first(4), second).count(), 0U);
    EXPECT_EQ(ReceivedDescriptors(bytes.first(sizeof(flat_binder_object)), second).count(), 0U);
    EXPECT_EQ(ReceivedDescriptors(bytes.first(8), first).count(), 0U);
}

// Whether descriptors of arrays close at once only their own arrays tell.
TEST_F(ReceivedParcels, DoNotBelieveArraysOutsideOfBuffers) {
    const FileDescriptor memory(memfd_create("test", MFD_CLOEXEC));
    std::array<int32_t, 4> descriptors;  // of which the buffer is said to have two
    descriptors.fill(memory.get());
    const auto closesAtOnce = [&](uint32_t type, size_t listed, uint64_t offset, uint64_t count) {
        struct {
            binder_fd_array_object array = {};
            binder_buffer_object parent = {};
        } objects;
        objects.array.hdr.type = BINDER_TYPE_FDA;
        objects.array.num_fds = count;
        objects.array.parent = 1;
        objects.array.parent_offset = offset;
        objects.parent.hdr.type = type;
        objects.parent.buffer = reinterpret_cast<uintptr_t>(descriptors.data());
        objects.parent.length = 2 * sizeof(int32_t);
        const std::vector<uint64_t> offsets = {0, offsetof(decltype(objects), parent)};
        return ReceivedDescriptors({reinterpret_cast<const uint8_t*>(&objects), sizeof objects},
                                   std::span<const uint64_t>(offsets).first(listed))
                .arraysCloseAtOnce();
    };
    EXPECT_TRUE(closesAtOnce(BINDER_TYPE_PTR, 2, 0, 2));
    EXPECT_TRUE(closesAtOnce(BINDER_TYPE_PTR, 2, 4, 1));
    EXPECT_FALSE(closesAtOnce(BINDER_TYPE_PTR, 1, 0, 2)) << "there is no such object";
    EXPECT_FALSE(closesAtOnce(BINDER_TYPE_BINDER, 2, 0, 2)) << "it is no buffer";
    EXPECT_FALSE(closesAtOnce(BINDER_TYPE_PTR, 2, 4, 2)) << "it is shorter";
    EXPECT_FALSE(closesAtOnce(BINDER_TYPE_PTR, 2, 12, 1)) << "it begins behind it";
}

TEST_F(ReceivedParcels, HaveNoDescriptorWhereAnObjectIsOfAnotherKind) {
    ParcelWriter writer;
    writer.writeObject({});
    writer.writeDescriptor(0);
    const std::unique_ptr<ReceivedParcel> parcel = receive(writer);
    EXPECT_FALSE(parcel->reader().readDescriptor().ok());
    EXPECT_TRUE(parcel->reader().readObject().ok());
    EXPECT_FALSE(parcel->reader().readObject().ok());
    EXPECT_TRUE(parcel->reader().readDescriptor().ok());
    EXPECT_TRUE(parcel->reader().checkEnd().ok());
}

// ---- Calls --------------------------------------------------------------------------------------

TEST_F(ReceivedParcels, AreGoneOnceTheArgumentsAreEnded) {
    ParcelWriter writer;
    writer.writeDescriptor(0);
    const std::unique_ptr<ReceivedParcel> parcel = receive(writer);
    IncomingCall call(1, false, {}, *parcel);
    Result<FileDescriptor> taken = call.arguments().readDescriptor();
    ASSERT_TRUE(taken.ok());
    taken->reset();
    Result<ParcelWriter*> reply = call.endArguments();
    ASSERT_TRUE(reply.ok()) << reply.status().toString();
    (*reply)->writeInt32(5);
    EXPECT_EQ(opened(), 0U);
    EXPECT_FALSE(call.arguments().readInt32().ok());
    EXPECT_EQ(call.endArguments().value(), *reply) << "the same, however often it is asked for";
}

TEST_F(ReceivedParcels, GiveNoReplyToACallWithSomethingLeftToRead) {
    const auto end = [](void (*write)(ParcelWriter&)) {
        ParcelWriter writer;
        writer.writeInt32(1);
        write(writer);
        const std::unique_ptr<ReceivedParcel> parcel = receive(writer);
        IncomingCall call(1, false, {}, *parcel);
        EXPECT_TRUE(call.arguments().readInt32().ok());
        const StatusCode first = call.endArguments().status().code();
        EXPECT_EQ(call.endArguments().status().code(), first);
        return first;
    };
    EXPECT_EQ(end([](ParcelWriter&) {}), StatusCode::OK);
    EXPECT_EQ(end([](ParcelWriter& writer) { writer.writeInt32(0); }),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(end([](ParcelWriter& writer) { writer.writeDescriptor(0); }),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(end([](ParcelWriter& writer) { writer.writeBuffer(writer.keepZeroed(8)); }),
              StatusCode::INVALID_ARGUMENT);
}

}  // namespace

}  // namespace halyard::hal
