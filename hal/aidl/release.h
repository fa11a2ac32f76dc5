// SPDX-License-Identifier: Apache-2.0
//
// Release: the differences on the wire from one release of Android to the next.

#pragma once

#include <cstdint>
#include <optional>

namespace halyard::hal::aidl {

// How long an object's interface stays as it is: what libbinder wants to be told of each object.
enum class Stability : uint32_t { UNDECLARED = 0, VENDOR = 3, SYSTEM = 12, VINTF = 63 };

// A value.
class Release {
  public:
    static constexpr int32_t kAndroid14 = 34;

    // By its API level (ro.build.version.sdk).
    explicit constexpr Release(int32_t sdk = kAndroid14) : mSdk(sdk) {}
    // Of the device that this runs on; Android 14 where it does not say. Opens files.
    static Release ofThisDevice();

    int32_t sdk() const { return mSdk; }
    // The stability that is written behind an object.
    uint32_t stabilityWord(Stability level) const;
    // The code of a method of android.os.IServiceManager, which Android 14 has as `code`; nothing
    // where the release does not have it, or no caller has needed it yet.
    std::optional<uint32_t> managerCode(uint32_t code) const;
    // The other way round.
    std::optional<uint32_t> managerMethod(uint32_t releaseCode) const;

  private:
    int32_t mSdk;
};

}  // namespace halyard::hal::aidl
