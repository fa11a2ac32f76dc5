// SPDX-License-Identifier: Apache-2.0
//
// The compilation cache: a device keeps a prepared model in its client's files, and finds it there
// again, after a restart as well: one file that vouches (the model file) and one with all that it
// vouches for (the data file), as PreparedModel::save() writes it.
//
// The model file holds what the data file was and from where: the build of the driver, its
// settings, its backends with the processor's features and the GPU's driver; and that it is itself
// as it was written, and under which token. Any process that has
// the files may write to them at any time. So they are copied first, then checked, and the checked
// copy is used.
//
// The client itself may have made them. So the model file ends with an HMAC-SHA256 under a key that
// the device alone has (cache_key.h), over the token and all before it. Without a key it is plain
// SHA-256, which keeps out accidents and no client: then nothing is kept that would be executed or
// that says what a device can do, the blobs of backends (engine/plan/blobs.h), and what is found is
// believed no more than a model that the client describes, and checked as far.
//
// All control data is covered by SHA-256: sections' places, descriptions and blobs. So are the
// constants, nearly all of the data file, by 64-bit checksums of their parts alone: they are
// numbers that are computed with, the client's own from the first, and those that decide on sizes
// or addresses are looked at whenever a model is loaded. SHA-256 of them alone would take most of
// the time that a model takes that is prepared anew.

#pragma once

#include <cstdint>
#include <memory>

#include "driver/execute/prepared_model.h"
#include "driver/model/call_options.h"
#include "driver/prepare/sha256.h"
#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::driver {

struct DeviceState;

// None where this build can't be told from others.
NumberOfCacheFiles numberOfCacheFiles();

// The cache of a call that prepares a model, where a model can be kept there; null where it can't,
// or nothing is to be kept. `held`: its descriptors, for as long as they are.
std::shared_ptr<const CompilationCache> usableCache(
        const std::shared_ptr<const CompilationCache>& cache, const Client& client,
        Reservation& held);

// Keeps the model, replacing what the files hold. A failure is said in the log and is the
// preparation's no more: the files then hold nothing.
void keepModel(const DeviceState& state, const std::shared_ptr<const PreparedModel>& model,
               const std::shared_ptr<const CompilationCache>& cache, const Deadline& deadline);

// The content of a model file that is whole and this device's own.
struct KeptModel {
    uint64_t bytes = 0;      // in the data file
    uint64_t control = 0;    // of these, before the constants
    bool authentic = false;  // this device wrote it
    Priority priority = Priority::MEDIUM;
    Sha256::Digest data = {};
};

// INVALID_ARGUMENT where the cache has not as many files as the device wants. INTERNAL where they
// are not open for reading, do not answer, or hold no model, not one of that token or of this
// device's key, or a changed one: the vendor test suite wants GENERAL_FAILURE of what only reading
// tells. UNSUPPORTED where another build or a device of other settings kept it.
Result<KeptModel> findKeptModel(const DeviceState& state, const std::shared_ptr<Client>& client,
                                const std::shared_ptr<const CompilationCache>& cache,
                                const Deadline& deadline);

// The model itself, with the priority that it was prepared with. Fails as findKeptModel() where the
// data file is not what was kept, and as loadModel() does.
Result<std::shared_ptr<PreparedModel>> loadKeptModel(std::shared_ptr<DeviceState> state,
                                                     const KeptModel& kept,
                                                     const PrepareOptions& options);

}  // namespace halyard::driver
