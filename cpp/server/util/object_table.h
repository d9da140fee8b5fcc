#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/base/ref_counted.h"
#include "runtime/base/thread_annotations.h"

namespace remotecl::server {

// Objects by the ids that the client chose. Ids are never 0, so 0 marks a free slot. The table uses open
// addressing because every command looks up several objects. Not synchronised.
template <class T>
class ObjectTable {
 public:
  T* find(std::uint64_t id) const {
    if (count_ == 0) return nullptr;
    for (std::size_t at = home(id);; at = next(at)) {
      if (slots_[at].id == id) return slots_[at].object.get();
      if (slots_[at].id == 0) return nullptr;
    }
  }

  // Returns false if the id is 0 or in use.
  bool insert(std::uint64_t id, Ref<T> object) {
    if (id == 0 || find(id) != nullptr) return false;
    if ((count_ + 1) * 2 > capacity_) rehash(capacity_ == 0 ? 16 : capacity_ * 2);
    put(id, std::move(object));
    ++count_;
    return true;
  }

  // Removes the object and returns it, or null if there is none.
  Ref<T> take(std::uint64_t id) {
    if (id == 0 || count_ == 0) return nullptr;
    std::size_t at = home(id);
    while (slots_[at].id != id) {
      if (slots_[at].id == 0) return nullptr;
      at = next(at);
    }
    Ref<T> object = std::move(slots_[at].object);
    close_gap(at);
    --count_;
    return object;
  }

  std::size_t size() const { return count_; }

  // `f` may need the lock.
  template <class F>
  void for_each(F&& f) const NO_THREAD_SAFETY_ANALYSIS {
    for (std::size_t at = 0; at < capacity_; ++at) {
      if (slots_[at].id != 0) f(*slots_[at].object);
    }
  }

  void clear() {
    slots_.reset();
    capacity_ = count_ = 0;
  }

 private:
  struct Slot {
    std::uint64_t id = 0;
    Ref<T> object;
  };

  std::size_t home(std::uint64_t id) const {
    return static_cast<std::size_t>((id * 0x9E3779B97F4A7C15u) >> 20) & (capacity_ - 1);
  }
  std::size_t next(std::size_t at) const { return (at + 1) & (capacity_ - 1); }

  void put(std::uint64_t id, Ref<T> object) {
    std::size_t at = home(id);
    while (slots_[at].id != 0) at = next(at);
    slots_[at].id = id;
    slots_[at].object = std::move(object);
  }

  // Moves later entries of the probe sequence back so that no search stops at the freed slot.
  void close_gap(std::size_t gap) {
    slots_[gap].id = 0;
    for (std::size_t at = next(gap); slots_[at].id != 0; at = next(at)) {
      const std::size_t distance = (at - home(slots_[at].id)) & (capacity_ - 1);
      if (distance < ((at - gap) & (capacity_ - 1))) continue;
      slots_[gap].id = std::exchange(slots_[at].id, 0);
      slots_[gap].object = std::move(slots_[at].object);
      gap = at;
    }
  }

  void rehash(std::size_t capacity) {
    auto old = std::exchange(slots_, std::make_unique<Slot[]>(capacity));
    const std::size_t old_capacity = std::exchange(capacity_, capacity);
    for (std::size_t at = 0; at < old_capacity; ++at) {
      if (old[at].id != 0) put(old[at].id, std::move(old[at].object));
    }
  }

  std::unique_ptr<Slot[]> slots_;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
};

}  // namespace remotecl::server
