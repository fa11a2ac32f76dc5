// SPDX-License-Identifier: Apache-2.0
//
// Every case of a bundle, shared out to processes. One that dies is charged with what it was at,
// and another takes its place behind that case.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "harness/device/cases/messages.h"
#include "tests/validation/ledger.h"

namespace halyard::validation {

using Cases = std::vector<runner::pb::TestCase>;
// A worker's job for a case, by its index. It has the number of its process.
using CaseWork = std::function<void(size_t index, size_t worker, Ledger& ledger)>;
// Called once in each process, which may make threads from here on. The cases outlive the work.
using MakeWork = std::function<CaseWork(const Cases& cases, uint64_t seed)>;

struct WorkOptions {
    std::string bundle;
    size_t workers = 2;
    uint64_t seed = 0;
};

// PROGRAM --bundle FILE [--workers N] [--seed N].
Result<WorkOptions> parseWorkOptions(int argc, char** argv);

// The ledger's JSON, on standard output. A process that died is in it, and no failure here.
Status workThrough(const WorkOptions& options, std::span<const std::string_view> rows,
                   const MakeWork& makeWork);

}  // namespace halyard::validation
