#pragma once

#include <cstdint>
#include <utility>

#include "runtime/base/ref_counted.h"
#include "runtime/memory/location.h"

namespace remotecl {

// Whether something that was sent takes place: a command's write, or a transfer. Any thread.
class Doubt : public RefCounted {
 public:
  enum class Outcome {
    kOpen,        // not known yet
    kTakesPlace,  // or has to count as if it did
    kDoesNot,
  };

  explicit Doubt(Location at) : location(at) {}
  virtual Outcome outcome() const = 0;
  // Has the outcome become known, although nobody waits for it.
  virtual void ask() const {}

  const Location location;  // where it takes place
};

// What a range was before something that is in doubt. Belongs to the segments of a ResidencyDirectory, and is
// guarded like that.
class FormerContent final : public RefCounted {
 public:
  FormerContent(Ref<const Doubt> of, LocationSet had, Ref<FormerContent> before, std::uint64_t number)
      : doubt(std::move(of)), holders(std::move(had)), former(std::move(before)), writes(number) {}

  // Not needed any more where what came after it has taken place.
  void forget_earlier() {
    int looked_at = 0;
    for (FormerContent* at = this; at != nullptr && looked_at < kLooksMax; at = at->former.get(), ++looked_at) {
      if (at->doubt->outcome() != Doubt::Outcome::kTakesPlace) continue;
      at->former = nullptr;
      return;
    }
  }

  const Ref<const Doubt> doubt;
  const LocationSet holders;   // the locations that had the bytes
  Ref<FormerContent> former;   // of that content, which was in doubt itself; else null
  const std::uint64_t writes;  // number of the first write of the buffer after it

 private:
  static constexpr int kLooksMax = 64;

  // Many commands may be pending; their chain is not released by recursion.
  ~FormerContent() override {
    for (Ref<FormerContent> next = std::move(former); next && next->ref_count() == 1;) {
      next = Ref<FormerContent>(std::move(next->former));
    }
  }
};

}  // namespace remotecl
