// SPDX-License-Identifier: Apache-2.0
//
// The two functions that hosts look up in libhalyard_delegate.so.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/log.h"
#include "litert/delegate/delegate.h"
#include "litert/delegate/options.h"

namespace halyard::litert {
namespace {

constexpr size_t kMostOptions = 256;

Result<TfLiteDelegate*> create(const char* const* names, const char* const* values, size_t count) {
    if (count > kMostOptions || (count > 0 && (names == nullptr || values == nullptr))) {
        return invalidArgument("there are " + std::to_string(count) + " options");
    }
    std::vector<std::pair<std::string_view, std::string_view>> given;
    for (size_t i = 0; i < count; ++i) {
        if (names[i] == nullptr || values[i] == nullptr) {
            return invalidArgument("option " + std::to_string(i) + " has no name or no value");
        }
        given.emplace_back(names[i], values[i]);
    }
    HALYARD_ASSIGN_OR_RETURN(const DelegateOptions options, parseOptions(given));
    return makeDelegate(options);
}

}  // namespace
}  // namespace halyard::litert

using namespace halyard;  // NOLINT(google-build-using-namespace)

#define HALYARD_EXPORT extern "C" __attribute__((visibility("default")))

HALYARD_EXPORT litert::TfLiteDelegate* tflite_plugin_create_delegate(
        const char* const* names, const char* const* values, size_t count,
        void (*reportError)(const char*)) {
    // Python hands over a 32-bit number, whose register may hold more above it.
    const Result<litert::TfLiteDelegate*> made =
            litert::create(names, values, static_cast<uint32_t>(count));
    if (made.ok()) {
        return *made;
    }
    const std::string text = "Halyard: " + std::string(made.status().message());
    if (reportError != nullptr) {
        reportError(text.c_str());
    } else {
        log(LogLevel::ERROR, text);
    }
    return nullptr;
}

HALYARD_EXPORT void tflite_plugin_destroy_delegate(litert::TfLiteDelegate* delegate) {
    litert::endDelegate(delegate);
}
