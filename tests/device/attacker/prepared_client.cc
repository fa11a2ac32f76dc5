// SPDX-License-Identifier: Apache-2.0

#include "tests/device/attacker/prepared_client.h"

namespace halyard::attacker {

Result<PreparedClient> PreparedClient::connect(const Settings& settings, ModelBuilder& model,
                                               uint32_t bytes, Priority priority) {
    PreparedClient made;
    HALYARD_ASSIGN_OR_RETURN(made.client, Client::connect(settings.instance));
    HALYARD_ASSIGN_OR_RETURN(made.model, made.client->prepare(model.finish(), kPatience, priority));
    // The output begins at a multiple of 64.
    HALYARD_ASSIGN_OR_RETURN(made.pool, Pool::make(uint64_t{2} * bytes + 64));
    made.builder = std::make_unique<RequestBuilder>(made.pool, bytes, bytes);
    return made;
}

Result<PreparedClient> PreparedClient::connectEndless(const Settings& settings, Priority priority) {
    ModelBuilder model;
    endlessModel(model);
    return connect(settings, model, sizeof(float), priority);
}

Result<ErrorStatus> PreparedClient::launch(const Times& times) const {
    return client->launch(model, request(), std::make_shared<Notified>(), times);
}

}  // namespace halyard::attacker
