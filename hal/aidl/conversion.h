// SPDX-License-Identifier: Apache-2.0
//
// From the types of AIDL, which are the same in all its versions, to the driver's, and back.
//
// decode() fails with INVALID_ARGUMENT where a number is one that no valid model or request has and
// that the driver's types can't hold; all other rules are the driver's.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "driver/execute/prepared_model.h"
#include "driver/model/call_options.h"
#include "driver/model/capabilities.h"
#include "driver/model/model.h"
#include "driver/model/request.h"
#include "engine/base/status.h"
#include "hal/aidl/types.h"
#include "hal/memory/shared_memory.h"

namespace halyard::hal::aidl {

// ---- From the wire ------------------------------------------------------------------------------

Result<driver::Model> decode(const nn::Model& wire);
Result<driver::Request> decode(const nn::Request& wire);
// All but the pools.
Result<driver::Request> decodeArguments(const nn::Request& wire);
Result<driver::RequestPool> decode(const nn::RequestMemoryPool& wire,
                                   const ImportOptions& options = {});

// Indices and extents; `what`: "a dimension".
Result<std::vector<uint32_t>> decodeNumbers(const std::vector<int32_t>& wire,
                                            std::string_view what);

// How an execution goes, as far as all methods say it alike.
Result<driver::ExecuteOptions> decodeOptions(bool measureTiming, int64_t deadline,
                                             int64_t loopTimeout);
Result<driver::ExecuteOptions> decodeOptions(const nn::ExecutionConfig& config, int64_t deadline);
driver::ExtensionHints decodeHints(std::span<const nn::TokenValuePair> hints,
                                   std::span<const nn::ExtensionNameAndPrefix> prefixes);

driver::Capabilities decode(const nn::Capabilities& wire);
Result<driver::Extension> decode(const nn::Extension& wire);
// The status of one that says that its outputs were too small is OUTPUT_TOO_SMALL.
driver::ExecutionResult decode(const nn::ExecutionResult& wire);
driver::Timing decode(const nn::Timing& wire);

// ---- To the wire --------------------------------------------------------------------------------

// Their pools can be sent.
nn::Model encode(const driver::Model& model);
nn::Request encode(const driver::Request& request);
nn::ExecutionConfig encodeConfig(const driver::ExecuteOptions& options);
nn::Capabilities encode(const driver::Capabilities& capabilities);
nn::Extension encode(const driver::Extension& extension);
// Of an execution that was OK or whose outputs were too small.
nn::ExecutionResult encode(const driver::ExecutionResult& result);
nn::Timing encode(const driver::Timing& timing);

}  // namespace halyard::hal::aidl
