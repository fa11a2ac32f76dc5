// SPDX-License-Identifier: Apache-2.0

#include "hal/service/debug_call.h"

#include <fcntl.h>

#include <chrono>
#include <utility>

#include "engine/base/log.h"
#include "hal/descriptors/client_workers.h"
#include "hal/descriptors/descriptor_kind.h"
#include "hal/service/debug_output.h"

namespace halyard::hal {
namespace {

// Apps have user ids from here on, in every Android user's range.
constexpr uint32_t kFirstAppUid = 10000;
// As long as the writing may take, and a little longer.
constexpr std::chrono::milliseconds kWritingTime{1500};

ClientWorkers::Owner ownerOf(const Caller& caller) {
    return {.pid = caller.pid, .uid = caller.euid};
}

// Closes it afterwards. What the text goes into may be held by its other users, so that both wait
// for them; the caller waits for no longer than it may take.
void write(ClientWorkers::Owner owner, const std::shared_ptr<FileDescriptor>& output,
           std::string text) {
    ClientWorkers::here().runAndWait(
            owner,
            [output, text = std::move(text)] {
                writeDebugOutput(output->get(), text);
                output->reset();
            },
            kWritingTime);
}

}  // namespace

bool isApp(const Caller& caller) {
    return caller.euid >= kFirstAppUid;
}

DebugCall::DebugCall(const Caller& caller, int received) : mCaller(caller) {
    // Of what is neither a pipe nor a socket no duplicate is needed.
    if (received >= 0 && !closesAtOnce(received)) {
        mOutput->reset(fcntl(received, F_DUPFD_CLOEXEC, 0));
    }
}

void DebugCall::answer(const std::function<Result<std::shared_ptr<driver::Client>>()>& client,
                       const std::function<std::string()>& text) {
    if (!mOutput->valid()) {
        return;
    }
    const Status written = tryAnswer(client, text);
    if (!written.ok()) {
        log(LogLevel::WARNING, "debug called by pid " + std::to_string(mCaller.pid) +
                                       " gets no text: " + std::string(written.message()));
        ClientWorkers::here().run(ownerOf(mCaller), [output = mOutput] { output->reset(); });
    }
}

Status DebugCall::tryAnswer(const std::function<Result<std::shared_ptr<driver::Client>>()>& client,
                            const std::function<std::string()>& text) {
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::Client> counted, client());
    if (counted == nullptr) {
        write(ownerOf(mCaller), mOutput, text());
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const driver::CallGate::Permit permit,
                             counted->shares().calls->enter());
    write(ownerOf(mCaller), mOutput, text());
    return {};
}

}  // namespace halyard::hal
