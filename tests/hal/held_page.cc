// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/held_page.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

namespace halyard::attacker {

namespace {

constexpr size_t kPage = 4096;
constexpr int kPatienceMs = 30'000;

}  // namespace

Result<std::unique_ptr<HeldPage>> HeldPage::make() {
    // Not blocking, or it can't be polled.
    FileDescriptor faults(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
    uffdio_api api = {};
    api.api = UFFD_API;
    void* const page =
            mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uffdio_register range = {};
    range.range = {.start = reinterpret_cast<uintptr_t>(page), .len = kPage};
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (!faults.valid() || page == MAP_FAILED || ioctl(faults.get(), UFFDIO_API, &api) != 0 ||
        ioctl(faults.get(), UFFDIO_REGISTER, &range) != 0) {
        return Status(StatusCode::UNAVAILABLE, std::string("userfaultfd: ") + strerror(errno));
    }
    return std::unique_ptr<HeldPage>(new HeldPage(std::move(faults), page));
}

HeldPage::~HeldPage() {
    arrive();
}

void HeldPage::touchWith(const std::function<void(void* page, size_t size)>& call) {
    std::thread([call, page = mPage] { call(page, kPage); }).detach();
    pollfd touched = {.fd = mFaults.get(), .events = POLLIN, .revents = 0};
    poll(&touched, 1, kPatienceMs);
}

void HeldPage::arrive() {
    uffdio_zeropage zeros = {};
    zeros.range = {.start = reinterpret_cast<uintptr_t>(mPage), .len = kPage};
    ioctl(mFaults.get(), UFFDIO_ZEROPAGE, &zeros);
}

}  // namespace halyard::attacker
