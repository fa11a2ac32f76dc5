// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/loopback.h"

#include <fcntl.h>
#include <linux/android/binder.h>
#include <unistd.h>

#include <cstring>

#include "hal/binder/address.h"
#include "hal/binder/incoming_call.h"

namespace halyard::hal::testing {

namespace {

template <typename T>
T load(const std::vector<uint8_t>& bytes, uint64_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return value;
}

size_t sizeOfObject(uint32_t type) {
    switch (type) {
        case BINDER_TYPE_PTR:
            return sizeof(binder_buffer_object);
        case BINDER_TYPE_FDA:
            return sizeof(binder_fd_array_object);
        case BINDER_TYPE_BINDER:
        case BINDER_TYPE_HANDLE:
        case BINDER_TYPE_FD:
            return sizeof(flat_binder_object);
        default:
            return 0;
    }
}

}  // namespace

SentParcel capture(const ParcelWriter& writer) {
    SentParcel sent;
    sent.data.assign(writer.data().begin(), writer.data().end());
    sent.offsets.assign(writer.offsets().begin(), writer.offsets().end());
    sent.buffersSize = writer.buffersSize();
    sent.objects.assign(writer.objects().begin(), writer.objects().end());
    for (uint64_t offset : sent.offsets) {
        auto& buffer = sent.buffers.emplace_back();
        if (load<uint32_t>(sent.data, offset) == BINDER_TYPE_PTR) {
            auto object = load<binder_buffer_object>(sent.data, offset);
            const auto* bytes = pointerTo<uint8_t>(object.buffer);
            buffer.emplace(bytes, bytes + object.length);
        }
    }
    return sent;
}

DeliveredParcel::~DeliveredParcel() {
    for (int fd : mOwnedFds) {
        close(fd);
    }
}

std::unique_ptr<ReceivedParcel> DeliveredParcel::receive(DeliveredParcel parcel,
                                                         ObjectResolver* resolver) {
    auto kept = std::make_shared<std::optional<DeliveredParcel>>(std::move(parcel));
    return std::make_unique<ReceivedParcel>((*kept)->mData, (*kept)->mOffsets, resolver,
                                            [kept] { kept->reset(); });
}

bool DeliveredParcel::holds(uint64_t address) const {
    for (const auto& buffer : mBuffers) {
        if (reinterpret_cast<uintptr_t>(buffer.get()) == address) {
            return true;
        }
    }
    return false;
}

// One run of the kernel's translation of a parcel's objects.
class Delivery {
  public:
    Delivery(const SentParcel& sent, Descriptors descriptors)
        : mSent(sent), mDescriptors(descriptors) {}

    Result<DeliveredParcel> run() {
        mTarget.mData = mSent.data;
        mTarget.mOffsets = mSent.offsets;
        mTarget.mBuffers.resize(mSent.offsets.size());
        mLengths.resize(mSent.offsets.size());
        mRoom = mSent.buffersSize;
        if (mSent.buffersSize % 8 != 0) {
            return invalidArgument("kernel: buffers_size is no multiple of 8");
        }
        uint64_t earliest = 0;
        for (size_t i = 0; i < mSent.offsets.size(); ++i) {
            uint64_t offset = mSent.offsets[i];
            uint32_t type = 0;
            if (offset % 4 != 0 || offset < earliest || offset > mSent.data.size() ||
                mSent.data.size() - offset < sizeof(flat_binder_object)) {
                return invalidArgument("kernel: bad object offset");
            }
            type = load<uint32_t>(mSent.data, offset);
            size_t size = sizeOfObject(type);
            if (size == 0 || mSent.data.size() - offset < size) {
                return invalidArgument("kernel: bad object");
            }
            earliest = offset + size;
            if (type == BINDER_TYPE_PTR) {
                HALYARD_RETURN_IF_ERROR(translateBuffer(i));
            } else if (type == BINDER_TYPE_FDA) {
                HALYARD_RETURN_IF_ERROR(translateDescriptors(i));
            } else if (type == BINDER_TYPE_FD) {
                HALYARD_RETURN_IF_ERROR(translateDescriptor(i));
            }
        }
        for (FileDescriptor& fd : mSingle) {
            static_cast<void>(fd.release());
        }
        return std::move(mTarget);
    }

  private:
    Status translateBuffer(size_t index) {
        auto object = load<binder_buffer_object>(mSent.data, mSent.offsets[index]);
        const auto& content = mSent.buffers[index];
        uint64_t room = (object.length + 7) / 8 * 8;
        if (!content.has_value() || content->size() != object.length || room > mRoom) {
            return invalidArgument("kernel: a buffer that can't be copied");
        }
        mRoom -= room;
        auto& copy = mTarget.mBuffers[index];
        copy.reset(new uint8_t[content->size()]);
        if (!content->empty()) {
            std::memcpy(copy.get(), content->data(), content->size());
        }
        mLengths[index] = content->size();
        object.buffer = reinterpret_cast<uintptr_t>(copy.get());
        if ((object.flags & BINDER_BUFFER_FLAG_HAS_PARENT) != 0) {
            HALYARD_RETURN_IF_ERROR(
                    checkFixUp(object.parent, object.parent_offset, sizeof(object.buffer), index));
            std::memcpy(mTarget.mBuffers[object.parent].get() + object.parent_offset,
                        &object.buffer, sizeof(object.buffer));
            mFixUps[object.parent] = object.parent_offset + sizeof(object.buffer);
        }
        mLastFixedUp = index;
        mParents[index] = object;
        std::memcpy(mTarget.mData.data() + mSent.offsets[index], &object, sizeof(object));
        return {};
    }

    Status translateDescriptors(size_t index) {
        auto object = load<binder_fd_array_object>(mSent.data, mSent.offsets[index]);
        if (object.num_fds > UINT32_MAX) {
            return invalidArgument("kernel: too many descriptors");
        }
        HALYARD_RETURN_IF_ERROR(checkFixUp(object.parent, object.parent_offset,
                                           object.num_fds * sizeof(uint32_t), index));
        uint8_t* fds = mTarget.mBuffers[object.parent].get() + object.parent_offset;
        if (reinterpret_cast<uintptr_t>(fds) % 4 != 0) {
            return invalidArgument("kernel: descriptors that are not aligned");
        }
        for (size_t i = 0; mDescriptors == Descriptors::DUPLICATE && i < object.num_fds; ++i) {
            int fd = 0;
            std::memcpy(&fd, fds + i * sizeof(fd), sizeof(fd));
            fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
            if (fd < 0) {
                return invalidArgument("kernel: a bad descriptor");
            }
            mTarget.mOwnedFds.push_back(fd);
            std::memcpy(fds + i * sizeof(fd), &fd, sizeof(fd));
        }
        mFixUps[object.parent] = object.parent_offset + object.num_fds * sizeof(uint32_t);
        mLastFixedUp = object.parent;
        return {};
    }

    Status translateDescriptor(size_t index) {
        if (mDescriptors == Descriptors::KEEP) {
            return {};
        }
        auto object = load<flat_binder_object>(mSent.data, mSent.offsets[index]);
        FileDescriptor fd(fcntl(static_cast<int>(object.handle), F_DUPFD_CLOEXEC, 0));
        if (!fd.valid()) {
            return invalidArgument("kernel: a bad descriptor");
        }
        object.handle = static_cast<uint32_t>(fd.get());
        mSingle.push_back(std::move(fd));
        std::memcpy(mTarget.mData.data() + mSent.offsets[index], &object, sizeof(object));
        return {};
    }

    // The parent is an earlier buffer, the last one or an ancestor of it, and within one parent
    // fix-ups go forward.
    Status checkFixUp(uint64_t parent, uint64_t offset, uint64_t size, size_t index) {
        if (parent >= index || mTarget.mBuffers[parent] == nullptr || offset > mLengths[parent] ||
            mLengths[parent] - offset < size) {
            return invalidArgument("kernel: bad parent");
        }
        uint64_t ancestor = mLastFixedUp;
        while (ancestor != parent) {
            auto found = mParents.find(ancestor);
            if (found == mParents.end() ||
                (found->second.flags & BINDER_BUFFER_FLAG_HAS_PARENT) == 0) {
                return invalidArgument("kernel: the parent is no ancestor of the last buffer");
            }
            ancestor = found->second.parent;
        }
        if (auto last = mFixUps.find(parent); last != mFixUps.end() && offset < last->second) {
            return invalidArgument("kernel: fix-ups go backwards");
        }
        return {};
    }

    const SentParcel& mSent;
    Descriptors mDescriptors;
    DeliveredParcel mTarget;
    std::vector<FileDescriptor> mSingle;  // until the parcel is delivered as a whole
    std::vector<uint64_t> mLengths;
    uint64_t mRoom = 0;
    uint64_t mLastFixedUp = 0;
    std::map<uint64_t, uint64_t> mFixUps;  // end of the last one, by parent
    std::map<uint64_t, binder_buffer_object> mParents;
};

Result<DeliveredParcel> deliver(const SentParcel& sent, Descriptors descriptors) {
    return Delivery(sent, descriptors).run();
}

// ---- LoopbackProcess ----------------------------------------------------------------------------

class LoopbackProcess::LoopbackRemote : public RemoteObject,
                                        public std::enable_shared_from_this<LoopbackRemote> {
  public:
    LoopbackRemote(uint32_t handle, std::shared_ptr<LocalObject> object)
        : mHandle(handle), mObject(std::move(object)) {}

    uint32_t handle() const override { return mHandle; }
    Result<uint64_t> linkToDeath(std::function<void()> onDeath) override {
        std::lock_guard lock(mMutex);
        if (mDead) {
            return Status(StatusCode::UNAVAILABLE, "dead");
        }
        mLinks[++mLastLink] = std::move(onDeath);
        return mLastLink;
    }
    void unlinkToDeath(uint64_t id) override {
        std::lock_guard lock(mMutex);
        mLinks.erase(id);
    }
    Result<std::unique_ptr<OwnerWatch>> watchOwner(std::function<void()> onDeath) override {
        HALYARD_ASSIGN_OR_RETURN(const uint64_t id, linkToDeath(std::move(onDeath)));
        return std::unique_ptr<OwnerWatch>(std::make_unique<Watch>(weak_from_this(), id));
    }

    // Null when it is dead.
    std::shared_ptr<LocalObject> object() {
        std::lock_guard lock(mMutex);
        return mDead ? nullptr : mObject;
    }
    uint64_t address() const { return reinterpret_cast<uintptr_t>(mObject.get()); }
    std::map<uint64_t, std::function<void()>> die() {
        std::lock_guard lock(mMutex);
        mDead = true;
        return std::exchange(mLinks, {});
    }

  private:
    class Watch final : public OwnerWatch {
      public:
        Watch(std::weak_ptr<LoopbackRemote> remote, uint64_t id)
            : mRemote(std::move(remote)), mId(id) {}
        ~Watch() override {
            if (const std::shared_ptr<LoopbackRemote> remote = mRemote.lock()) {
                remote->unlinkToDeath(mId);
            }
        }
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;

      private:
        const std::weak_ptr<LoopbackRemote> mRemote;
        const uint64_t mId;
    };

    uint32_t mHandle;
    const std::shared_ptr<LocalObject> mObject;
    std::mutex mMutex;
    bool mDead = false;
    uint64_t mLastLink = 0;
    std::map<uint64_t, std::function<void()>> mLinks;
};

std::shared_ptr<RemoteObject> LoopbackProcess::remote(const std::shared_ptr<LocalObject>& object) {
    std::lock_guard lock(mMutex);
    for (const auto& [handle, remote] : mRemotes) {
        if (remote->address() == reinterpret_cast<uintptr_t>(object.get())) {
            return remote;
        }
    }
    auto handle = static_cast<uint32_t>(mRemotes.size() + 1);
    return mRemotes.emplace(handle, std::make_shared<LoopbackRemote>(handle, object)).first->second;
}

void LoopbackProcess::kill(const std::shared_ptr<LocalObject>& object) {
    auto links = std::static_pointer_cast<LoopbackRemote>(remote(object))->die();
    for (auto& [id, onDeath] : links) {
        onDeath();
    }
}

Result<ObjectRef> LoopbackProcess::resolve(uint32_t type, uint64_t binderOrHandle,
                                           uint64_t cookie) {
    std::lock_guard lock(mMutex);
    for (const auto& [handle, remote] : mRemotes) {
        // The sender of a handle got it from the other side, where the object lives.
        std::shared_ptr<LocalObject> alive = remote->object();
        if (type == BINDER_TYPE_HANDLE && handle == binderOrHandle && alive != nullptr) {
            return ObjectRef(alive);
        }
        // The sender may be dead by the time its parcel is read.
        if (type == BINDER_TYPE_BINDER && remote->address() == cookie && binderOrHandle == cookie) {
            return ObjectRef(remote);
        }
    }
    return invalidArgument("no such object");
}

std::shared_ptr<LocalObject> LoopbackProcess::behind(const RemoteObject& remote) {
    std::lock_guard lock(mMutex);
    auto found = mRemotes.find(remote.handle());
    return found == mRemotes.end() ? nullptr : found->second->object();
}

void LoopbackProcess::stop() {
    std::lock_guard lock(mMutex);
    mRemotes.clear();
}

void LoopbackProcess::registerObjects(std::span<const ObjectRef> objects) {
    for (const ObjectRef& object : objects) {
        if (const auto* local = std::get_if<std::shared_ptr<LocalObject>>(&object)) {
            remote(*local);
        }
    }
}

Result<LoopbackProcess::Answer> LoopbackProcess::call(const std::shared_ptr<LocalObject>& target,
                                                      uint32_t code, bool oneway,
                                                      const SentParcel& sent) {
    HALYARD_ASSIGN_OR_RETURN(DeliveredParcel request, deliver(sent, Descriptors::DUPLICATE));
    registerObjects(sent.objects);
    const std::unique_ptr<ReceivedParcel> received =
            DeliveredParcel::receive(std::move(request), this);
    IncomingCall incoming(code, oneway, caller, *received);
    Answer answer;
    answer.status = received->check().ok() ? target->onTransact(incoming) : WireStatus::BAD_VALUE;
    if (answer.status == WireStatus::OK && !incoming.endArguments().ok()) {
        answer.status = WireStatus::BAD_VALUE;
    }
    received->release();
    if (!oneway && answer.status == WireStatus::OK) {
        registerObjects(incoming.reply().objects());
        HALYARD_ASSIGN_OR_RETURN(DeliveredParcel reply,
                                 deliver(capture(incoming.reply()), Descriptors::DUPLICATE));
        answer.reply = DeliveredParcel::receive(std::move(reply), this);
    }
    return answer;
}

Result<std::unique_ptr<Reply>> LoopbackProcess::transact(
        const std::shared_ptr<RemoteObject>& target, uint32_t code, const ParcelWriter& arguments) {
    std::shared_ptr<LocalObject> object = behind(*target);
    if (object == nullptr) {
        return Status(StatusCode::UNAVAILABLE, "the object is dead");
    }
    HALYARD_ASSIGN_OR_RETURN(Answer answer, call(object, code, false, capture(arguments)));
    if (answer.status == WireStatus::UNKNOWN_TRANSACTION) {
        return unsupported("unknown transaction " + std::to_string(code));
    }
    if (answer.status != WireStatus::OK) {
        return invalidArgument("the callee answered status " +
                               std::to_string(static_cast<int32_t>(answer.status)));
    }
    return std::move(answer.reply);
}

Status LoopbackProcess::transactOneway(const std::shared_ptr<RemoteObject>& target, uint32_t code,
                                       const ParcelWriter& arguments) {
    std::shared_ptr<LocalObject> object = behind(*target);
    if (object == nullptr) {
        return Status(StatusCode::UNAVAILABLE, "the object is dead");
    }
    return call(object, code, true, capture(arguments)).status();
}

Status LoopbackProcess::becomeContextManager(std::shared_ptr<LocalObject> /*object*/) {
    return unsupported("a loopback has no context manager");
}

Status LoopbackProcess::startThreads(size_t /*threads*/, size_t /*maxSpawned*/) {
    return {};
}

}  // namespace halyard::hal::testing
