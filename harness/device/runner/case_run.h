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
#include "harness/device/cases/messages.h"
#include "harness/device/runner/executions.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

// Told how far the case got, before each step that may crash or hang: `result` so far, with a
// message that names the step ("preparing").
using Progress = std::function<void(const pb::CaseResult& result)>;

// Of the driver; empty where the version has no such call.
std::string versionString(const Target& target);

// An outcome's message without its status, which often stands before it.
std::string reasonOf(const Outcome& outcome);

// Fills in what does not depend on how the case ends.
pb::CaseResult beginResult(const pb::TestCase& testCase, const std::string& targetName,
                           driver::HalVersion version);

// The steps of a case. Each but the last says in `result` why it gives nothing.
//
// The model as the target takes it, which has to outlive what is prepared from it.
std::optional<driver::Model> loadModel(const Target& target, const pb::TestCase& testCase,
                                       pb::CaseResult& result);
std::shared_ptr<driver::IPreparedModel> prepareModel(const Target& target,
                                                     const driver::Model& model,
                                                     const PrepareSettings& settings,
                                                     pb::CaseResult& result);
PrepareSettings prepareSettings(const pb::RunOptions& options);
ExecuteSettings executeSettings(const pb::RunOptions& options);
// Adds the times of the counted executions. The outcome is that of the first one that failed;
// `last` is what the last one reported.
Outcome executeRepeatedly(const Target& target, driver::IPreparedModel& prepared,
                          const driver::Request& request, const pb::RunOptions& options,
                          driver::ExecutionResult& last, pb::ExampleResult& result);
// Adds what the last execution wrote; the shapes alone unless `withData`.
Status collectOutputs(const pb::Model& model, const driver::Request& request,
                      const driver::ExecutionResult& last, bool withData,
                      pb::ExampleResult& result);

// Runs the case as far as it goes; never fails other than in its result.
void runCase(const Target& target, const pb::TestCase& testCase, const pb::RunOptions& options,
             const Progress& progress, pb::CaseResult& result);

}  // namespace halyard::runner
