// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/parcel.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "hal/aidl/codec.h"
#include "hal/aidl/conversion.h"
#include "hal/aidl/memory.h"
#include "hal/aidl/types.h"
#include "hal/memory/shared_memory.h"
#include "tests/hal/loopback.h"

namespace halyard::hal::aidl {
namespace {

using testing::capture;
using testing::SentParcel;

// Reads what was written, maybe cut or changed before.
template <typename T>
Result<T> readBack(const SentParcel& sent) {
    ParcelReader parcel(sent.data, sent.offsets, nullptr);
    AidlReader reader(parcel);
    T value = {};
    HALYARD_RETURN_IF_ERROR(read(reader, value));
    HALYARD_RETURN_IF_ERROR(parcel.checkEnd());
    return value;
}

template <typename T>
SentParcel written(const T& value) {
    ParcelWriter parcel;
    AidlWriter writer(parcel, Release());
    write(writer, value);
    return capture(parcel);
}

SentParcel words(const std::vector<int32_t>& numbers) {
    ParcelWriter parcel;
    for (const int32_t number : numbers) {
        parcel.writeInt32(number);
    }
    return capture(parcel);
}

TEST(AidlParcel, KeepsStringsOfAllLengthsOfCodePoints) {
    for (const std::string text : {"", "a", "é", "中", "😀", "a😀é中", "\x7f\xc2\x80\xdf\xbf"}) {
        const Result<std::string> back = readBack<std::string>(written(text));
        ASSERT_TRUE(back.ok()) << back.status().toString();
        EXPECT_EQ(*back, text);
    }
    // One unit, the NUL, and nothing to pad; none, the NUL, and two bytes.
    EXPECT_EQ(written(std::string("a")).data.size(), 8U);
    EXPECT_EQ(written(std::string()).data.size(), 8U);
}

TEST(AidlParcel, SendsWhatIsNoUtf8AsReplacements) {
    for (const std::string text : {"\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf8"}) {
        const Result<std::string> back = readBack<std::string>(written(text));
        ASSERT_TRUE(back.ok()) << back.status().toString();
        EXPECT_EQ(back->substr(0, 3), "\xef\xbf\xbd");
    }
}

TEST(AidlParcel, RefusesStringsThatAreNone) {
    EXPECT_FALSE(readBack<std::string>(words({-1})).ok());
    EXPECT_FALSE(readBack<std::string>(words({-2})).ok());
    EXPECT_FALSE(readBack<std::string>(words({std::numeric_limits<int32_t>::max()})).ok());
    EXPECT_FALSE(readBack<std::string>(words({1, 'a' | 'b' << 16})).ok());  // no NUL
    EXPECT_FALSE(readBack<std::string>(words({1, 0xd800})).ok());           // half a pair
    EXPECT_FALSE(readBack<std::string>(words({2, 0xdc00 | 'a' << 16, 0})).ok());
    EXPECT_TRUE(readBack<std::string>(words({2, 0xd800 | 0xdc00 << 16, 0})).ok());
    EXPECT_FALSE(readBack<std::string>(words({2, 0xdc00 | 0xdc00 << 16, 0})).ok());
    EXPECT_FALSE(readBack<std::string>(words({2, 0xd800 | 0xe000 << 16, 0})).ok());
    const auto null = readBack<std::optional<std::string>>(words({-1}));
    ASSERT_TRUE(null.ok());
    EXPECT_FALSE(null->has_value());
}

TEST(AidlParcel, RefusesCountsBeyondTheBytes) {
    EXPECT_TRUE(readBack<std::vector<int32_t>>(words({2, 7, 8})).ok());
    for (const int32_t count : {3, -1, -2, std::numeric_limits<int32_t>::max()}) {
        EXPECT_FALSE(readBack<std::vector<int32_t>>(words({count, 7, 8})).ok()) << count;
        EXPECT_FALSE(readBack<std::vector<uint8_t>>(words({4 * count, 7, 8})).ok()) << count;
    }
    EXPECT_EQ(readBack<std::vector<int32_t>>(words({3, 7, 8})).status().message(),
              "parcel: an array of 3 elements where 8 bytes are left");
    // In a parcelable, beyond its own.
    EXPECT_TRUE(readBack<nn::BufferDesc>(words({1, 12, 1, 5})).ok());
    EXPECT_FALSE(readBack<nn::BufferDesc>(words({1, 12, 2, 5, 6})).ok());
}

TEST(AidlParcel, RefusesTokensOfAnotherLength) {
    using Token = std::array<uint8_t, 32>;
    for (const size_t size : {0U, 31U, 32U, 33U, 1000U}) {
        const SentParcel sent = written(std::vector<uint8_t>(size, 7));
        const Result<Token> token = readBack<Token>(sent);
        EXPECT_EQ(token.ok(), size == 32) << size;
        EXPECT_TRUE(!token.ok() || token->back() == 7);
    }
}

TEST(AidlParcel, TakesParcelablesOfOlderAndNewerVersions) {
    // Missing fields keep their defaults, unknown ones are skipped.
    auto role = readBack<nn::BufferRole>(words({1, 8, 3}));
    ASSERT_TRUE(role.ok()) << role.status().toString();
    EXPECT_EQ(role->modelIndex, 3);
    EXPECT_EQ(role->ioIndex, 0);
    role = readBack<nn::BufferRole>(words({1, 4}));
    EXPECT_TRUE(role.ok()) << role.status().toString();
    role = readBack<nn::BufferRole>(words({1, 24, 3, 4, 0, 99, 98}));
    ASSERT_TRUE(role.ok()) << role.status().toString();
    EXPECT_EQ(role->ioIndex, 4);
    EXPECT_FALSE(readBack<nn::BufferRole>(words({0})).ok());  // null
    EXPECT_EQ(readBack<nn::BufferRole>(words({0, 16, 3, 4, 0})).status().message(),
              "parcel: a null value where one must be");
    for (const int32_t size : {0, 3, -4, 6, 18, 23, 28, std::numeric_limits<int32_t>::max()}) {
        EXPECT_FALSE(readBack<nn::BufferRole>(words({1, size, 3, 4, 0, 99, 98})).ok()) << size;
    }
}

TEST(AidlParcel, RefusesParcelablesThatTheirFieldsOutgrow) {
    // An int64 that the size cuts in two.
    EXPECT_FALSE(readBack<nn::Timing>(words({1, 8, 1, 2, 3, 4})).ok());
    // A parcelable inside that is longer than the one around it.
    EXPECT_FALSE(readBack<nn::OperandPerformance>(words({1, 16, 0, 1, 12, 0, 0})).ok());
}

TEST(AidlParcel, SkipsDescriptorsInUnknownFields) {
    ParcelWriter parcel;
    AidlWriter writer(parcel, Release());
    const size_t at = writer.beginParcelable();
    writer.writeInt32(0);
    writer.writeInt32(1);
    writer.writeFloat(0.5F);
    writer.writeDescriptor({.fd = 0});
    writer.endParcelable(at);
    writer.writeInt32(17);
    const SentParcel sent = capture(parcel);
    ParcelReader raw(sent.data, sent.offsets, nullptr);
    AidlReader reader(raw);
    nn::BufferRole role;
    ASSERT_TRUE(read(reader, role).ok());
    EXPECT_EQ(role.probability, 0.5F);
    EXPECT_EQ(*reader.readInt32(), 17);
    EXPECT_TRUE(raw.checkEnd().ok());
}

TEST(AidlParcel, RefusesUnionsOfUnknownTags) {
    EXPECT_TRUE(readBack<nn::RequestMemoryPool>(words({1, 1, 5})).ok());
    for (const int32_t tag : {2, -1, std::numeric_limits<int32_t>::min()}) {
        EXPECT_FALSE(readBack<nn::RequestMemoryPool>(words({1, tag, 5})).ok()) << tag;
    }
    EXPECT_FALSE(readBack<nn::RequestMemoryPool>(words({0})).ok());  // null
    const auto absent = readBack<std::optional<nn::OperandExtraParams>>(words({0}));
    ASSERT_TRUE(absent.ok());
    EXPECT_FALSE(absent->has_value());
}

TEST(AidlParcel, ReadsExceptionsOfEveryPeer) {
    const auto read = [](const std::vector<int32_t>& numbers) {
        const SentParcel sent = words(numbers);
        ParcelReader parcel(sent.data, sent.offsets, nullptr);
        return AidlReader(parcel).readReplyHead();
    };
    EXPECT_FALSE(read({0})->has_value());
    EXPECT_FALSE(read({-128, 12, 5, 6})->has_value());             // Java's head
    EXPECT_EQ((**read({-127, 4, -5, -1, 0})).code, -5);            // with another one in front
    EXPECT_EQ((**read({-8, -1, 8, 1, 2, 4})).serviceSpecific, 4);  // behind a stack trace
    EXPECT_FALSE(read({-8, -1, -1, 4}).ok());
    EXPECT_FALSE(read({-8, -1, 64, 4}).ok());
    EXPECT_FALSE(read({-128, 64}).ok());
    EXPECT_FALSE(read({-8}).ok());
}

// ---- what differs by release --------------------------------------------------------------------

TEST(AidlRelease, SaysStabilityInItsOwnForm) {
    for (const int32_t sdk : {30, 33, 34, 36}) {
        EXPECT_EQ(Release(sdk).stabilityWord(Stability::VINTF), 0x3fU) << sdk;
        EXPECT_EQ(Release(sdk).stabilityWord(Stability::UNDECLARED), 0U) << sdk;
    }
    for (const int32_t sdk : {31, 32}) {
        EXPECT_EQ(Release(sdk).stabilityWord(Stability::VINTF), 0x3f000001U) << sdk;
        EXPECT_EQ(Release(sdk).stabilityWord(Stability::UNDECLARED), 1U) << sdk;
    }
}

TEST(AidlRelease, KnowsTheCodesOfItsServiceManager) {
    struct Row {
        int32_t sdk;
        std::vector<std::optional<uint32_t>> codes;  // by those of Android 14, 1 to 8
    };
    const Row rows[] = {{30, {1, 2, 3, 4, 5, 6, 7, std::nullopt}},
                        {31, {1, 2, 3, 4, 5, 6, 7, 8}},
                        {34, {1, 2, 3, 4, 5, 6, 7, 8}},
                        {35, {1, 3, 4, 5, 6, 7, 8, 9}},
                        {36, {1, 3, 5, 6, 7, 8, 9, 10}}};
    for (const Row& row : rows) {
        const Release release(row.sdk);
        for (uint32_t code = 1; code <= row.codes.size(); ++code) {
            EXPECT_EQ(release.managerCode(code), row.codes[code - 1]) << row.sdk << " " << code;
            if (row.codes[code - 1].has_value()) {
                EXPECT_EQ(release.managerMethod(*row.codes[code - 1]), code) << row.sdk;
            }
        }
        EXPECT_FALSE(release.managerCode(9).has_value());
    }
    EXPECT_FALSE(Release(35).managerMethod(2).has_value());
    EXPECT_FALSE(Release(36).managerMethod(4).has_value());
}

// Twice as many bytes, and the NUL's, are more than 32 bits hold.
TEST(AidlParcel, HasNoStringsThatAreLongerThanItself) {
    const auto ofUnits = [](int32_t units) {
        return readBack<std::string>(words({units, 0x00410041, 0x41}));
    };
    EXPECT_EQ(ofUnits(3).value(), "AAA");
    for (const int32_t units : {4, std::numeric_limits<int32_t>::max()}) {
        EXPECT_EQ(ofUnits(units).status().message(),
                  "parcel: a string of " + std::to_string(units) + " units where 8 bytes are left");
    }
}

TEST(AidlParcel, HasNoArraysThatTakeFarMoreRoomThanItself) {
    // Each operand is there, and has no fields: its size alone.
    const auto withoutFields = [](int32_t count) {
        std::vector<int32_t> parcel = {count};
        for (int32_t i = 0; i < count; ++i) {
            parcel.insert(parcel.end(), {1, 4});
        }
        return readBack<std::vector<nn::Operand>>(words(parcel));
    };
    EXPECT_TRUE(withoutFields(10).ok()) << "older versions have fewer";
    const Result<std::vector<nn::Operand>> many = withoutFields(20'000);
    EXPECT_EQ(many.status().code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(many.status().message(),
              "parcel: its arrays take far more room than the parcel itself");
    const std::vector<nn::Operand> whole(20'000);
    EXPECT_EQ(readBack<std::vector<nn::Operand>>(written(whole))->size(), whole.size());
    std::vector<nn::RequestMemoryPool> tokens(500);
    for (nn::RequestMemoryPool& token : tokens) {
        token.value = 1;
    }
    EXPECT_EQ(readBack<std::vector<nn::RequestMemoryPool>>(written(tokens))->size(), tokens.size());
}

// ---- what numbers mean --------------------------------------------------------------------------

TEST(AidlConversion, RefusesPlacesAndTokensThatThereAreNot) {
    const auto codeOf = [](const nn::DataLocation& location) {
        nn::Request request;
        request.inputs.push_back({.hasNoValue = false, .location = location, .dimensions = {}});
        return decodeArguments(request).status().code();
    };
    constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
    EXPECT_EQ(codeOf({.poolIndex = 0, .offset = kMost, .length = kMost, .padding = kMost}),
              StatusCode::OK);
    for (const int64_t wrong : {int64_t{-1}, kMost + 1, std::numeric_limits<int64_t>::min(),
                                std::numeric_limits<int64_t>::max()}) {
        EXPECT_EQ(codeOf({.poolIndex = 0, .offset = wrong, .length = 0, .padding = 0}),
                  StatusCode::INVALID_ARGUMENT);
        EXPECT_EQ(codeOf({.poolIndex = 0, .offset = 0, .length = wrong, .padding = 0}),
                  StatusCode::INVALID_ARGUMENT);
        EXPECT_EQ(codeOf({.poolIndex = 0, .offset = 0, .length = 0, .padding = wrong}),
                  StatusCode::INVALID_ARGUMENT);
    }
    EXPECT_EQ(codeOf({.poolIndex = -1, .offset = 0, .length = 0, .padding = 0}),
              StatusCode::INVALID_ARGUMENT);
    for (const int32_t token : {0, -1, std::numeric_limits<int32_t>::min()}) {
        nn::RequestMemoryPool pool;
        pool.value = token;
        EXPECT_EQ(decode(pool, {}).status().code(), StatusCode::INVALID_ARGUMENT) << token;
    }
}

TEST(AidlConversion, TakesHardwareBuffersOfOneRowAndOneLayer) {
    const ExportedMemory memory = createSharedMemory(64).value();
    const auto codeOf = [&](int32_t width, int32_t height, int32_t layers) {
        graphics::HardwareBuffer buffer;
        buffer.description.width = width;
        buffer.description.height = height;
        buffer.description.layers = layers;
        buffer.description.format = static_cast<decltype(buffer.description.format)>(33);
        buffer.handle.fds.push_back({.fd = memory.handle.fds[0]});
        nn::Memory wire;
        wire.value = buffer;
        return importMemory(wire).status().code();
    };
    EXPECT_EQ(codeOf(64, 1, 1), StatusCode::OK);
    EXPECT_EQ(codeOf(-1, 1, 1), StatusCode::INVALID_ARGUMENT);
    for (const int32_t wrong : {0, 2, -1}) {
        EXPECT_EQ(codeOf(64, wrong, 1), StatusCode::INVALID_ARGUMENT);
        EXPECT_EQ(codeOf(64, 1, wrong), StatusCode::INVALID_ARGUMENT);
    }
}

}  // namespace
}  // namespace halyard::hal::aidl
