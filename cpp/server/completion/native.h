#pragma once

#include <span>
#include <utility>
#include <vector>

#include "server/completion/cl.h"

namespace remotecl::server {

// The driver's reference count of a handle.
template <class Handle>
struct NativeReference;
template <>
struct NativeReference<cl_event> {
  static void retain(cl_event event) { clRetainEvent(event); }
  static void release(cl_event event) { clReleaseEvent(event); }
};
template <>
struct NativeReference<cl_program> {
  static void retain(cl_program program) { clRetainProgram(program); }
  static void release(cl_program program) { clReleaseProgram(program); }
};

// One reference to a driver's object, or none.
template <class Handle>
class Native {
 public:
  Native() = default;
  // Takes over the caller's reference.
  explicit Native(Handle handle) : handle_(handle) {}
  // Adds a reference.
  static Native retained(Handle handle) {
    if (handle != nullptr) NativeReference<Handle>::retain(handle);
    return Native(handle);
  }
  Native(Native&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Native& operator=(Native&& other) noexcept {
    std::swap(handle_, other.handle_);
    other.reset();
    return *this;
  }
  ~Native() { reset(); }

  Native copy() const { return retained(handle_); }
  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }
  // A wait list of this one handle.
  const Handle* list() const { return &handle_; }
  // The place where the driver writes a new handle.
  Handle* out() {
    reset();
    return &handle_;
  }
  // Passes the reference to the caller.
  Handle detach() { return std::exchange(handle_, nullptr); }
  void reset() {
    if (handle_ != nullptr) NativeReference<Handle>::release(std::exchange(handle_, nullptr));
  }

 private:
  Handle handle_ = nullptr;
};

// A wait list that owns a reference to each of its events.
class NativeEvents {
 public:
  NativeEvents() = default;
  explicit NativeEvents(std::span<const cl_event> events) : events_(events.begin(), events.end()) {
    for (const cl_event event : events_) clRetainEvent(event);
  }
  ~NativeEvents() { clear(); }
  NativeEvents(const NativeEvents&) = delete;
  NativeEvents& operator=(const NativeEvents&) = delete;

  std::span<const cl_event> get() const { return events_; }
  cl_uint count() const { return static_cast<cl_uint>(events_.size()); }
  const cl_event* list() const { return events_.empty() ? nullptr : events_.data(); }
  // Replaces all events by this one.
  void assign(Native<cl_event> event) {
    clear();
    events_.push_back(event.get());
    event.detach();
  }

 private:
  void clear() {
    for (const cl_event event : events_) clReleaseEvent(event);
    events_.clear();
  }

  std::vector<cl_event> events_;
};

}  // namespace remotecl::server
