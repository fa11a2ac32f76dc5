// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/program.h"
#include "harness/device/vts/run_checks.h"

int main(int argc, char** argv) {
    return halyard::runner::runProgram(argc, argv, nullptr, &halyard::vts::caseChecks());
}
