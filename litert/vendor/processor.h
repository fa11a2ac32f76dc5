// SPDX-License-Identifier: Apache-2.0
//
// Processors that models are compiled for, by the names that LiteRT's tools know them by as SoC
// models. All but "host" are what that name stands for wherever a model is compiled: kernels are
// chosen for the named processor, on the one that runs them as well.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/plan/backend.h"

namespace halyard::vendor {

inline constexpr std::string_view kHost = "host";

// The names; literals, which end with a zero. The first is "host".
std::span<const std::string_view> processorNames();

// INVALID_ARGUMENT lists the names; UNSUPPORTED where this build has no kernels for its
// architecture, or this machine not what it takes: a sentence about the processor. Of one with
// tiles alone Linux is asked to permit them to the process.
Result<std::unique_ptr<const engine::Backend>> openProcessor(std::string_view name);
Status checkName(std::string_view name);
// This machine's identity: of what is packed for "host".
std::string hostIdentity();

}  // namespace halyard::vendor
