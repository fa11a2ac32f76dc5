// SPDX-License-Identifier: Apache-2.0
//
// Why operations are refused, as data: for each one that is to blame the rule that it breaks and a
// sentence. What finds a failure names the rule in the status (breaking); what looks at a whole
// model collects the failures of all its operations.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "driver/model/model.h"
#include "engine/base/status.h"

namespace halyard::driver {

// The failure, of that rule unless it names one already; RESOURCE_EXHAUSTED is of MEMORY. OK stays
// OK.
Status breaking(Rule rule, const Status& failure);
// UNSPECIFIED where none is named.
Rule ruleOf(const Status& failure);

struct Verdict {
    uint32_t operation = 0;  // of the main subgraph
    std::string name;        // "CONV_2D"
    Rule rule = Rule::UNSPECIFIED;
    std::string reason;  // without the operation's label before it; valid UTF-8 where names are
};

// Of one model, which outlives it. Bounded, whatever clients send: kMostVerdicts of at most
// kLongestReason bytes. For one thread.
class Verdicts {
  public:
    static constexpr size_t kMostVerdicts = 1024;
    static constexpr size_t kLongestReason = 1024;

    explicit Verdicts(const Model& model) : mModel(model) {}

    // Of an operation the first failure counts. Not called with OK.
    void add(size_t operation, const Status& failure);
    // For every operation that reads or writes one of these operands.
    void addToUsers(const std::map<uint32_t, Status>& failures);
    // For every operation that refers to a subgraph that failed, directly or through others.
    // `failures`: one for each referenced subgraph, OK where it is valid. The references need not
    // be.
    void addToReferrers(const std::vector<Status>& failures);

    // Whether anything was added for the operation, kept or left out.
    bool has(size_t operation) const;
    bool empty() const { return mVerdicts.empty(); }
    // By ascending operation.
    std::vector<Verdict> take();
    // So many more operations are refused.
    size_t leftOut() const { return mLeftOut; }

    // The failure's message, without the operation's label.
    std::string reasonOf(size_t operation, const Status& failure) const;

  private:
    const Model& mModel;
    std::vector<bool> mRefused;  // per operation, once one is
    std::vector<Verdict> mVerdicts;
    size_t mLeftOut = 0;
};

}  // namespace halyard::driver
