// SPDX-License-Identifier: Apache-2.0
//
// One stream between a client and a service, with the protocol's flow control: each side may have
// one unacknowledged WRITE, and a busy service is sent no more than that one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "harness/device/adbd/byte_queue.h"
#include "harness/device/adbd/packet.h"

namespace halyard::adbd {

// A stream's service: a shell, file transfer, ... Its destructor ends whatever it started.
class Service {
  public:
    virtual ~Service() = default;
    // Takes bytes from the client and returns how many. What it leaves is offered again, with more
    // behind it, when more comes or once it has called Stream::takeInput().
    virtual size_t onInput(std::span<const uint8_t> bytes) = 0;
    // False while it is busy: what the client sends then is not acknowledged, so that no more
    // comes.
    virtual bool wantsMore() const = 0;
    // The stream has room for output: called when it opens and whenever room appears, perhaps
    // although there was some before.
    virtual void onRoom() = 0;
};

// The connection, as a stream sees it.
class PacketSink {
  public:
    virtual ~PacketSink() = default;
    // False while too much waits for the client: a stream then keeps its bytes until onSinkRoom().
    virtual bool hasRoom() = 0;
    virtual void send(Command command, uint32_t localId, uint32_t remoteId,
                      std::span<const uint8_t> payload) = 0;
    // The stream is finished and everything was delivered: close it, once its callback is over.
    virtual void streamEnded(uint32_t localId) = 0;
};

class Stream {
  public:
    // `sink` and `account` outlive the stream.
    Stream(PacketSink& sink, QueueAccount& account, uint32_t localId, uint32_t remoteId,
           size_t largestPayload);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    uint32_t localId() const { return mLocalId; }
    uint32_t remoteId() const { return mRemoteId; }

    // ---- for the service -----------------------------------------------------------------------

    // Bytes the service should offer at most; onRoom() says when it grows again. Output beyond it
    // is taken all the same, so that a message need not be cut.
    size_t room() const;
    void write(std::span<const uint8_t> bytes);
    // No more output: the stream closes when all of it was delivered. Further input is dropped.
    void finish();
    // Offers the service what it left of the input.
    void takeInput();

    // ---- for the connection --------------------------------------------------------------------

    void start(std::unique_ptr<Service> service);
    // False if the client sends far ahead of the acknowledgements.
    bool onWrite(std::span<const uint8_t> payload);
    // An acknowledgement that nothing waits for is ignored.
    void onOkay();
    void onSinkRoom();

  private:
    void acknowledge();
    void pump();
    void offerRoom();

    PacketSink& mSink;
    const uint32_t mLocalId;
    const uint32_t mRemoteId;
    const size_t mLargestPayload;
    ByteQueue mInput;
    ByteQueue mOutput;
    bool mOwesOkay = false;    // the client's last WRITE is not acknowledged yet
    bool mAwaitsOkay = false;  // ours is not
    bool mOfferingInput = false;
    bool mFinished = false;
    bool mEnded = false;
    std::unique_ptr<Service> mService;
};

}  // namespace halyard::adbd
