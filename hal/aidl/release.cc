// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/release.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

extern "C" {
// Of bionic; null with another C library.
[[gnu::weak]] int __system_property_get(const char* name, char* value);  // NOLINT
}

namespace halyard::hal::aidl {
namespace {

constexpr const char* kSdk = "ro.build.version.sdk";
// Where Android, and the virtual device, keep properties as text.
constexpr std::array kFiles = {"/system/build.prop", "/system/etc/properties"};

constexpr int32_t kAndroid12 = 31;
constexpr int32_t kAndroid12L = 32;
constexpr int32_t kAndroid15 = 35;

constexpr uint32_t kGetService = 1;
constexpr uint32_t kCheckService = 2;
constexpr uint32_t kIsDeclared = 7;
constexpr uint32_t kGetDeclaredInstances = 8;

std::string fromFile(const char* path) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "re"), &std::fclose);
    std::array<char, 1024> line = {};
    while (file != nullptr &&
           std::fgets(line.data(), static_cast<int>(line.size()), file.get()) != nullptr) {
        const std::string_view text = line.data();
        const size_t length = std::strlen(kSdk);
        if (text.starts_with(kSdk) && text.substr(length).starts_with('=')) {
            return std::string(text.substr(length + 1));
        }
    }
    return {};
}

std::string property() {
    if (&__system_property_get != nullptr) {
        constexpr size_t kLongest = 92;  // bionic's PROP_VALUE_MAX
        std::array<char, kLongest> value = {};
        __system_property_get(kSdk, value.data());
        return value.data();
    }
    for (const char* path : kFiles) {
        if (std::string value = fromFile(path); !value.empty()) {
            return value;
        }
    }
    return {};
}

}  // namespace

Release Release::ofThisDevice() {
    const std::string text = property();
    int32_t sdk = 0;
    std::from_chars(text.data(), text.data() + text.size(), sdk);
    return sdk > 0 ? Release(sdk) : Release();
}

uint32_t Release::stabilityWord(Stability level) const {
    constexpr uint32_t kFormatVersion = 1;
    const auto number = static_cast<uint32_t>(level);
    return mSdk == kAndroid12 || mSdk == kAndroid12L ? number << 24U | kFormatVersion : number;
}

// Android 15 put a method in second place, Android 16 one more in fourth.
std::optional<uint32_t> Release::managerCode(uint32_t code) const {
    if (code < kGetService || code > (mSdk < kAndroid12 ? kIsDeclared : kGetDeclaredInstances)) {
        return std::nullopt;
    }
    if (code == kGetService || mSdk < kAndroid15) {
        return code;
    }
    return code == kCheckService || mSdk == kAndroid15 ? code + 1 : code + 2;
}

std::optional<uint32_t> Release::managerMethod(uint32_t releaseCode) const {
    for (uint32_t code = kGetService; code <= kGetDeclaredInstances; ++code) {
        if (managerCode(code) == releaseCode) {
            return code;
        }
    }
    return std::nullopt;
}

}  // namespace halyard::hal::aidl
