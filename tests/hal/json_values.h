// SPDX-License-Identifier: Apache-2.0
//
// HIDL values as JSON, by layout, in the form of golden_parcels.json: handle = [num_fds, [fds then
// ints]] or null; memory = [name, handle, size]; safe_union = [member, value]; queue =
// [[[flags, fd_index, offset, extent]...], handle, quantum]; interface = a name or null.

#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "hal/binder/parcel.h"
#include "hal/hidl/codec.h"
#include "tests/hal/json.h"

namespace halyard::hal::testing {

// Gives the object that a name in the JSON stands for.
using ObjectByName = std::function<ObjectRef(std::string_view name)>;

// Writes the values as the arguments or results that `layouts` lists. INVALID_ARGUMENT where the
// JSON does not fit.
Status writeJson(ParcelWriter& writer, std::span<const hidl::ArgumentLayout> layouts,
                 const Json& values, const ObjectByName& objectByName);

// Reads what `layouts` lists and compares it with the values. OK where all are equal; otherwise
// the failure to read, or INTERNAL with the path of the first difference.
Status compareWithJson(ParcelReader& reader, std::span<const hidl::ArgumentLayout> layouts,
                       const Json& values);

// Reads what `layouts` lists and looks at every byte of it; a digest of them.
Result<uint64_t> digest(ParcelReader& reader, std::span<const hidl::ArgumentLayout> layouts);

}  // namespace halyard::hal::testing
