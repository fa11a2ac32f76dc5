// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/validation/burst.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hal/hidl/burst_packets.h"
#include "hal/hidl/types.h"

namespace halyard::vts {
namespace {

using driver::ExecutionResult;
using hal::hidl::BurstChannel;
using hal::hidl::nn::v1_2::FmqRequestDatum;
using hal::hidl::nn::v1_2::FmqResultDatum;
using hal::hidl::nn::v1_2::MeasureTiming;
using Member = FmqRequestDatum::Member;
using RawDatum = std::array<std::byte, sizeof(FmqRequestDatum)>;
using Packet = std::vector<RawDatum>;

// That of a service which answers at all.
constexpr std::chrono::seconds kPatience{20};
// The official lengths: of a queue that holds every packet of the golden cases, and of one that is
// too short for some results.
constexpr size_t kLength = 1024;
constexpr size_t kSmallLength = 8;

// One burst with the pools of a request in its slots.
class Session {
  public:
    static Result<Session> open(const OpenBurst& open, const driver::Request& request,
                                size_t resultLength) {
        Session session;
        HALYARD_ASSIGN_OR_RETURN(session.mChannel,
                                 open({.requests = kLength, .results = resultLength}));
        session.mRequest.request = request;
        session.mRequest.request.pools.clear();
        for (size_t i = 0; i < request.pools.size(); ++i) {
            const auto* const memory = std::get_if<driver::SharedMemory>(&request.pools[i]);
            if (memory == nullptr) {
                return invalidArgument("a burst of HIDL knows no buffers");
            }
            const auto slot = static_cast<int32_t>(i);
            session.mChannel->put(slot, *memory);
            session.mRequest.slots.push_back(slot);
        }
        return session;
    }

    std::vector<std::byte> request(bool measureTiming) {
        mRequest.measureTiming = measureTiming;
        return hal::hidl::writeBurstRequest(mRequest);
    }
    Result<std::vector<std::byte>> exchange(std::span<const std::byte> packet) {
        HALYARD_RETURN_IF_ERROR(mChannel->send(packet));
        return mChannel->receive(std::chrono::steady_clock::now() + kPatience);
    }

  private:
    std::unique_ptr<BurstChannel> mChannel;
    hal::hidl::BurstRequest mRequest;
};

// Checks that the service's answer is a failure, and holds nothing beside it.
std::optional<std::string> complaintAbout(const Result<std::vector<std::byte>>& answer) {
    if (!answer.ok()) {
        return "there is no answer: " + answer.status().toString();
    }
    if (answer->size() % sizeof(FmqResultDatum) != 0) {
        return "the answer is no packet: it has " + std::to_string(answer->size()) + " bytes";
    }
    const Result<ExecutionResult> result = hal::hidl::readBurstResult(*answer);
    if (!result.ok()) {
        return "the answer is no packet: " + result.status().toString();
    }
    if (result->status.ok()) {
        return "the answer is NONE, not a failure";
    }
    if (!result->outputShapes.empty() || result->timing != driver::Timing()) {
        return "the answer tells shapes or times beside a failure";
    }
    return std::nullopt;
}

Packet split(std::span<const std::byte> bytes) {
    Packet packet(bytes.size() / sizeof(RawDatum));
    std::memcpy(packet.data(), bytes.data(), packet.size() * sizeof(RawDatum));
    return packet;
}

template <typename Value>
RawDatum datum(Member member, const Value& value) {
    FmqRequestDatum made;
    made.member = member;
    std::memcpy(static_cast<void*>(&made.packetInformation), &value, sizeof(value));
    RawDatum raw;
    std::memcpy(raw.data(), &made, sizeof(made));
    return raw;
}

// One of each kind, wrong wherever it stands in a packet.
const std::vector<RawDatum>& badData() {
    static const std::vector<RawDatum> kBad = [] {
        FmqRequestDatum::PacketInformation packet;
        packet.packetSize = 10;
        packet.numberOfInputOperands = 10;
        packet.numberOfOutputOperands = 10;
        packet.numberOfPools = 10;
        FmqRequestDatum::OperandInformation operand;
        operand.numberOfDimensions = 10;
        return std::vector<RawDatum>{
                datum(Member::packetInformation, packet),
                datum(Member::inputOperandInformation, operand),
                datum(Member::inputOperandDimensionValue, uint32_t{0}),
                datum(Member::outputOperandInformation, operand),
                datum(Member::outputOperandDimensionValue, uint32_t{0}),
                datum(Member::poolIdentifier, std::numeric_limits<int32_t>::max()),
                datum(Member::measureTiming, MeasureTiming::YES)};
    }();
    return kBad;
}

Member memberOf(const RawDatum& raw) {
    FmqRequestDatum read;
    std::memcpy(static_cast<void*>(&read), raw.data(), sizeof(read));
    return read.member;
}

// Of other content, and not only another dimension, which may be valid.
bool isMutation(const RawDatum& original, const RawDatum& changed) {
    const Member member = memberOf(changed);
    const bool isDimension = member == Member::inputOperandDimensionValue ||
                             member == Member::outputOperandDimensionValue;
    return original != changed && !(isDimension && memberOf(original) == member);
}

// Sends all packets that `mutate` makes of the request's, through one burst.
template <typename Mutate>
Verdict checkPackets(const OpenBurst& open, const driver::Request& request, const Mutate& mutate) {
    Result<Session> session = Session::open(open, request, kLength);
    if (!session.ok()) {
        return failed("configureExecutionBurst: " + session.status().toString());
    }
    const Packet original = split(session->request(true));
    std::string complaint;
    const auto judge = [&](const Packet& packet, const std::string& what) {
        if (!complaint.empty() || packet.size() > kLength) {
            return;
        }
        const auto wrong = complaintAbout(session->exchange(std::as_bytes(std::span(packet))));
        if (wrong.has_value()) {
            complaint = "a packet " + what + ": " + *wrong;
        }
    };
    mutate(original, judge);
    return complaint.empty() ? passed() : failed(complaint);
}

std::string placeOf(size_t index) {
    return "datum " + std::to_string(index);
}

bool isPaddingZero(const FmqResultDatum& result) {
    const auto& padding = result.operandInformation.pad1;
    return result.member != FmqResultDatum::Member::operandInformation ||
           std::ranges::all_of(padding, [](uint8_t byte) { return byte == 0; });
}

}  // namespace

Verdict removeDatumTest(const OpenBurst& open, const driver::Request& request) {
    return checkPackets(open, request, [](const Packet& original, const auto& judge) {
        for (size_t i = 0; i < original.size(); ++i) {
            Packet mutant = original;
            mutant.erase(mutant.begin() + static_cast<std::ptrdiff_t>(i));
            judge(mutant, "without " + placeOf(i));
        }
    });
}

Verdict addDatumTest(const OpenBurst& open, const driver::Request& request) {
    return checkPackets(open, request, [](const Packet& original, const auto& judge) {
        for (size_t i = 0; i <= original.size(); ++i) {
            for (const RawDatum& bad : badData()) {
                Packet mutant = original;
                mutant.insert(mutant.begin() + static_cast<std::ptrdiff_t>(i), bad);
                judge(mutant, "with another before " + placeOf(i) + ", of kind " +
                                      std::to_string(static_cast<int>(memberOf(bad))));
            }
        }
    });
}

Verdict mutateDatumTest(const OpenBurst& open, const driver::Request& request) {
    return checkPackets(open, request, [](const Packet& original, const auto& judge) {
        for (size_t i = 0; i < original.size(); ++i) {
            for (const RawDatum& bad : badData()) {
                if (isMutation(original[i], bad)) {
                    Packet mutant = original;
                    mutant[i] = bad;
                    judge(mutant, "with another " + placeOf(i) + ", of kind " +
                                          std::to_string(static_cast<int>(memberOf(bad))));
                }
            }
        }
    });
}

Verdict validateBurstFmqLength(const OpenBurst& open, const driver::Request& request) {
    Result<Session> regular = Session::open(open, request, kLength);
    Result<Session> small = Session::open(open, request, kSmallLength);
    for (const Result<Session>* const session : {&regular, &small}) {
        if (!session->ok()) {
            return failed("configureExecutionBurst: " + session->status().toString());
        }
    }
    const Result<std::vector<std::byte>> answer = regular->exchange(regular->request(false));
    if (!answer.ok()) {
        return failed("a valid request: there is no answer: " + answer.status().toString());
    }
    const size_t length = answer->size() / sizeof(FmqResultDatum);
    const Result<ExecutionResult> result = hal::hidl::readBurstResult(*answer);
    if (!result.ok() || !result->status.ok()) {
        return skipped("the request itself fails");
    }
    if (length <= kSmallLength) {
        return skipped("the result has " + std::to_string(length) +
                       " data, which a queue of 8 holds");
    }
    const auto wrong = complaintAbout(small->exchange(small->request(false)));
    return wrong.has_value() ? failed("a result of " + std::to_string(length) +
                                      " data and a queue of 8: " + *wrong)
                             : passed();
}

Verdict validateBurstSanitized(const OpenBurst& open, const driver::Request& request) {
    Result<Session> session = Session::open(open, request, kLength);
    if (!session.ok()) {
        return failed("configureExecutionBurst: " + session.status().toString());
    }
    const Result<std::vector<std::byte>> answer = session->exchange(session->request(true));
    if (!answer.ok()) {
        return failed("a valid request: there is no answer: " + answer.status().toString());
    }
    for (size_t at = 0; at + sizeof(FmqResultDatum) <= answer->size();
         at += sizeof(FmqResultDatum)) {
        FmqResultDatum result;
        std::memcpy(static_cast<void*>(&result), answer->data() + at, sizeof(result));
        if (!isPaddingZero(result)) {
            return failed("the padding of result " + placeOf(at / sizeof(result)) + " is not zero");
        }
    }
    return passed();
}

}  // namespace halyard::vts
