// SPDX-License-Identifier: Apache-2.0
//
// Candidates: the OpenCL devices that GpuAcc chooses from, and the libraries that list them.

#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/backends/gpu/device/device_facts.h"
#include "engine/backends/gpu/opencl/open_cl.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

struct Candidate {
    std::shared_ptr<const OpenCl> cl;
    std::string library;  // that lists it
    cl_device_id id = nullptr;
    cl_platform_id platform = nullptr;
    DeviceFacts facts;
    std::string refusal;  // why GpuAcc can't use it; empty: it can
};

bool isProcessor(const Candidate& candidate);

class Candidates {
  public:
    // Those of the first of the libraries that loads. UNAVAILABLE where none does, or it lists
    // nothing.
    Status addFirst(const std::vector<std::string>& libraries);
    // Those of a library, unless it is there already; what keeps it from listing any is noted.
    void add(const std::string& library);
    // A number in their order, or part of a name, of which the best is taken; empty: the best that
    // is no processor. Null: there is none.
    const Candidate* choose(const std::string& wanted) const;
    // Of all that were found, with why those are not taken that can't be.
    std::string listed() const;
    // The libraries that add() tried in vain, each with the reason.
    const std::string& tried() const { return mTried; }

  private:
    Status list(const std::shared_ptr<const OpenCl>& cl, const std::string& library);
    void note(const std::string& library, const std::string& reason);

    std::deque<Candidate> mAll;
    std::string mLoader;
    std::string mTried;
};

}  // namespace halyard::engine::gpu
