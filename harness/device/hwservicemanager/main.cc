// SPDX-License-Identifier: Apache-2.0
//
// hwservicemanager for the virtual device: the context manager of /dev/hwbinder, in the foreground
// until SIGTERM or SIGINT.
//
// Usage: hwservicemanager [DEVICE [MANIFEST-FOLDER]]

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "engine/base/log.h"
#include "hal/binder/process.h"
#include "hal/log_sink.h"
#include "harness/device/hwservicemanager/service_manager_object.h"

namespace halyard::device {
namespace {

constexpr const char* kDevice = "/dev/hwbinder";
constexpr const char* kManifests = "/vendor/etc/vintf/manifest";
constexpr size_t kThreads = 8;
// Services that are asked and stay mute leave the other threads to everybody else.
constexpr size_t kQuestions = 4;
static_assert(kQuestions < kThreads);
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

Status serve(const std::string& device, const std::string& manifests, const sigset_t& end) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::BinderProcess> process,
                             hal::BinderProcess::open(device, hal::ReplyDescriptors::REFUSED));
    Manifest manifest;
    manifest.addFolder(manifests);
    auto manager = std::make_shared<ServiceManagerObject>(process, std::move(manifest), kQuestions);
    manager->registerItself();
    HALYARD_RETURN_IF_ERROR(process->becomeContextManager(manager));
    HALYARD_RETURN_IF_ERROR(process->startThreads(kThreads, 0));
    log(LogLevel::INFO, "hwservicemanager: ready on " + device);
    int signal = 0;
    sigwait(&end, &signal);
    alarm(kLongestEnd);
    process->stop();
    manager->shutDown();
    return {};
}

}  // namespace
}  // namespace halyard::device

int main(int argc, char** argv) {
    // Blocked before there are other threads, so that only sigwait takes them.
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigaddset(&end, SIGINT);
    pthread_sigmask(SIG_BLOCK, &end, nullptr);

    // What clients do wrong is logged: no more of it than a log takes.
    halyard::setLogSink(&halyard::hal::logToStderrAndLogd);
    halyard::device::allowManyDescriptors();
    halyard::Status served =
            halyard::device::serve(argc > 1 ? argv[1] : halyard::device::kDevice,
                                   argc > 2 ? argv[2] : halyard::device::kManifests, end);
    if (!served.ok()) {
        halyard::log(halyard::LogLevel::ERROR, "hwservicemanager: " + served.toString());
        return 1;
    }
    return 0;
}
