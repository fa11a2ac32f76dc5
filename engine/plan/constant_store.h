// SPDX-License-Identifier: Apache-2.0
//
// The store of packed constants: one block of memory per program for all that its backends make of
// constants. While they compile, backends only ask for room; then the block is reserved, allocated
// and filled. Everything in it is found by offset, so that a block which was written to a file can
// be mapped back in its place, without being filled again.

#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

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

// All that a packed constant is made of: where its sources lie and every number that decides which
// byte of them goes where. fill() reads nothing else, so that recipes which compare equal make the
// same bytes; the comparison is the defaulted one, which no member can be left out of.
template <typename T>
concept PackingRecipe = std::three_way_comparable<T, std::strong_ordering> &&
        requires(const T& recipe, std::span<std::byte> to, const Checkpoint& checkpoint) {
    { recipe.bytes() } -> std::same_as<Result<size_t>>;
    { recipe.fill(to, checkpoint) } -> std::same_as<Status>;
};

// Collects while a program is compiled. One thread at a time.
class ConstantStore {
  public:
    // Writes a constant's bytes. Called once at most, before the program runs, while the graph's
    // constants still are what they were at compile(). The checkpoint is to be polled: a constant
    // may be as large as memory is (Checkpoint::check, copyInChunks).
    using Fill = std::function<Status(std::span<std::byte>, const Checkpoint&)>;

    // Room for `bytes` bytes at a multiple of kTensorAlignment. RESOURCE_EXHAUSTED if the store
    // could not be addressed.
    Result<PackedConstant> add(size_t bytes, Fill fill);

    // The same, but once for all recipes that are equal: for what several nodes make of the same
    // constants. Sources that only overlap, or are cut into other rows, are others.
    template <PackingRecipe Recipe>
    Result<PackedConstant> addOnce(Recipe recipe) {
        HALYARD_ASSIGN_OR_RETURN(const size_t bytes, recipe.bytes());
        std::map<Recipe, PackedConstant>& shared = sharedBy<Recipe>();
        if (const auto found = shared.find(recipe); found != shared.end()) {
            HALYARD_RETURN_IF_ERROR(checkSize(found->second, bytes));
            return found->second;
        }
        HALYARD_ASSIGN_OR_RETURN(
                const PackedConstant place,
                add(bytes, [recipe](std::span<std::byte> to, const Checkpoint& checkpoint) {
                    return recipe.fill(to, checkpoint);
                }));
        shared.emplace(std::move(recipe), place);
        return place;
    }

    size_t bytes() const { return mBytes; }
    // The block, reserved from `memory` (null: not limited) before it is allocated, and filled.
    // What a fill says, or RESOURCE_EXHAUSTED.
    Result<AlignedBuffer> fill(const std::shared_ptr<Budget>& memory, const Checkpoint& checkpoint);

  private:
    struct Entry {
        PackedConstant place;
        Fill fill;
    };
    // The recipes of one type, by the address of a variable that there is once for each.
    struct AnyShared {
        virtual ~AnyShared() = default;
    };
    template <typename Recipe>
    struct Shared final : AnyShared {
        std::map<Recipe, PackedConstant> places;
    };
    template <typename Recipe>
    static constexpr char kTypeOf = 0;

    template <typename Recipe>
    std::map<Recipe, PackedConstant>& sharedBy() {
        std::unique_ptr<AnyShared>& shared = mShared[&kTypeOf<Recipe>];
        if (shared == nullptr) {
            shared = std::make_unique<Shared<Recipe>>();
        }
        return static_cast<Shared<Recipe>&>(*shared).places;
    }
    // A place of another size would be read beyond its end.
    static Status checkSize(const PackedConstant& place, size_t bytes);

    std::vector<Entry> mEntries;
    std::map<const char*, std::unique_ptr<AnyShared>> mShared;
    size_t mBytes = 0;
};

}  // namespace halyard::engine
