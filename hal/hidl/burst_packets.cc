// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/burst_packets.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "driver/model/error_status.h"
#include "hal/client/answers.h"
#include "hal/hidl/v1_0.h"
#include "hal/hidl/v1_2.h"

namespace halyard::hal::hidl {
namespace {

using driver::ErrorStatus;
using nn::v1_2::FmqRequestDatum;
using nn::v1_2::FmqResultDatum;
using nn::v1_2::MeasureTiming;

// Data one after the other, each of the kind that it has to be.
template <typename Datum>
class Cursor {
  public:
    explicit Cursor(std::span<const std::byte> packet) : mPacket(packet) {}

    size_t left() const { return (mPacket.size() - mAt) / sizeof(Datum); }

    Result<Datum> next(typename Datum::Member member, std::string_view name) {
        Datum datum;
        if (left() == 0) {
            return invalidArgument("the packet ends before " + std::string(name));
        }
        std::memcpy(static_cast<void*>(&datum), mPacket.data() + mAt, sizeof(datum));
        mAt += sizeof(Datum);
        if (datum.member != member) {
            return invalidArgument("datum " + std::to_string(mAt / sizeof(Datum) - 1) +
                                   " of the packet is not " + std::string(name));
        }
        return datum;
    }

    // That the first datum says how many there are.
    Status checkSize(uint32_t said) const {
        const size_t count = mPacket.size() / sizeof(Datum);
        return said == count
                       ? Status()
                       : invalidArgument("the packet says that it has " + std::to_string(said) +
                                         " data, and it has " + std::to_string(count));
    }
    Status finish() const {
        return left() == 0 ? Status() : invalidArgument("there is more than the packet");
    }

  private:
    const std::span<const std::byte> mPacket;
    size_t mAt = 0;
};

template <typename Datum>
class Packet {
  public:
    // Padding and what the member leaves of the union are zero.
    template <typename Value>
    void add(typename Datum::Member member, const Value& value) {
        Datum datum;
        datum.member = member;
        static_assert(std::is_trivially_copyable_v<Value>);
        std::memcpy(static_cast<void*>(&datum.packetInformation), &value, sizeof(value));
        const auto* const bytes = reinterpret_cast<const std::byte*>(&datum);
        mBytes.insert(mBytes.end(), bytes, bytes + sizeof(datum));
    }
    uint32_t size() const { return static_cast<uint32_t>(mBytes.size() / sizeof(Datum)); }
    // The first datum, once all others are there.
    template <typename Value>
    void setFirst(const Value& value) {
        Datum datum;
        std::memcpy(static_cast<void*>(&datum), mBytes.data(), sizeof(datum));
        std::memcpy(static_cast<void*>(&datum.packetInformation), &value, sizeof(value));
        std::memcpy(mBytes.data(), &datum, sizeof(datum));
    }
    std::vector<std::byte> take() { return std::move(mBytes); }

  private:
    std::vector<std::byte> mBytes;
};

using RequestMember = FmqRequestDatum::Member;
using ResultMember = FmqResultDatum::Member;

Result<FmqRequestDatum::PacketInformation> readHead(Cursor<FmqRequestDatum>& cursor) {
    HALYARD_ASSIGN_OR_RETURN(
            const FmqRequestDatum first,
            cursor.next(RequestMember::packetInformation, "what tells of the packet"));
    HALYARD_RETURN_IF_ERROR(cursor.checkSize(first.packetInformation.packetSize));
    return first.packetInformation;
}

Result<std::vector<driver::RequestArgument>> readArguments(Cursor<FmqRequestDatum>& cursor,
                                                           uint32_t count,
                                                           RequestMember information,
                                                           RequestMember dimension) {
    std::vector<driver::RequestArgument> arguments;
    arguments.reserve(std::min<size_t>(count, cursor.left()));
    for (uint32_t i = 0; i < count; ++i) {
        HALYARD_ASSIGN_OR_RETURN(const FmqRequestDatum datum,
                                 cursor.next(information, "an operand"));
        const auto& said = information == RequestMember::inputOperandInformation
                                   ? datum.inputOperandInformation
                                   : datum.outputOperandInformation;
        driver::RequestArgument& argument = arguments.emplace_back();
        argument.hasNoValue = said.hasNoValue;
        argument.location = {.poolIndex = said.location.poolIndex,
                             .offset = said.location.offset,
                             .length = said.location.length};
        argument.dimensions.reserve(std::min<size_t>(said.numberOfDimensions, cursor.left()));
        for (uint32_t axis = 0; axis < said.numberOfDimensions; ++axis) {
            HALYARD_ASSIGN_OR_RETURN(const FmqRequestDatum extent,
                                     cursor.next(dimension, "a dimension"));
            argument.dimensions.push_back(dimension == RequestMember::inputOperandDimensionValue
                                                  ? extent.inputOperandDimensionValue
                                                  : extent.outputOperandDimensionValue);
        }
    }
    return arguments;
}

void writeArguments(Packet<FmqRequestDatum>& packet,
                    const std::vector<driver::RequestArgument>& arguments,
                    RequestMember information, RequestMember dimension) {
    for (const driver::RequestArgument& argument : arguments) {
        FmqRequestDatum::OperandInformation said;
        said.hasNoValue = argument.hasNoValue;
        said.location.poolIndex = argument.location.poolIndex;
        said.location.offset = static_cast<uint32_t>(argument.location.offset);
        said.location.length = static_cast<uint32_t>(argument.location.length);
        said.numberOfDimensions = static_cast<uint32_t>(argument.dimensions.size());
        packet.add(information, said);
        for (const uint32_t extent : argument.dimensions) {
            packet.add(dimension, extent);
        }
    }
}

}  // namespace

Result<BurstCounts> readBurstCounts(std::span<const std::byte> bytes) {
    Cursor<FmqRequestDatum> cursor(bytes);
    HALYARD_ASSIGN_OR_RETURN(const FmqRequestDatum::PacketInformation said, readHead(cursor));
    return BurstCounts{.inputs = said.numberOfInputOperands,
                       .outputs = said.numberOfOutputOperands};
}

Result<BurstRequest> readBurstRequest(std::span<const std::byte> bytes) {
    Cursor<FmqRequestDatum> cursor(bytes);
    HALYARD_ASSIGN_OR_RETURN(const FmqRequestDatum::PacketInformation said, readHead(cursor));
    BurstRequest read;
    HALYARD_ASSIGN_OR_RETURN(read.request.inputs,
                             readArguments(cursor, said.numberOfInputOperands,
                                           RequestMember::inputOperandInformation,
                                           RequestMember::inputOperandDimensionValue));
    HALYARD_ASSIGN_OR_RETURN(read.request.outputs,
                             readArguments(cursor, said.numberOfOutputOperands,
                                           RequestMember::outputOperandInformation,
                                           RequestMember::outputOperandDimensionValue));
    read.slots.reserve(std::min<size_t>(said.numberOfPools, cursor.left()));
    for (uint32_t i = 0; i < said.numberOfPools; ++i) {
        HALYARD_ASSIGN_OR_RETURN(const FmqRequestDatum slot,
                                 cursor.next(RequestMember::poolIdentifier, "a pool"));
        read.slots.push_back(slot.poolIdentifier);
    }
    HALYARD_ASSIGN_OR_RETURN(const FmqRequestDatum last,
                             cursor.next(RequestMember::measureTiming, "whether it is measured"));
    if (last.measureTiming != MeasureTiming::YES && last.measureTiming != MeasureTiming::NO) {
        return invalidArgument("whether it is measured is neither yes nor no");
    }
    read.measureTiming = last.measureTiming == MeasureTiming::YES;
    HALYARD_RETURN_IF_ERROR(cursor.finish());
    return read;
}

std::vector<std::byte> writeBurstRequest(const BurstRequest& request) {
    Packet<FmqRequestDatum> packet;
    FmqRequestDatum::PacketInformation said;
    said.numberOfInputOperands = static_cast<uint32_t>(request.request.inputs.size());
    said.numberOfOutputOperands = static_cast<uint32_t>(request.request.outputs.size());
    said.numberOfPools = static_cast<uint32_t>(request.slots.size());
    packet.add(RequestMember::packetInformation, said);
    writeArguments(packet, request.request.inputs, RequestMember::inputOperandInformation,
                   RequestMember::inputOperandDimensionValue);
    writeArguments(packet, request.request.outputs, RequestMember::outputOperandInformation,
                   RequestMember::outputOperandDimensionValue);
    for (const int32_t slot : request.slots) {
        packet.add(RequestMember::poolIdentifier, slot);
    }
    packet.add(RequestMember::measureTiming,
               request.measureTiming ? MeasureTiming::YES : MeasureTiming::NO);
    said.packetSize = packet.size();
    packet.setFirst(said);
    return packet.take();
}

std::vector<std::byte> writeBurstResult(const driver::ExecutionResult& result) {
    Packet<FmqResultDatum> packet;
    FmqResultDatum::PacketInformation said;
    said.errorStatus = driver::toErrorStatus(result.status, driver::HalVersion::V1_2);
    said.numberOfOperands = static_cast<uint32_t>(result.outputShapes.size());
    packet.add(ResultMember::packetInformation, said);
    for (const driver::OutputShape& shape : result.outputShapes) {
        FmqResultDatum::OperandInformation operand;
        operand.isSufficient = shape.isSufficient;
        operand.numberOfDimensions = static_cast<uint32_t>(shape.dimensions.size());
        packet.add(ResultMember::operandInformation, operand);
        for (const uint32_t extent : shape.dimensions) {
            packet.add(ResultMember::operandDimensionValue, extent);
        }
    }
    packet.add(ResultMember::executionTiming, nn::v1_2::encode(result.timing));
    said.packetSize = packet.size();
    packet.setFirst(said);
    return packet.take();
}

Result<driver::ExecutionResult> readBurstResult(std::span<const std::byte> bytes) {
    Cursor<FmqResultDatum> cursor(bytes);
    HALYARD_ASSIGN_OR_RETURN(
            const FmqResultDatum first,
            cursor.next(ResultMember::packetInformation, "what tells of the packet"));
    const FmqResultDatum::PacketInformation& said = first.packetInformation;
    HALYARD_RETURN_IF_ERROR(cursor.checkSize(said.packetSize));
    driver::ExecutionResult result;
    result.status = answered("burst", said.errorStatus);
    for (uint32_t i = 0; i < said.numberOfOperands; ++i) {
        HALYARD_ASSIGN_OR_RETURN(const FmqResultDatum operand,
                                 cursor.next(ResultMember::operandInformation, "an operand"));
        driver::OutputShape& shape = result.outputShapes.emplace_back();
        shape.isSufficient = operand.operandInformation.isSufficient;
        const uint32_t rank = operand.operandInformation.numberOfDimensions;
        for (uint32_t axis = 0; axis < rank; ++axis) {
            HALYARD_ASSIGN_OR_RETURN(
                    const FmqResultDatum extent,
                    cursor.next(ResultMember::operandDimensionValue, "a dimension"));
            shape.dimensions.push_back(extent.operandDimensionValue);
        }
    }
    HALYARD_ASSIGN_OR_RETURN(const FmqResultDatum last,
                             cursor.next(ResultMember::executionTiming, "its times"));
    result.timing = nn::v1_2::decode(last.executionTiming);
    HALYARD_RETURN_IF_ERROR(cursor.finish());
    return result;
}

}  // namespace halyard::hal::hidl
