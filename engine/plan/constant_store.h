// SPDX-License-Identifier: Apache-2.0
//
// The store of packed constants: one block of memory per program for all that its backends make of
// constants. While they compile, backends only ask for room; then the block is reserved, allocated
// and filled. Everything in it is found by offset, and under the key of its recipe, so that a block
// which was written to a file can be mapped back in its place, without being filled again.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/plan/packing_recipe.h"

namespace halyard::engine {

// Where a packed constant lies in the store.
struct PackedConstant {
    size_t offset = 0;
    size_t bytes = 0;

    // `store` as RunArguments::constants has it.
    std::span<const std::byte> in(std::span<const std::byte> store) const {
        return store.subspan(offset, bytes);
    }
};

// Constants packed into a store, by the keys of recipes, and answers about constants, by those of
// questions.
struct PackedContents {
    std::map<std::string, PackedConstant> places;
    std::map<std::string, bool> answers;
};

// Gives each constant of a program its identity: the same for the same bytes at the same place,
// another for any others, those that overlap them included. All of them are alive meanwhile.
class ConstantNumbers {
  public:
    void number(Graph& graph);

  private:
    std::map<std::pair<const uint8_t*, size_t>, ConstantId> mIds;
};

// Collects while a program is compiled, or finds what a saved one has. One thread at a time.
class ConstantStore {
  public:
    ConstantStore() = default;
    // Of a saved program, which outlives the store: whose constants are found, and never filled.
    // Every place lies in the block, at a multiple of kTensorAlignment.
    explicit ConstantStore(const PackedContents* saved) : mSaved(saved) {}

    // Room at a multiple of kTensorAlignment for what the recipe makes, once for all recipes that
    // are equal. The recipe's sources keep their elements until the store is filled.
    // RESOURCE_EXHAUSTED if the store could not be addressed; UNSUPPORTED where a saved program
    // has packed nothing by such a recipe.
    template <PackingRecipe Recipe>
    Result<PackedConstant> add(Recipe recipe) {
        HALYARD_ASSIGN_OR_RETURN(const size_t bytes, recipe.bytes());
        HALYARD_ASSIGN_OR_RETURN(std::string key, keyOf(recipe));
        return place(std::move(key), bytes,
                     [recipe = std::move(recipe)](std::span<std::byte> to,
                                                  const Checkpoint& checkpoint) {
                         return recipe.fill(to, checkpoint);
                     });
    }

    // The answer, from the constants' elements or as it was when a saved program was compiled.
    template <ConstantQuestion Question>
    Result<bool> holds(const Question& question) {
        HALYARD_ASSIGN_OR_RETURN(std::string key, keyOf(question));
        if (mSaved != nullptr) {
            return savedAnswer(key);
        }
        const bool answer = question.holds();
        mContents.answers.insert_or_assign(std::move(key), answer);
        return answer;
    }

    size_t bytes() const { return mBytes; }
    // The block, reserved from `memory` (null: not limited) before it is allocated, and filled: of
    // what was collected. What a fill says, or RESOURCE_EXHAUSTED.
    Result<AlignedBuffer> fill(const std::shared_ptr<Budget>& memory, const Checkpoint& checkpoint);
    // The contents that were collected, once the store is filled.
    PackedContents takeContents() { return std::move(mContents); }

  private:
    // Writes a constant's bytes. Called once at most, before the program runs, while the graph's
    // constants still are what they were at compile(). The checkpoint is to be polled: a constant
    // may be as large as memory is (Checkpoint::check, copyInChunks).
    using Fill = std::function<Status(std::span<std::byte>, const Checkpoint&)>;
    struct Entry {
        PackedConstant place;
        Fill fill;
    };

    Result<PackedConstant> place(std::string key, size_t bytes, Fill fill);
    Result<bool> savedAnswer(const std::string& key) const;

    const PackedContents* mSaved = nullptr;  // null: collects
    PackedContents mContents;
    std::vector<Entry> mEntries;
    size_t mBytes = 0;
};

}  // namespace halyard::engine
