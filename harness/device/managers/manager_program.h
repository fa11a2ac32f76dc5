// SPDX-License-Identifier: Apache-2.0
//
// A service manager as a program: the context manager of a binder device, in the foreground until
// SIGTERM or SIGINT.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "hal/binder/process.h"
#include "harness/device/managers/manifest.h"

namespace halyard::device {

// That serve calls. A client that keeps one waiting leaves the others to all other clients.
constexpr size_t kManagerThreads = 8;

struct RunningManager {
    std::shared_ptr<hal::LocalObject> object;
    std::function<void()> shutDown;  // lets go of all that is registered
};

using MakeManager = std::function<RunningManager(const std::shared_ptr<hal::BinderProcess>& process,
                                                 Manifest manifest)>;

// `name DEVICE MANIFEST-FOLDER`, both of which may be left out. The exit code.
int runManager(const std::string& name, const std::string& device, int argc, char** argv,
               const MakeManager& make);

}  // namespace halyard::device
