// SPDX-License-Identifier: Apache-2.0
//
// The vendor service: options, the device, its registration, and serving until SIGTERM or SIGINT.

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "driver/ops/operation_list.h"
#include "driver/options/backends.h"
#include "driver/options/option_table.h"
#include "driver/prepare/cache_key.h"
#include "engine/base/heap.h"
#include "engine/base/log.h"
#include "engine/base/version.h"
#include "hal/aidl/aidl_endpoint.h"
#include "hal/descriptors/descriptor_kind.h"
#include "hal/hidl/hidl_endpoint.h"
#include "hal/log_sink.h"
#include "hal/memory/guarded_mapping.h"
#include "hal/seccomp.h"
#include "hal/service/backend_needs.h"
#include "hal/service/endpoint.h"
#include "hal/service/process_watch.h"
#include "hal/service_options.h"

namespace halyard::hal {
namespace {

constexpr const char* kHwBinder = "/dev/hwbinder";
constexpr const char* kBinder = "/dev/binder";
// The kernel asks for threads as they are needed. Calls that take long, synchronous executions
// above all, hold one each, and so do answers that are kept from who floods the service; some are
// always left for calls that don't.
constexpr EndpointThreads kThreads = {.first = 1, .spawned = 127};
constexpr driver::CallGate::Limits kLongCalls = {
        .perClient = 16, .perGroup = 24, .shared = 40, .most = 56};
static_assert(kLongCalls.most + kThreads.spawned / 2 < kThreads.spawned);

void print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

// The signals that end the service, blocked in all threads so that only waiting takes them.
sigset_t blockEndSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    return signals;
}

bool endWasAsked(const sigset_t& signals) {
    const timespec now = {};
    return sigtimedwait(&signals, nullptr, &now) > 0;
}

// As many as Android's init lets a process have. Clients' calls bring them along, and none may find
// that the others' have left no room. A table of more would itself be large.
void raiseDescriptorLimit() {
    constexpr rlim_t kEnough = 32768;
    rlimit limit = {};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kEnough) {
        limit.rlim_cur = std::min(limit.rlim_max, kEnough);
        static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
    }
}

using Backends = std::vector<std::unique_ptr<const engine::Backend>>;

// `calls`: that the backends make beyond those of the service.
Status serve(const ServiceOptions& options, Backends backendsInUse,
             std::shared_ptr<const driver::CacheKey> key, std::span<const std::string> calls,
             const sigset_t& signals) {
    driver::Options driverOptions = options.driver;
    driverOptions.calls = kLongCalls;
    driverOptions.longWorkGivesWay = true;
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<driver::Device> device,
                             driver::Device::create(std::move(driverOptions),
                                                    std::move(backendsInUse), std::move(key)));
    std::string backends;
    for (const std::string& name : device->backendNames()) {
        backends.append(backends.empty() ? "" : ", ").append(name);
    }
    log(LogLevel::INFO, std::string(device->versionString()) + " with " + backends);

    std::shared_ptr<ProcessWatch> processes;
    if (Result<std::unique_ptr<ProcessWatch>> started = ProcessWatch::start(); started.ok()) {
        processes = std::move(*started);
    } else {
        log(LogLevel::INFO, "deaths are told by callbacks: " + started.status().toString());
    }
    Endpoints endpoints;
    if (options.wires.hidl) {
        endpoints.push_back(hidl::makeEndpoint(kHwBinder, options.serviceName));
    }
    if (options.wires.aidl) {
        endpoints.push_back(aidl::makeEndpoint(kBinder, options.serviceName));
    }
    const EndpointChoice choice =
            options.wires.declaredAlone ? EndpointChoice::DECLARED : EndpointChoice::ALL;
    HALYARD_RETURN_IF_ERROR(
            openEndpoints(endpoints, choice, {.device = device, .processes = processes}, kThreads));

    // No client calls before the service is registered, and nothing is opened from here on.
    const bool dumps = !options.driver.dumpDirectory.empty() ||
                       !options.driver.graphDumpDirectory.empty() ||
                       !options.driver.traceDirectory.empty();
    openLog();
    HALYARD_RETURN_IF_ERROR(restrictServing(
            options.seccomp, dumps ? ServingFiles::DUMPS : ServingFiles::NONE, calls));

    // Managers may start later than this service, at boot, and may die and come back.
    HALYARD_ASSIGN_OR_RETURN(const bool announced, announceEndpoints(endpoints, choice, [&] {
                                 return !endWasAsked(signals);
                             }));
    if (announced) {
        int signal = 0;
        while (sigwait(&signals, &signal) == EINTR) {
        }
        log(LogLevel::INFO, "ending on signal " + std::to_string(signal));
    }
    return {};
}

int run(int argc, char** argv) {
    keepHeapSmall();
    setLogSink(&logToStderrAndLogd);
    Result<ServiceOptions> options = parseServiceOptions(argc, argv);
    if (!options.ok()) {
        log(LogLevel::ERROR, options.status().message());
        return 1;
    }
    switch (options->action) {
        case ServiceOptions::Action::PRINT_HELP:
            print(serviceHelp());
            return 0;
        case ServiceOptions::Action::PRINT_VERSION:
            print("halyard " HALYARD_VERSION "\n");
            return 0;
        case ServiceOptions::Action::LIST_OPERATIONS:
            print(driver::listOperations());
            return 0;
        case ServiceOptions::Action::LIST_OPTIONS:
            print(driver::listOptions());
            return 0;
        case ServiceOptions::Action::SERVE:
            break;
    }
    if (options->verbose) {
        setLogThreshold(LogLevel::VERBOSE);
    }
    // The reader of the log may go away; the service stays.
    signal(SIGPIPE, SIG_IGN);
    raiseDescriptorLimit();
    // Looking devices up by their names takes system calls that nothing does afterwards, as does
    // loading libraries, and making a key.
    prepareDescriptorKinds();
    std::shared_ptr<const driver::CacheKey> key = driver::openCacheKey(options->driver);
    Result<Backends> backends = driver::makeBackends(options->driver);
    Status served = backends.status();
    std::vector<std::string> calls;
    if (served.ok()) {
        served = meetNeeds(*backends, calls);
    }
    if (served.ok()) {
        served = restrictSystemCalls(options->seccomp, calls);
    }
    if (served.ok()) {
        served = guardMappings();
    }
    if (served.ok()) {
        served = serve(*options, std::move(*backends), std::move(key), calls, blockEndSignals());
    }
    if (!served.ok()) {
        log(LogLevel::ERROR, served.toString());
        return 1;
    }
    return 0;
}

}  // namespace
}  // namespace halyard::hal

int main(int argc, char** argv) {
    return halyard::hal::run(argc, argv);
}
