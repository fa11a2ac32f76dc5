// SPDX-License-Identifier: Apache-2.0

#include "engine/base/status.h"

#include <cstddef>
#include <string>
#include <utility>

namespace halyard {
namespace {

// Bytes. What is said quotes names that clients chose, a megabyte long if they like, and is kept,
// logged and sent: the rest of a longer message is left out.
constexpr size_t kLongestMessage = 8192;

std::string shortened(std::string message) {
    if (message.size() <= kLongestMessage) {
        return message;
    }
    const std::string more = " ... (of " + std::to_string(message.size()) + " bytes)";
    // Not within a letter of several bytes.
    size_t end = kLongestMessage - more.size();
    while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0U) == 0x80U) {
        --end;
    }
    return message.substr(0, end) + more;
}

}  // namespace

std::string_view toString(StatusCode code) {
    switch (code) {
        case StatusCode::OK:
            return "OK";
        case StatusCode::INVALID_ARGUMENT:
            return "INVALID_ARGUMENT";
        case StatusCode::UNSUPPORTED:
            return "UNSUPPORTED";
        case StatusCode::OUTPUT_TOO_SMALL:
            return "OUTPUT_TOO_SMALL";
        case StatusCode::DEADLINE_EXCEEDED:
            return "DEADLINE_EXCEEDED";
        case StatusCode::RESOURCE_EXHAUSTED:
            return "RESOURCE_EXHAUSTED";
        case StatusCode::UNAVAILABLE:
            return "UNAVAILABLE";
        case StatusCode::INTERNAL:
            return "INTERNAL";
    }
    return "unknown status";
}

Status::Status(StatusCode code, std::string message, std::source_location place) {
    if (code != StatusCode::OK) {
        mFailure = std::make_shared<const Failure>(
                Failure{.code = code, .message = shortened(std::move(message)), .place = place});
    }
}

std::string Status::toString() const {
    if (ok()) {
        return "OK";
    }
    std::string text(halyard::toString(mFailure->code));
    text.append(": ").append(mFailure->message).append(" (");
    text.append(mFailure->place.file_name());
    text.append(":").append(std::to_string(mFailure->place.line())).append(")");
    return text;
}

std::shared_ptr<Status::Failure> Status::copyOfFailure() const {
    return std::make_shared<Failure>(*mFailure);
}

Status Status::of(std::shared_ptr<const Failure> failure) {
    Status status;
    status.mFailure = std::move(failure);
    return status;
}

Status Status::withContext(std::string_view context) const {
    if (ok()) {
        return {};
    }
    std::string message(context);
    message.append(": ").append(mFailure->message);
    std::shared_ptr<Failure> failure = copyOfFailure();
    failure->message = shortened(std::move(message));
    return of(std::move(failure));
}

Status Status::asPersistent() const {
    if (ok()) {
        return {};
    }
    std::shared_ptr<Failure> failure = copyOfFailure();
    failure->persistent = true;
    return of(std::move(failure));
}

Status Status::atOperation(uint32_t operation) const {
    if (ok()) {
        return {};
    }
    std::shared_ptr<Failure> failure = copyOfFailure();
    failure->operation = operation;
    return of(std::move(failure));
}

Status Status::breaking(int32_t rule) const {
    if (ok() || mFailure->rule != 0) {
        return *this;
    }
    std::shared_ptr<Failure> failure = copyOfFailure();
    failure->rule = rule;
    return of(std::move(failure));
}

Status Status::withCode(StatusCode code) const {
    if (ok() || code == StatusCode::OK) {
        return *this;
    }
    std::shared_ptr<Failure> failure = copyOfFailure();
    failure->code = code;
    return of(std::move(failure));
}

Status invalidArgument(std::string message, std::source_location place) {
    return {StatusCode::INVALID_ARGUMENT, std::move(message), place};
}

Status unsupported(std::string message, std::source_location place) {
    return {StatusCode::UNSUPPORTED, std::move(message), place};
}

Status internalError(std::string message, std::source_location place) {
    return {StatusCode::INTERNAL, std::move(message), place};
}

Status outOfReach(std::string message, std::source_location place) {
    return Status(StatusCode::RESOURCE_EXHAUSTED, std::move(message), place).asPersistent();
}

}  // namespace halyard
