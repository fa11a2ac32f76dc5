// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/sha256.h"

// OpenSSL 3 would rather have its providers asked, which find what these do at run time; BoringSSL
// has nothing against them.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace halyard::driver {

struct Sha256::State {
    SHA256_CTX context = {};
};

Sha256::Sha256() : mState(std::make_unique<State>()) {
    SHA256_Init(&mState->context);
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const uint8_t> bytes) {
    SHA256_Update(&mState->context, bytes.data(), bytes.size());
}

Sha256::Digest Sha256::finish() {
    Digest digest = {};
    SHA256_Final(digest.data(), &mState->context);
    return digest;
}

}  // namespace halyard::driver
