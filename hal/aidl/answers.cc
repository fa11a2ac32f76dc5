// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/answers.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "driver/model/error_status.h"
#include "engine/base/log.h"

namespace halyard::hal::aidl {
namespace {

// A failure as a client is told it; it may quote what the client has sent. The log has it all.
constexpr size_t kLongestMessage = 512;

// No longer than that, in whole characters.
std::string_view beginningOf(std::string_view message) {
    if (message.size() <= kLongestMessage) {
        return message;
    }
    size_t end = kLongestMessage;
    while (end > 0 && (static_cast<uint8_t>(message[end]) & 0xc0U) == 0x80U) {
        --end;
    }
    return message.substr(0, end);
}

}  // namespace

Status refuse(AidlObject::Call& call, const Status& failure, std::string_view what) {
    log(LogLevel::WARNING, std::string(what) + ": " + failure.toString());
    // All of AIDL's versions know the same ones.
    const driver::ErrorStatus answer = driver::toErrorStatus(failure, driver::HalVersion::AIDL_V1);
    return call.raise({.code = Exception::kServiceSpecific,
                       .message = std::string(beginningOf(failure.message())),
                       .serviceSpecific = static_cast<int32_t>(answer)});
}

}  // namespace halyard::hal::aidl
