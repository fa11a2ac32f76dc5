// SPDX-License-Identifier: Apache-2.0
//
// The items of a parcel that only HIDL has: interface tokens, native handles, the heads of requests
// and replies. Structs, strings and vecs are written and read by layout (codec.h).

#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/status.h"
#include "hal/binder/parcel.h"
#include "hal/hidl/layout.h"
#include "hal/memory/native_handle.h"

namespace halyard::hal::hidl {

// ---- Reading: all failures are INVALID_ARGUMENT unless said otherwise --------------------------

// The head of a request. It lies in the parcel.
Result<std::string_view> readInterfaceToken(ParcelReader& reader);
// The head of a reply. UNSUPPORTED-like failures never come this far; an exception code does, and
// is INTERNAL.
Status readReplyHead(ParcelReader& reader);

// Descriptors are the kernel's, which closes them with the parcel: dup what is kept.
Result<ReceivedHandle> readNativeHandle(ParcelReader& reader);
// One inside a struct: `address` is what stands there.
Result<ReceivedHandle> readChildNativeHandle(ParcelReader& reader, ParentSlot parent,
                                             uint64_t address);

// ---- Writing -----------------------------------------------------------------------------------

// The descriptor of the interface that declares the method.
void writeInterfaceToken(ParcelWriter& writer, std::string_view descriptor);
// The head of a request of a method; `code` is one of the interface's.
void writeRequestHead(ParcelWriter& writer, const InterfaceLayout& interface, uint32_t code);
// The head of a reply without exception.
void writeReplyHead(ParcelWriter& writer);

// A top-level handle, or (with parent) one inside a struct; null writes the null handle.
void writeNativeHandle(ParcelWriter& writer, const NativeHandle* handle);
void writeChildNativeHandle(ParcelWriter& writer, const NativeHandle* handle, ParentSlot parent);

}  // namespace halyard::hal::hidl
