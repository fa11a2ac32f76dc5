// SPDX-License-Identifier: Apache-2.0
//
// How fast the core is that this thread is on: one whose other half another program uses has a part
// of its decoder and of its units left.

#pragma once

namespace halyard::runner {

// Additions per nanosecond, over some milliseconds, of more of them side by side than any core has
// units for. Frequencies count as well.
double measureCorePace();

}  // namespace halyard::runner
