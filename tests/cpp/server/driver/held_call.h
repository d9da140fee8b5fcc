#pragma once

namespace remotecl::testing {

// Holds the next call of one of the driver's functions before the driver gets it, whichever thread calls: until this
// ends, or for ten seconds. Whoever should not wait for that call has then waited too long.
class HeldCall {
 public:
  explicit HeldCall(const char* function);
  ~HeldCall() { release(); }
  HeldCall(const HeldCall&) = delete;
  HeldCall& operator=(const HeldCall&) = delete;

  // Returns when a thread is in the call.
  void await();
  // Whether the thread is still there.
  bool is_inside() const;
  void release();
};

}  // namespace remotecl::testing
