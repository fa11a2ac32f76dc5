// SPDX-License-Identifier: Apache-2.0
//
// The file that a device's tuning is kept in: text, which people may read and mend.
//
//   halyard tuning 1
//   device NVIDIA CUDA OpenCL 3.0 CUDA; NVIDIA H200; 580.65
//   softmax X=F32 rows=1 1000<TAB>256
//   end 1
//
// The last line counts those between, so that a file that was cut off is none.

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace halyard::engine::gpu {

// By key, the name of the variant that is taken.
using TunedChoices = std::map<std::string, std::string, std::less<>>;

// More than all layers of many models, and what such lines take.
inline constexpr size_t kMostTunedChoices = 8192;
inline constexpr size_t kMostTunedKeyBytes = 400;
inline constexpr size_t kMostTunedNameBytes = 100;

// Whether a file can have this line: printable ASCII, of these lengths.
bool canBeTuned(std::string_view key, std::string_view name);

std::string tuningText(const TunedChoices& choices, std::string_view device);
// Whether it is meant to be such a file, of whatever device and however damaged.
bool beginsAsTuning(std::string_view text);
// INVALID_ARGUMENT says what is wrong with it; UNSUPPORTED if it is another device's.
Result<TunedChoices> parseTuning(std::string_view text, std::string_view device);

// UNAVAILABLE if there is none; INVALID_ARGUMENT if it can't be read or can't be such a file.
Result<std::string> readTuningFile(const std::string& path);
// The whole file or nothing: under another name first. INTERNAL with the system's words.
Status writeTuningFile(const std::string& path, std::string_view text);
// The system calls that writing takes, and that no service makes otherwise once it serves.
std::vector<std::string> callsOfTuning();

}  // namespace halyard::engine::gpu
