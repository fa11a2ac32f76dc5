// SPDX-License-Identifier: Apache-2.0
//
// The contents of a halyard_program.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/base/status.h"
#include "engine/plan/program.h"
#include "halyard/halyard.h"
#include "library/runtime.h"

namespace halyard::library {

// Shared with the executions; immutable. The runtime has the backends, which outlive the program.
struct Compiled {
    std::shared_ptr<const Runtime> runtime;
    std::shared_ptr<const engine::Program> program;
};

Result<halyard_compile_options> readCompileOptions(const halyard_compile_options* from);
engine::BuildOptions buildOptions(const Runtime& runtime, const halyard_compile_options& options,
                                  const CallerStop& stop);

}  // namespace halyard::library

struct halyard_program {
    std::shared_ptr<const halyard::library::Compiled> shared;
};
