// SPDX-License-Identifier: Apache-2.0

#include "harness/device/managers/manager_program.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "engine/base/log.h"
#include "hal/log_sink.h"

namespace halyard::device {
namespace {

constexpr const char* kManifests = "/vendor/etc/vintf/manifest";
// Seconds that calls in progress get to finish, which those to mute services never do.
constexpr unsigned kLongestEnd = 5;

// Each process that has something registered takes a descriptor.
void allowManyDescriptors() {
    rlimit limit = {};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

Status serve(const std::string& name, const std::string& device, const std::string& manifests,
             const MakeManager& make, const sigset_t& end) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::BinderProcess> process,
                             hal::BinderProcess::open(device, hal::ReplyDescriptors::REFUSED));
    Manifest manifest;
    manifest.addFolder(manifests);
    const RunningManager manager = make(process, std::move(manifest));
    HALYARD_RETURN_IF_ERROR(process->becomeContextManager(manager.object));
    HALYARD_RETURN_IF_ERROR(process->startThreads(kManagerThreads, 0));
    log(LogLevel::INFO, name + ": ready on " + device);
    int signal = 0;
    sigwait(&end, &signal);
    alarm(kLongestEnd);
    process->stop();
    manager.shutDown();
    return {};
}

}  // namespace

int runManager(const std::string& name, const std::string& device, int argc, char** argv,
               const MakeManager& make) {
    // Blocked before there are other threads, so that only sigwait takes them.
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigaddset(&end, SIGINT);
    pthread_sigmask(SIG_BLOCK, &end, nullptr);

    // Clients' errors are logged, no more of them than a log takes.
    setLogSink(&hal::logToStderrAndLogd);
    allowManyDescriptors();
    const Status served =
            serve(name, argc > 1 ? argv[1] : device, argc > 2 ? argv[2] : kManifests, make, end);
    if (!served.ok()) {
        log(LogLevel::ERROR, name + ": " + served.toString());
        return 1;
    }
    return 0;
}

}  // namespace halyard::device
