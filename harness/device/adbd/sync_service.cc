// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/sync_service.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "harness/device/adbd/incoming_file.h"

namespace halyard::adbd {

namespace {

constexpr uint32_t id(const char (&name)[5]) {
    return static_cast<uint32_t>(static_cast<uint8_t>(name[0])) |
           static_cast<uint32_t>(static_cast<uint8_t>(name[1])) << 8 |
           static_cast<uint32_t>(static_cast<uint8_t>(name[2])) << 16 |
           static_cast<uint32_t>(static_cast<uint8_t>(name[3])) << 24;
}

constexpr uint32_t kStat = id("STAT");
constexpr uint32_t kStat2 = id("STA2");
constexpr uint32_t kLstat2 = id("LST2");
constexpr uint32_t kList = id("LIST");
constexpr uint32_t kList2 = id("LIS2");
constexpr uint32_t kEntry = id("DENT");
constexpr uint32_t kEntry2 = id("DNT2");
constexpr uint32_t kSend = id("SEND");
constexpr uint32_t kReceive = id("RECV");
constexpr uint32_t kData = id("DATA");
constexpr uint32_t kDone = id("DONE");
constexpr uint32_t kOkay = id("OKAY");
constexpr uint32_t kFail = id("FAIL");
constexpr uint32_t kQuit = id("QUIT");

constexpr size_t kRequestHead = 8;
constexpr uint32_t kLongestPath = 1024;
constexpr uint32_t kLargestData = 64 * 1024;
// Answers that are given whole, the reason of a failure included, are no longer.
constexpr size_t kShortAnswer = 1024;

struct DirectoryCloser {
    void operator()(DIR* directory) const { closedir(directory); }
};
using Directory = std::unique_ptr<DIR, DirectoryCloser>;

// A message being put together.
class Message {
  public:
    Message& word(uint32_t value) { return append(&value, sizeof(value)); }
    Message& word64(uint64_t value) { return append(&value, sizeof(value)); }
    Message& text(std::string_view text) { return append(text.data(), text.size()); }
    std::span<const uint8_t> bytes() const { return mBytes; }

  private:
    Message& append(const void* bytes, size_t size) {
        const auto* first = static_cast<const uint8_t*>(bytes);
        mBytes.insert(mBytes.end(), first, first + size);
        return *this;
    }

    std::vector<uint8_t> mBytes;
};

// The fields that STA2, LST2 and DNT2 share. `status` may be null where `error` says why.
void appendStat(Message& message, uint32_t error, const struct stat* status) {
    static constexpr struct stat kNothing = {};
    const struct stat& s = status != nullptr ? *status : kNothing;
    message.word(error)
            .word64(s.st_dev)
            .word64(s.st_ino)
            .word(s.st_mode)
            .word(static_cast<uint32_t>(s.st_nlink))
            .word(s.st_uid)
            .word(s.st_gid)
            .word64(static_cast<uint64_t>(s.st_size))
            .word64(static_cast<uint64_t>(s.st_atime))
            .word64(static_cast<uint64_t>(s.st_mtime))
            .word64(static_cast<uint64_t>(s.st_ctime));
}

class SyncService : public Service {
  public:
    SyncService(const std::string& root, Stream& stream) : mRoot(root), mStream(stream) {}

    size_t onInput(std::span<const uint8_t> bytes) override {
        size_t taken = 0;
        // Requests wait for the answer to the one before, and for room for their own.
        while (ready() && !mEnded) {
            const size_t used = takeNext(bytes.subspan(taken));
            if (used == 0) {
                break;
            }
            taken += used;
        }
        return mEnded ? bytes.size() : taken;
    }

    bool wantsMore() const override { return ready(); }

    void onRoom() override {
        while (answering() && mStream.room() > kLargestData) {
            answerMore();
        }
        if (ready()) {
            mStream.takeInput();
        }
    }

  private:
    // SENDING: file data comes in. DISCARDING: the same, after a failure that the client was told.
    enum class Phase : uint8_t { REQUEST, SENDING, DISCARDING };

    bool answering() const { return mFile.valid() || mDirectory != nullptr; }
    bool ready() const { return !answering() && mStream.room() >= kShortAnswer; }

    // Handles one request or chunk of data at the head of `bytes`; how much that was, 0:
    // incomplete.
    size_t takeNext(std::span<const uint8_t> bytes) {
        if (mDataLeft > 0) {
            const size_t size = std::min<size_t>(bytes.size(), mDataLeft);
            mDataLeft -= static_cast<uint32_t>(size);
            if (mPhase == Phase::SENDING) {
                failIfError(mIncoming.append(bytes.first(size)));
            }
            return size;
        }
        if (bytes.size() < kRequestHead) {
            return 0;
        }
        uint32_t request = 0;
        uint32_t length = 0;
        memcpy(&request, bytes.data(), sizeof(request));
        memcpy(&length, bytes.data() + 4, sizeof(length));
        if (mPhase != Phase::REQUEST) {
            takeTransferHead(request, length);
            return kRequestHead;
        }
        if (request == kQuit) {
            end();
            return kRequestHead;
        }
        if (length > kLongestPath) {
            fail("path too long");
            end();
            return kRequestHead;
        }
        if (bytes.size() - kRequestHead < length) {
            return 0;
        }
        std::string_view path(reinterpret_cast<const char*>(bytes.data()) + kRequestHead, length);
        // A NUL would end the path for the system but not for us.
        path = path.substr(0, path.find('\0'));
        handleRequest(request, path);
        return kRequestHead + length;
    }

    void handleRequest(uint32_t request, std::string_view path) {
        switch (request) {
            case kStat:
                return stat1(resolvePath(mRoot, path));
            case kStat2:
            case kLstat2:
                return stat2(request, resolvePath(mRoot, path));
            case kList:
            case kList2:
                return list(request == kList2, resolvePath(mRoot, path));
            case kSend:
                return send(path);
            case kReceive:
                return receive(resolvePath(mRoot, path));
            default:
                fail("unknown command");
                end();
        }
    }

    void takeTransferHead(uint32_t request, uint32_t length) {
        if (request == kData && length <= kLargestData) {
            mDataLeft = length;
        } else if (request == kDone) {
            // Here the length is the time of modification.
            if (mPhase == Phase::SENDING) {
                failIfError(mIncoming.finish(length));
            }
            if (mPhase == Phase::SENDING) {
                write(Message().word(kOkay).word(0));
            }
            mPhase = Phase::REQUEST;
        } else {
            mIncoming.discard();
            fail(request == kData ? "oversize data message" : "invalid data message");
            end();
        }
    }

    void stat1(const std::string& path) {
        struct stat status = {};
        if (lstat(path.c_str(), &status) != 0) {
            status = {};
        }
        write(Message()
                      .word(kStat)
                      .word(status.st_mode)
                      .word(static_cast<uint32_t>(status.st_size))
                      .word(static_cast<uint32_t>(status.st_mtime)));
    }

    void stat2(uint32_t request, const std::string& path) {
        struct stat status = {};
        const int result =
                request == kStat2 ? stat(path.c_str(), &status) : lstat(path.c_str(), &status);
        // Error numbers on the wire are Linux's.
        const auto error = static_cast<uint32_t>(result == 0 ? 0 : errno);
        Message message;
        message.word(request);
        appendStat(message, error, result == 0 ? &status : nullptr);
        write(message);
    }

    void list(bool version2, const std::string& path) {
        mListVersion2 = version2;
        mDirectory.reset(opendir(path.c_str()));
        if (mDirectory == nullptr) {
            endList();
        } else {
            onRoom();
        }
    }

    void endList() {
        // An entry without content.
        Message message;
        message.word(kDone);
        if (mListVersion2) {
            appendStat(message, 0, nullptr);
        } else {
            message.word(0).word(0).word(0);
        }
        write(message.word(0));
        mDirectory.reset();
    }

    void send(std::string_view request) {
        const size_t comma = request.rfind(',');
        uint32_t mode = 0;
        if (comma == std::string_view::npos ||
            std::from_chars(request.data() + comma + 1, request.data() + request.size(), mode)
                            .ptr != request.data() + request.size()) {
            fail("missing , in ID_SEND");
            end();
            return;
        }
        mPhase = Phase::SENDING;
        failIfError(mIncoming.begin(resolvePath(mRoot, request.substr(0, comma)), mode));
    }

    void receive(const std::string& path) {
        // Non-blocking for the sake of named pipes, which would stop the daemon.
        mFile.reset(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (!mFile.valid()) {
            fail(std::string("open failed: ") + strerror(errno));
        } else {
            onRoom();
        }
    }

    void answerMore() {
        if (mFile.valid()) {
            sendFilePart();
        } else {
            sendEntry();
        }
    }

    void sendFilePart() {
        std::array<uint8_t, kLargestData> buffer;
        const ssize_t size = read(mFile.get(), buffer.data(), buffer.size());
        if (size > 0) {
            write(Message().word(kData).word(static_cast<uint32_t>(size)));
            mStream.write(std::span(buffer).first(static_cast<size_t>(size)));
        } else if (size == 0) {
            mFile.reset();
            write(Message().word(kDone).word(0));
        } else if (errno != EINTR) {
            fail(std::string("read failed: ") + strerror(errno));
            mFile.reset();
        }
    }

    void sendEntry() {
        const dirent* entry = readdir(mDirectory.get());
        if (entry == nullptr) {
            endList();
            return;
        }
        const std::string_view name = entry->d_name;
        struct stat status = {};
        const int result =
                fstatat(dirfd(mDirectory.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW);
        const int error = result == 0 ? 0 : errno;
        Message message;
        if (mListVersion2) {
            message.word(kEntry2);
            appendStat(message, static_cast<uint32_t>(error), result == 0 ? &status : nullptr);
        } else if (result != 0) {
            return;  // the first version has no way to say it
        } else {
            message.word(kEntry)
                    .word(status.st_mode)
                    .word(static_cast<uint32_t>(status.st_size))
                    .word(static_cast<uint32_t>(status.st_mtime));
        }
        write(message.word(static_cast<uint32_t>(name.size())).text(name));
    }

    void write(const Message& message) { mStream.write(message.bytes()); }

    void fail(std::string_view text) {
        write(Message().word(kFail).word(static_cast<uint32_t>(text.size())).text(text));
    }

    // Clients send a file to its end before they look for an answer.
    void failIfError(const Status& status) {
        if (!status.ok()) {
            mIncoming.discard();
            fail(status.message());
            mPhase = Phase::DISCARDING;
        }
    }

    void end() {
        mEnded = true;
        mStream.finish();
    }

    const std::string mRoot;
    Stream& mStream;
    Phase mPhase = Phase::REQUEST;
    bool mEnded = false;
    uint32_t mDataLeft = 0;
    IncomingFile mIncoming;
    FileDescriptor mFile;
    Directory mDirectory;
    bool mListVersion2 = false;
};

}  // namespace

std::unique_ptr<Service> openSync(const std::string& root, Stream& stream) {
    return std::make_unique<SyncService>(root, stream);
}

std::string resolvePath(std::string_view root, std::string_view path) {
    if (root.empty()) {
        return std::string(path);
    }
    std::vector<std::string_view> parts;
    const bool isFolder = path.ends_with('/');
    while (!path.empty()) {
        const std::string_view part = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(path.size(), part.size() + 1));
        if (part == "..") {
            if (!parts.empty()) {
                parts.pop_back();
            }
        } else if (!part.empty() && part != ".") {
            parts.push_back(part);
        }
    }
    std::string resolved(root);
    for (const std::string_view part : parts) {
        resolved.append("/").append(part);
    }
    if (isFolder) {
        resolved.push_back('/');
    }
    return resolved;
}

}  // namespace halyard::adbd
