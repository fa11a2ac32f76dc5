// SPDX-License-Identifier: Apache-2.0
//
// Parcels of the reference implementation, read and written; and the same ones damaged.

#include "tests/hal/golden_parcels.h"

#include <gtest/gtest.h>
#include <linux/android/binder.h>

#include <cstring>
#include <iostream>
#include <random>

#include "hal/hidl/codec.h"
#include "tests/hal/any_object.h"
#include "tests/hal/json_values.h"

namespace halyard::hal {

namespace {

using testing::AnyObject;
using testing::deliver;
using testing::DeliveredParcel;
using testing::Descriptors;
using testing::GoldenParcel;
using testing::goldenParcels;
using testing::NamedObject;
using testing::SentParcel;

constexpr ObjectFlags kFlags = {.inheritsRealTime = true};

// Zeroes what differs from run to run: addresses, in objects and in the buffers they patch.
SentParcel normalised(SentParcel sent) {
    for (size_t i = 0; i < sent.offsets.size(); ++i) {
        uint8_t* at = sent.data.data() + sent.offsets[i];
        uint32_t type = 0;
        std::memcpy(&type, at, sizeof(type));
        if (type == BINDER_TYPE_PTR) {
            binder_buffer_object object;
            std::memcpy(&object, at, sizeof(object));
            if ((object.flags & BINDER_BUFFER_FLAG_HAS_PARENT) != 0) {
                std::memset(sent.buffer(object.parent)->data() + object.parent_offset, 0,
                            sizeof(object.buffer));
            }
            std::memset(at + offsetof(binder_buffer_object, buffer), 0, sizeof(object.buffer));
        } else if (type == BINDER_TYPE_BINDER) {
            std::memset(at + offsetof(flat_binder_object, binder), 0, 16);
        }
    }
    return sent;
}

// Reads a parcel to its end, touching all of it.
Result<uint64_t> readWhole(const GoldenParcel& golden, const DeliveredParcel& parcel) {
    AnyObject objects(kFlags);
    ParcelReader reader = parcel.reader(&objects);
    if (golden.reply) {
        HALYARD_RETURN_IF_ERROR(hidl::readReplyHead(reader));
    } else {
        HALYARD_RETURN_IF_ERROR(hidl::readInterfaceToken(reader).status());
    }
    return testing::digest(reader, golden.layouts());
}

TEST(GoldenParcels, AreAllThere) {
    EXPECT_EQ(goldenParcels().size(), 118U);
}

TEST(GoldenParcels, DecodeToTheRecordedValues) {
    for (const GoldenParcel& golden : goldenParcels()) {
        SCOPED_TRACE(golden.name);
        Result<DeliveredParcel> parcel = deliver(golden.sent, Descriptors::KEEP);
        ASSERT_TRUE(parcel.ok()) << parcel.status().toString();
        AnyObject objects(kFlags);
        ParcelReader reader = parcel->reader(&objects);
        if (golden.reply) {
            EXPECT_TRUE(hidl::readReplyHead(reader).ok());
        } else {
            Result<std::string_view> token = hidl::readInterfaceToken(reader);
            ASSERT_TRUE(token.ok());
            EXPECT_EQ(*token, golden.method->token);
        }
        Status same = testing::compareWithJson(reader, golden.layouts(), golden.values);
        EXPECT_TRUE(same.ok()) << same.toString();
        EXPECT_EQ(reader.remaining(), 0U);
    }
}

TEST(GoldenParcels, EncodeToTheRecordedBytes) {
    for (const GoldenParcel& golden : goldenParcels()) {
        SCOPED_TRACE(golden.name);
        ParcelWriter writer;
        if (golden.reply) {
            hidl::writeReplyHead(writer);
        } else {
            hidl::writeInterfaceToken(writer, golden.method->token);
        }
        Status written = testing::writeJson(
                writer, golden.layouts(), golden.values,
                [](std::string_view) { return ObjectRef(std::make_shared<NamedObject>(kFlags)); });
        ASSERT_TRUE(written.ok()) << written.toString();
        SentParcel sent = normalised(testing::capture(writer));
        EXPECT_EQ(sent.data, golden.sent.data);
        EXPECT_EQ(sent.offsets, golden.sent.offsets);
        EXPECT_EQ(sent.buffers, golden.sent.buffers);
        EXPECT_EQ(sent.buffersSize, golden.sent.buffersSize);
    }
}

// ---- damaged ones -------------------------------------------------------------------------------

TEST(GoldenParcels, RefuseEveryTruncationOfTheData) {
    for (const GoldenParcel& golden : goldenParcels()) {
        SCOPED_TRACE(golden.name);
        for (size_t length = 0; length < golden.sent.data.size(); ++length) {
            SentParcel sent = golden.sent;
            sent.data.resize(length);
            while (!sent.offsets.empty() &&
                   sent.offsets.back() + sizeof(flat_binder_object) > length) {
                sent.offsets.pop_back();
                sent.buffers.pop_back();
            }
            Result<DeliveredParcel> parcel = deliver(sent, Descriptors::KEEP);
            if (parcel.ok()) {
                EXPECT_FALSE(readWhole(golden, *parcel).ok()) << length << " bytes";
            }
        }
    }
}

TEST(GoldenParcels, RefuseEveryMissingObject) {
    for (const GoldenParcel& golden : goldenParcels()) {
        SCOPED_TRACE(golden.name);
        for (size_t i = 0; i < golden.sent.offsets.size(); ++i) {
            SentParcel sent = golden.sent;
            sent.offsets.erase(sent.offsets.begin() + static_cast<ptrdiff_t>(i));
            sent.buffers.erase(sent.buffers.begin() + static_cast<ptrdiff_t>(i));
            Result<DeliveredParcel> parcel = deliver(sent, Descriptors::KEEP);
            // A recorded object has no pointer: unlisted, it reads as null, which is legal.
            uint32_t type = 0;
            std::memcpy(&type, sent.data.data() + golden.sent.offsets[i], sizeof(type));
            if (parcel.ok() && type != BINDER_TYPE_BINDER) {
                EXPECT_FALSE(readWhole(golden, *parcel).ok()) << "object " << i;
            }
        }
    }
}

TEST(GoldenParcels, RefuseEveryBufferOfAnotherLength) {
    for (const GoldenParcel& golden : goldenParcels()) {
        SCOPED_TRACE(golden.name);
        for (size_t i = 0; i < golden.sent.offsets.size(); ++i) {
            for (ptrdiff_t change : {-8, -4, -1, 1, 4, 8}) {
                SentParcel sent = golden.sent;
                std::vector<uint8_t>* buffer = sent.buffer(i);
                if (buffer == nullptr || static_cast<ptrdiff_t>(buffer->size()) + change < 0) {
                    continue;
                }
                buffer->resize(buffer->size() + change);
                uint64_t length = buffer->size();
                std::memcpy(
                        sent.data.data() + sent.offsets[i] + offsetof(binder_buffer_object, length),
                        &length, sizeof(length));
                sent.buffersSize += 8;
                Result<DeliveredParcel> parcel = deliver(sent, Descriptors::KEEP);
                if (parcel.ok()) {
                    EXPECT_FALSE(readWhole(golden, *parcel).ok())
                            << "buffer " << i << " changed by " << change;
                }
            }
        }
    }
}

// Every 4-byte word of the data and of each buffer, replaced by values that are likely to hurt:
// whatever is read must have been delivered. The sanitizers are the judges.
TEST(GoldenParcels, AreReadSafelyWithAnyWordChanged) {
    const uint32_t values[] = {0,          1,          2,          3,          0xffffffff,
                               0x7fffffff, 0x80000000, 0x00010000, 0xffff0000, 24};
    size_t decoded = 0;
    size_t refused = 0;
    for (const GoldenParcel& golden : goldenParcels()) {
        SCOPED_TRACE(golden.name);
        auto damage = [&](auto&& change) {
            SentParcel sent = golden.sent;
            change(sent);
            Result<DeliveredParcel> parcel = deliver(sent, Descriptors::KEEP);
            if (parcel.ok()) {
                ++(readWhole(golden, *parcel).ok() ? decoded : refused);
            }
        };
        for (uint32_t value : values) {
            for (size_t at = 0; at + 4 <= golden.sent.data.size(); at += 4) {
                damage([&](SentParcel& sent) {
                    std::memcpy(sent.data.data() + at, &value, sizeof(value));
                });
            }
            SentParcel original = golden.sent;
            for (size_t i = 0; i < original.buffers.size(); ++i) {
                size_t size = original.buffer(i) == nullptr ? 0 : original.buffer(i)->size();
                for (size_t at = 0; at + 4 <= size; at += 4) {
                    damage([&](SentParcel& sent) {
                        std::memcpy(sent.buffer(i)->data() + at, &value, sizeof(value));
                    });
                }
            }
        }
    }
    // Scalars may change freely, so that some decode; and structure may not.
    EXPECT_GT(decoded, 1000U);
    EXPECT_GT(refused, 1000U);
}

TEST(GoldenParcels, AreReadSafelyWithSeveralRandomChanges) {
    const uint32_t seed = std::random_device()();
    std::cout << "seed " << seed << "\n" << std::flush;
    std::mt19937 random(seed);
    auto below = [&](size_t limit) { return static_cast<size_t>(random()) % limit; };
    for (int round = 0; round < 20000; ++round) {
        const GoldenParcel& golden = goldenParcels()[below(goldenParcels().size())];
        SentParcel sent = golden.sent;
        for (size_t changes = 1 + below(3); changes > 0; --changes) {
            size_t which = below(sent.buffers.size() + 1);
            std::vector<uint8_t>* bytes =
                    which == sent.buffers.size() ? &sent.data : sent.buffer(which);
            if (bytes != nullptr && !bytes->empty()) {
                (*bytes)[below(bytes->size())] = static_cast<uint8_t>(random());
            }
        }
        if (below(8) == 0 && !sent.offsets.empty()) {
            sent.offsets[below(sent.offsets.size())] = below(sent.data.size()) / 4 * 4;
        }
        Result<DeliveredParcel> parcel = deliver(sent, Descriptors::KEEP);
        if (parcel.ok()) {
            // Either answer is right; no bad access is what counts.
            Result<uint64_t> read = readWhole(golden, *parcel);
            EXPECT_TRUE(read.ok() || read.status().code() == StatusCode::INVALID_ARGUMENT ||
                        read.status().code() == StatusCode::INTERNAL);
        }
    }
}

}  // namespace

}  // namespace halyard::hal
