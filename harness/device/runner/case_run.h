// SPDX-License-Identifier: Apache-2.0
//
// One case from model to results: supported operations, prepare, placement, executions.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/status.h"
#include "harness/device/runner/messages.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

// Told how far the case got, before each step that may crash or hang: `result` so far, with a
// message that names the step ("preparing").
using Progress = std::function<void(const pb::CaseResult& result)>;

// What an outcome says beside its status, which often stands before it.
std::string reasonOf(const Outcome& outcome);

// Fills in what does not depend on how the case ends.
pb::CaseResult beginResult(const pb::TestCase& testCase, const std::string& targetName,
                           driver::HalVersion version);

// The steps of a case. Each but the last says in `result` why it gives nothing.
//
// The model as the target takes it, which has to outlive what is prepared from it.
std::optional<TargetModel> loadModel(const Target& target, const pb::TestCase& testCase,
                                     pb::CaseResult& result);
std::unique_ptr<PreparedTarget> prepareModel(Target& target, const TargetModel& model,
                                             const PrepareSettings& settings,
                                             pb::CaseResult& result);
PrepareSettings prepareSettings(const pb::RunOptions& options);
ExecuteSettings executeSettings(const pb::RunOptions& options);
// Adds the times of the counted executions. The outcome is that of the first one that failed;
// `last` is what the last one reported.
Outcome executeRepeatedly(PreparedTarget& prepared, const TargetRequest& request,
                          const pb::RunOptions& options, Execution& last,
                          pb::ExampleResult& result);
// Adds what each node took in so many executions.
Outcome profile(PreparedTarget& prepared, const TargetRequest& request,
                const pb::RunOptions& options, uint32_t runs, pb::CaseResult& result);
// Adds what the last execution wrote; the shapes alone unless `withData`.
Status collectOutputs(const pb::Model& model, const TargetRequest& request, const Execution& last,
                      bool withData, pb::ExampleResult& result);

// Runs the case as far as it goes; never fails other than in its result.
void runCase(Target& target, const pb::TestCase& testCase, const pb::RunOptions& options,
             const Progress& progress, pb::CaseResult& result);

}  // namespace halyard::runner
