// SPDX-License-Identifier: Apache-2.0
//
// Usage: hostile-client INSTANCE MODE [BUNDLE]
// Exit status: 0 the service lives on, 1 it could not be tried, 2 the service is gone.

#include <cstdio>

#include "engine/base/log.h"
#include "tests/device/hostile_client/hostile_client.h"

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "Usage: hostile-client INSTANCE MODE [BUNDLE]\n");
        return 1;
    }
    halyard::setLogThreshold(halyard::LogLevel::ERROR);
    const halyard::Status survived = halyard::hostile::runHostileClient(
            {.instance = argv[1], .mode = argv[2], .bundle = argc == 4 ? argv[3] : ""});
    if (survived.ok()) {
        return 0;
    }
    fprintf(stderr, "hostile-client: %s\n", survived.toString().c_str());
    return survived.code() == halyard::StatusCode::UNAVAILABLE ? 2 : 1;
}
