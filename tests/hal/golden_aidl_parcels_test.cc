// SPDX-License-Identifier: Apache-2.0
//
// AIDL parcels of the reference implementation, written and read; and the same ones damaged. No
// type of these interfaces holds itself, so that no parcel nests deeper than its types.

#include "tests/hal/golden_aidl_parcels.h"

#include <gtest/gtest.h>
#include <linux/android/binder.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <random>

#include "engine/base/file_descriptor.h"
#include "hal/aidl/aidl_object.h"
#include "hal/aidl/types.h"
#include "hal/memory/shared_memory.h"
#include "tests/hal/any_object.h"
#include "tests/hal/open_descriptors.h"

namespace halyard::hal {
namespace {

using aidl::AidlReader;
using aidl::AidlWriter;
using aidl::Exception;
using aidl::Release;
using testing::AnyObject;
using testing::deliver;
using testing::DeliveredParcel;
using testing::Descriptors;
using testing::GoldenAidlParcel;
using testing::goldenAidlParcels;
using testing::NamedObject;
using testing::SentParcel;

constexpr int kRecordedDescriptor = 7;
constexpr ObjectFlags kRecordedFlags = {.mostNice = 19};

// With each descriptor in it replaced, and the addresses of objects left out.
SentParcel withDescriptor(SentParcel sent, int fd) {
    for (const uint64_t offset : sent.offsets) {
        uint8_t* at = sent.data.data() + offset;
        uint32_t type = 0;
        std::memcpy(&type, at, sizeof(type));
        if (type == BINDER_TYPE_FD) {
            std::memcpy(at + offsetof(flat_binder_object, handle), &fd, sizeof(fd));
        } else if (type == BINDER_TYPE_BINDER) {
            std::memset(at + offsetof(flat_binder_object, binder), 0, 16);
        }
    }
    return sent;
}

class GoldenAidlParcels : public ::testing::Test {
  protected:
    const Result<ExportedMemory> mMemory = createSharedMemory(16);
    const int mFd = mMemory->descriptor->get();

    // As it is when its descriptors are those of this process.
    std::unique_ptr<ReceivedParcel> receive(const SentParcel& sent) {
        Result<DeliveredParcel> parcel = deliver(withDescriptor(sent, mFd), Descriptors::DUPLICATE);
        return parcel.ok() ? DeliveredParcel::receive(std::move(*parcel), &mObjects) : nullptr;
    }

    // Reads the parcel to its end, touching all of it, and writes it again.
    Status copy(const GoldenAidlParcel& golden, ReceivedParcel& parcel, ParcelWriter& into) {
        AidlReader reader(parcel.reader());
        AidlWriter writer(into, Release(), golden.stability);
        if (golden.reply) {
            HALYARD_ASSIGN_OR_RETURN(const std::optional<Exception> exception,
                                     reader.readReplyHead());
            if (exception.has_value()) {
                writer.writeException(*exception);
                return parcel.reader().checkEnd();
            }
            writer.writeReplyHead();
        } else {
            HALYARD_ASSIGN_OR_RETURN(const std::string descriptor, reader.readRequestHead());
            writer.writeRequestHead(descriptor);
        }
        HALYARD_RETURN_IF_ERROR(golden.fields.copy(reader, writer));
        return parcel.reader().checkEnd();
    }

    AnyObject mObjects{kRecordedFlags};
};

TEST_F(GoldenAidlParcels, AreAllThere) {
    // Of 126 calls three are of no interface, and one is oneway.
    EXPECT_EQ(goldenAidlParcels().size(), 2U * 123U - 1U);
    EXPECT_EQ(testing::goldenMetaParcels().size(), 3U);
}

TEST_F(GoldenAidlParcels, EncodeToTheRecordedBytes) {
    for (const GoldenAidlParcel& golden : goldenAidlParcels()) {
        SCOPED_TRACE(golden.name);
        ParcelWriter parcel;
        AidlWriter writer(parcel, Release(), golden.stability);
        if (!golden.exception.isNull()) {
            writer.writeException({.code = static_cast<int32_t>(golden.exception["code"].number()),
                                   .message = golden.exception["message"].text,
                                   .serviceSpecific = static_cast<int32_t>(
                                           golden.exception["service_specific"].number())});
        } else {
            if (golden.reply) {
                writer.writeReplyHead();
            } else {
                writer.writeRequestHead(golden.descriptor);
            }
            const Status encoded =
                    golden.fields.encode(golden.values,
                                         {.object = std::make_shared<NamedObject>(kRecordedFlags),
                                          .fd = kRecordedDescriptor},
                                         writer);
            ASSERT_TRUE(encoded.ok()) << encoded.toString();
        }
        const SentParcel sent = withDescriptor(testing::capture(parcel), kRecordedDescriptor);
        EXPECT_EQ(sent.data, golden.sent.data);
        EXPECT_EQ(sent.offsets, golden.sent.offsets);
    }
}

// With the test above: they decode to the recorded values.
TEST_F(GoldenAidlParcels, DecodeToWhatEncodesToTheRecordedBytes) {
    const size_t before = testing::openDescriptors();
    for (const GoldenAidlParcel& golden : goldenAidlParcels()) {
        SCOPED_TRACE(golden.name);
        const std::unique_ptr<ReceivedParcel> parcel = receive(golden.sent);
        ASSERT_NE(parcel, nullptr);
        ParcelWriter again;
        const Status copied = copy(golden, *parcel, again);
        ASSERT_TRUE(copied.ok()) << copied.toString();
        const SentParcel sent = withDescriptor(testing::capture(again), kRecordedDescriptor);
        EXPECT_EQ(sent.data, golden.sent.data);
        EXPECT_EQ(sent.offsets, golden.sent.offsets);
    }
    EXPECT_LE(testing::openDescriptors(), before);
}

TEST_F(GoldenAidlParcels, OfEveryObjectAreAnsweredAsRecorded) {
    class Manager final : public aidl::AidlObject {
      public:
        Manager() : AidlObject(aidl::os::IServiceManager::info(), Release()) {}

      protected:
        Status serve(uint32_t /*code*/, Call& /*call*/) override { return unsupported("nothing"); }
    };
    const auto process = std::make_shared<testing::LoopbackProcess>();
    const auto remote = process->remote(std::make_shared<Manager>());
    for (const testing::GoldenMetaParcel& golden : testing::goldenMetaParcels()) {
        SCOPED_TRACE(golden.name);
        const auto reply = process->transact(remote, golden.code, ParcelWriter());
        ASSERT_TRUE(reply.ok()) << reply.status().toString();
        const auto bytes = (*reply)->reader().readBytes((*reply)->reader().remaining());
        ASSERT_TRUE(bytes.ok()) << bytes.status().toString();
        EXPECT_EQ(std::vector<uint8_t>(bytes->begin(), bytes->end()), golden.reply.data);
    }
}

// ---- damaged ones -------------------------------------------------------------------------------

TEST_F(GoldenAidlParcels, RefuseEveryCut) {
    const size_t before = testing::openDescriptors();
    for (const GoldenAidlParcel& golden : goldenAidlParcels()) {
        SCOPED_TRACE(golden.name);
        for (size_t length = 0; length < golden.sent.data.size(); length += 4) {
            SentParcel sent = golden.sent;
            sent.data.resize(length);
            while (!sent.offsets.empty() &&
                   sent.offsets.back() + sizeof(flat_binder_object) > length) {
                sent.offsets.pop_back();
                sent.buffers.pop_back();
            }
            const std::unique_ptr<ReceivedParcel> parcel = receive(sent);
            ParcelWriter again;
            if (parcel != nullptr) {
                EXPECT_FALSE(copy(golden, *parcel, again).ok()) << length << " bytes";
            }
        }
    }
    EXPECT_LE(testing::openDescriptors(), before);
}

// Every 4-byte word replaced by values that are likely to hurt: counts beyond the bytes, tags of no
// member, sizes that are too small and too large. The sanitizers are the judges.
TEST_F(GoldenAidlParcels, AreReadSafelyWithAnyWordChanged) {
    const uint32_t values[] = {0,          1,          2,          3,  4,         0xffffffff,
                               0x7fffffff, 0x80000000, 0x40000000, 24, 0xffff0000};
    const size_t before = testing::openDescriptors();
    size_t decoded = 0;
    size_t refused = 0;
    for (const GoldenAidlParcel& golden : goldenAidlParcels()) {
        SCOPED_TRACE(golden.name);
        for (const uint32_t value : values) {
            for (size_t at = 0; at + 4 <= golden.sent.data.size(); at += 4) {
                SentParcel sent = golden.sent;
                std::memcpy(sent.data.data() + at, &value, sizeof(value));
                const std::unique_ptr<ReceivedParcel> parcel = receive(sent);
                ParcelWriter again;
                if (parcel != nullptr) {
                    ++(copy(golden, *parcel, again).ok() ? decoded : refused);
                }
            }
        }
    }
    EXPECT_GT(decoded, 1000U);
    EXPECT_GT(refused, 1000U);
    EXPECT_LE(testing::openDescriptors(), before);
}

TEST_F(GoldenAidlParcels, AreReadSafelyWithSeveralRandomChanges) {
    const uint32_t seed = std::random_device()();
    std::cout << "seed " << seed << "\n" << std::flush;
    std::mt19937 random(seed);
    auto below = [&](size_t limit) { return static_cast<size_t>(random()) % limit; };
    const size_t before = testing::openDescriptors();
    for (int round = 0; round < 20000; ++round) {
        const GoldenAidlParcel& golden = goldenAidlParcels()[below(goldenAidlParcels().size())];
        SentParcel sent = golden.sent;
        for (size_t changes = 1 + below(3); changes > 0 && !sent.data.empty(); --changes) {
            sent.data[below(sent.data.size())] = static_cast<uint8_t>(random());
        }
        if (below(8) == 0 && !sent.offsets.empty()) {
            sent.offsets[below(sent.offsets.size())] = below(sent.data.size()) / 4 * 4;
        }
        const std::unique_ptr<ReceivedParcel> parcel = receive(sent);
        ParcelWriter again;
        if (parcel != nullptr) {
            const Status copied = copy(golden, *parcel, again);
            EXPECT_TRUE(copied.ok() || copied.code() == StatusCode::INVALID_ARGUMENT)
                    << copied.toString();
        }
    }
    EXPECT_LE(testing::openDescriptors(), before);
}

}  // namespace
}  // namespace halyard::hal
