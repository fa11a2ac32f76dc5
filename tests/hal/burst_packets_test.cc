// SPDX-License-Identifier: Apache-2.0
//
// The rules for a burst's packets, each by its own message: two of them refuse the same packet only
// where the second has been asked for.

#include "hal/hidl/burst_packets.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "hal/hidl/types.h"

namespace halyard::hal::hidl {
namespace {

using nn::v1_2::FmqRequestDatum;
using nn::v1_2::FmqResultDatum;
using nn::v1_2::MeasureTiming;

template <typename Datum>
using Data = std::vector<Datum>;

template <typename Datum>
Data<Datum> dataOf(const std::vector<std::byte>& packet) {
    Data<Datum> data(packet.size() / sizeof(Datum));
    std::memcpy(static_cast<void*>(data.data()), packet.data(), packet.size());
    return data;
}

template <typename Datum>
std::vector<std::byte> packetOf(const Data<Datum>& data) {
    std::vector<std::byte> packet(data.size() * sizeof(Datum));
    std::memcpy(packet.data(), static_cast<const void*>(data.data()), packet.size());
    return packet;
}

// The packet says how many data it has, whatever was added or taken.
template <typename Datum>
void count(Data<Datum>& data) {
    data.front().packetInformation.packetSize = static_cast<uint32_t>(data.size());
}

// One input and one output, each of one dimension, and a pool.
Data<FmqRequestDatum> request() {
    BurstRequest request;
    driver::RequestArgument argument;
    argument.dimensions = {2};
    request.request.inputs = {argument};
    request.request.outputs = {argument};
    request.slots = {7};
    request.measureTiming = true;
    return dataOf<FmqRequestDatum>(writeBurstRequest(request));
}

std::string refusalOf(const std::function<void(Data<FmqRequestDatum>&)>& change) {
    Data<FmqRequestDatum> data = request();
    change(data);
    const Result<BurstRequest> read = readBurstRequest(packetOf(data));
    return read.ok() ? "" : std::string(read.status().message());
}

TEST(BurstPackets, AreReadAsTheyWereWritten) {
    const Result<BurstRequest> read = readBurstRequest(packetOf(request()));
    ASSERT_TRUE(read.ok()) << read.status().toString();
    EXPECT_EQ(read->slots, std::vector<int32_t>{7});
    EXPECT_TRUE(read->measureTiming);
    EXPECT_EQ(read->request.inputs.front().dimensions, std::vector<uint32_t>{2});
}

TEST(BurstPackets, SayWhetherTheyAreMeasuredInOneOfTwoValues) {
    for (const int32_t value : {0, 1, 2, 3, -1, 256, 1 << 30}) {
        const std::string refusal = refusalOf([value](auto& data) {
            data.back().measureTiming = static_cast<MeasureTiming>(value);
        });
        EXPECT_EQ(refusal, value == 0 || value == 1 ? ""
                                                    : "whether it is measured is neither yes nor "
                                                      "no")
                << value;
    }
}

TEST(BurstPackets, SayHowManyDataTheyHave) {
    for (const int more : {-1, 1, 1000}) {
        EXPECT_EQ(
                refusalOf([more](auto& data) {
                    data.front().packetInformation.packetSize += static_cast<uint32_t>(more);
                }),
                "the packet says that it has " + std::to_string(7 + more) + " data, and it has 7");
    }
}

TEST(BurstPackets, HaveEachDatumInItsPlace) {
    const std::vector<std::string> names = {"what tells of the packet",
                                            "an operand",
                                            "a dimension",
                                            "an operand",
                                            "a dimension",
                                            "a pool",
                                            "whether it is measured"};
    ASSERT_EQ(request().size(), names.size());
    for (size_t i = 0; i < names.size(); ++i) {
        EXPECT_EQ(refusalOf([i](auto& data) {
                      data[i].member = static_cast<FmqRequestDatum::Member>(
                              static_cast<uint8_t>(data[i].member) ^ 1U);
                  }),
                  "datum " + std::to_string(i) + " of the packet is not " + names[i]);
        if (i > 0) {
            EXPECT_EQ(refusalOf([i](auto& data) {
                          data.resize(i);
                          count(data);
                      }),
                      "the packet ends before " + names[i]);
        }
    }
    EXPECT_EQ(readBurstRequest({}).status().message(),
              "the packet ends before what tells of the packet");
    EXPECT_EQ(readBurstCounts({}).status().message(),
              "the packet ends before what tells of the packet");
}

TEST(BurstPackets, EndWithWhatTheyHaveToSay) {
    EXPECT_EQ(refusalOf([](auto& data) {
                  data.push_back(data.back());
                  count(data);
              }),
              "there is more than the packet");
}

TEST(BurstPackets, OfResultsAreHeldToTheSame) {
    driver::ExecutionResult result;
    result.outputShapes = {{.dimensions = {2, 3}, .isSufficient = true}};
    const Data<FmqResultDatum> good = dataOf<FmqResultDatum>(writeBurstResult(result));
    const auto refusal = [&](const std::function<void(Data<FmqResultDatum>&)>& change) {
        Data<FmqResultDatum> data = good;
        change(data);
        const auto read = readBurstResult(packetOf(data));
        return read.ok() ? "" : std::string(read.status().message());
    };
    EXPECT_EQ(refusal([](auto&) {}), "");
    EXPECT_EQ(refusal([](auto& data) { ++data.front().packetInformation.packetSize; }),
              "the packet says that it has 6 data, and it has 5");
    EXPECT_EQ(refusal([](auto& data) {
                  data.push_back(data.back());
                  count(data);
              }),
              "there is more than the packet");
    const std::vector<std::string> names = {"what tells of the packet", "an operand", "a dimension",
                                            "a dimension", "its times"};
    for (size_t i = 0; i < names.size(); ++i) {
        EXPECT_EQ(refusal([i](auto& data) {
                      data[i].member = static_cast<FmqResultDatum::Member>(
                              static_cast<uint8_t>(data[i].member) ^ 1U);
                  }),
                  "datum " + std::to_string(i) + " of the packet is not " + names[i]);
    }
}

}  // namespace
}  // namespace halyard::hal::hidl
