// SPDX-License-Identifier: Apache-2.0

#include "library/answer.h"

#include <string_view>

#include "engine/base/version.h"
#include "halyard/halyard.h"

namespace halyard::library {
namespace {

halyard_status codeOf(StatusCode code) {
    switch (code) {
        case StatusCode::OK:
            return HALYARD_OK;
        case StatusCode::INVALID_ARGUMENT:
            return HALYARD_INVALID_ARGUMENT;
        case StatusCode::UNSUPPORTED:
            return HALYARD_UNSUPPORTED;
        case StatusCode::OUTPUT_TOO_SMALL:
            return HALYARD_OUTPUT_TOO_SMALL;
        case StatusCode::DEADLINE_EXCEEDED:
            return HALYARD_DEADLINE_EXCEEDED;
        case StatusCode::RESOURCE_EXHAUSTED:
            return HALYARD_RESOURCE_EXHAUSTED;
        case StatusCode::UNAVAILABLE:
            return HALYARD_UNAVAILABLE;
        case StatusCode::INTERNAL:
            return HALYARD_FAILED;
    }
    return HALYARD_FAILED;
}

}  // namespace

halyard_status answer(const Status& status, halyard_message* message, bool stopped) {
    if (message != nullptr) {
        const std::string_view text = status.message();
        const size_t length = std::min(text.size(), sizeof message->text - 1);
        std::memcpy(message->text, text.data(), length);
        message->text[length] = '\0';
    }
    if (stopped && status.code() == StatusCode::UNAVAILABLE) {
        return HALYARD_STOPPED;
    }
    return codeOf(status.code());
}

Status present(const void* pointer, const char* name) {
    return pointer != nullptr ? Status() : invalidArgument(std::string(name) + " is null");
}

Status checkStructSize(const char* name, uint32_t size, size_t first, size_t known,
                       const void* bytes) {
    if (size < first || size > kMostStructBytes) {
        return invalidArgument(std::string(name) + ": struct_size is " + std::to_string(size) +
                               ", which is no version's; this one's is " + std::to_string(known));
    }
    for (size_t i = known; bytes != nullptr && i < size; ++i) {
        if (static_cast<const uint8_t*>(bytes)[i] != 0) {
            return unsupported(
                    std::string(name) +
                    " asks for what this version of the library does not know, at byte " +
                    std::to_string(i));
        }
    }
    return {};
}

}  // namespace halyard::library

extern "C" const char* halyard_version(void) {
    return HALYARD_VERSION;
}

extern "C" const char* halyard_status_name(halyard_status status) {
    switch (status) {
        case HALYARD_OK:
            return "OK";
        case HALYARD_UNSUPPORTED:
            return "UNSUPPORTED";
        case HALYARD_INVALID_ARGUMENT:
            return "INVALID_ARGUMENT";
        case HALYARD_RESOURCE_EXHAUSTED:
            return "RESOURCE_EXHAUSTED";
        case HALYARD_STOPPED:
            return "STOPPED";
        case HALYARD_FAILED:
            return "FAILED";
        case HALYARD_OUTPUT_TOO_SMALL:
            return "OUTPUT_TOO_SMALL";
        case HALYARD_DEADLINE_EXCEEDED:
            return "DEADLINE_EXCEEDED";
        case HALYARD_UNAVAILABLE:
            return "UNAVAILABLE";
        default:
            return "unknown";
    }
}
