// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/silent_file.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/file_descriptor.h"

namespace halyard::attacker {

namespace {

Status failed(const std::string& what) {
    return {StatusCode::UNAVAILABLE, what + ": " + strerror(errno)};
}

bool writeFile(const char* path, const std::string& text) {
    const FileDescriptor file(open(path, O_WRONLY | O_CLOEXEC));
    return write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// A table of mounts of this process's own. Root has leave; anybody else gets it as root of a
// name space of users.
Status enterOwnMounts() {
    if (unshare(CLONE_NEWNS) == 0) {
        return {};
    }
    const uid_t uid = getuid();
    const gid_t gid = getgid();
    // A process that has changed users may not write to its own files of /proc until it is
    // dumpable.
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0 ||
        !writeFile("/proc/self/setgroups", "deny") ||
        !writeFile("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1") ||
        !writeFile("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1")) {
        return failed("name spaces");
    }
    return {};
}

union DescriptorMessage {
    cmsghdr header;
    std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

void sendDescriptor(int socket, int fd) {
    char byte = 0;
    iovec text = {.iov_base = &byte, .iov_len = 1};
    DescriptorMessage control = {};
    msghdr message = {};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof(control);
    control.header = {
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    sendmsg(socket, &message, 0);
}

// -1: none came, and `said` is why.
int receiveDescriptor(int socket, std::span<char> said) {
    iovec text = {.iov_base = said.data(), .iov_len = said.size() - 1};
    DescriptorMessage control = {};
    msghdr message = {};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof(control);
    int fd = -1;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) > 0 && CMSG_FIRSTHDR(&message) != nullptr) {
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    }
    return fd;
}

}  // namespace

// Lives in a process of its own: the device closes with it, and all who wait are told so. But not
// if the process has a file of its own file system open: at its end it would wait for itself.
struct SilentFile::Server {
    FileDescriptor device;
    std::atomic<bool> silent = false;
    uint64_t size = 0;
    bool tellsSize = false;

    void answer(uint64_t request, const void* payload, size_t length) const {
        fuse_out_header header = {};
        header.len = static_cast<uint32_t>(sizeof(header) + length);
        header.unique = request;
        std::vector<uint8_t> bytes(header.len);
        memcpy(bytes.data(), &header, sizeof(header));
        if (length > 0) {
            memcpy(bytes.data() + sizeof(header), payload, length);
        }
        static_cast<void>(write(device.get(), bytes.data(), bytes.size()));
    }

    void serve() const {
        std::vector<uint8_t> buffer(FUSE_MIN_READ_BUFFER * 17);
        for (;;) {
            const ssize_t got = read(device.get(), buffer.data(), buffer.size());
            if (got < 0 && (errno == EINTR || errno == ENOENT)) {
                continue;
            }
            if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) {
                return;
            }
            fuse_in_header request = {};
            memcpy(&request, buffer.data(), sizeof(request));
            if (request.opcode == FUSE_INIT) {
                fuse_init_out out = {};
                out.major = FUSE_KERNEL_VERSION;
                out.minor = FUSE_KERNEL_MINOR_VERSION;
                out.max_write = 4096;
                answer(request.unique, &out, sizeof(out));
            } else if (request.opcode == FUSE_OPEN) {
                fuse_open_out out = {};
                answer(request.unique, &out, sizeof(out));
            } else if (request.opcode == FUSE_FLUSH && !silent) {
                answer(request.unique, nullptr, 0);
            } else if (request.opcode == FUSE_GETATTR && tellsSize) {
                fuse_attr_out out = {};
                out.attr_valid = 1 << 20;
                out.attr.ino = FUSE_ROOT_ID;
                out.attr.size = size;
                out.attr.mode = S_IFREG | 0666;
                out.attr.nlink = 1;
                answer(request.unique, &out, sizeof(out));
            }
        }
    }

    // Returns where it could not.
    Status serveAfterSending(int socket) {
        HALYARD_RETURN_IF_ERROR(enterOwnMounts());
        device.reset(open("/dev/fuse", O_RDWR | O_CLOEXEC));
        if (!device.valid()) {
            return failed("/dev/fuse");
        }
        std::array<char, 64> path = {};
        FileDescriptor place;
        for (const char* folder : {"/data/local/tmp", "/tmp"}) {
            snprintf(path.data(), path.size(), "%s/silent-XXXXXX", folder);
            place.reset(mkstemp(path.data()));
            if (place.valid()) {
                break;
            }
        }
        if (!place.valid()) {
            return failed("a file to mount over");
        }
        // The root of the file system is the file.
        const std::string options = "fd=" + std::to_string(device.get()) +
                                    ",rootmode=100000,user_id=0,group_id=0,allow_other";
        const bool mounted =
                mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                mount("silent", path.data(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
        const Status why = mounted ? Status() : failed("mounting");
        std::thread serving([this, mounted] {
            if (mounted) {
                serve();
            }
        });
        if (mounted) {
            FileDescriptor file(open(path.data(), O_RDWR | O_CLOEXEC));
            umount2(path.data(), MNT_DETACH);
            if (file.valid()) {
                sendDescriptor(socket, file.get());
            }
            file.reset();
            silent = true;
            // Now it may be used.
            static_cast<void>(send(socket, "", 1, MSG_NOSIGNAL));
        }
        unlink(path.data());
        serving.join();
        return why;
    }
};

Result<std::unique_ptr<SilentFile>> SilentFile::make(uint64_t size, bool tellsSize) {
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return failed("socketpair");
    }
    const FileDescriptor ours(ends[0]);
    FileDescriptor theirs(ends[1]);
    const pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        Server file;
        file.size = size;
        file.tellsSize = tellsSize;
        const Status served = file.serveAfterSending(theirs.get());
        static_cast<void>(write(theirs.get(), served.message().data(), served.message().size()));
        _exit(1);
    }
    theirs.reset();
    std::unique_ptr<SilentFile> file(new SilentFile(server));
    std::array<char, 256> said = {};
    file->mFile = receiveDescriptor(ours.get(), said);
    char silent = 0;
    if (file->mFile < 0 || recv(ours.get(), &silent, 1, 0) != 1) {
        return Status(StatusCode::UNAVAILABLE, said.data());
    }
    return file;
}

SilentFile::~SilentFile() {
    endWaiting();
    if (mFile >= 0) {
        close(mFile);
    }
}

void SilentFile::endWaiting() {
    if (mServer > 0) {
        kill(mServer, SIGKILL);
        waitpid(mServer, nullptr, 0);
        mServer = -1;
    }
}

}  // namespace halyard::attacker
