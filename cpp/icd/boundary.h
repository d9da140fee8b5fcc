#pragma once

#include <CL/cl.h>

#include <new>
#include <utility>

#include "runtime/client/objects/handle.h"
#include "runtime/client/support/fork_guard.h"

// The boundary between C and C++. No exception leaves an entry point, handles become objects, and a failed
// check becomes the error code that it names.
namespace remotecl::icd {

struct ApiError {
  cl_int code;
};

// Throws `code` unless the condition holds, so that a check reads like the specification's sentence.
inline void require(bool condition, cl_int code) {
  if (!condition) throw ApiError{code};
}

// Returns the object behind a handle, or throws its kind's error for an invalid handle.
template <class Object>
Object& object(typename Object::HandleType handle) {
  Object* result = from_handle<Object>(handle);
  require(result != nullptr, Object::kInvalidHandle);
  return *result;
}

// Runs the body of an entry point that returns an error code. The body returns a code or nothing.
template <class Body>
cl_int enter(Body&& body) noexcept {
  if (in_forked_child()) {
    say_forked();
    return CL_DEVICE_NOT_AVAILABLE;
  }
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return CL_SUCCESS;
    } else {
      return body();
    }
  } catch (const ApiError& error) {
    return error.code;
  } catch (const std::bad_alloc&) {
    return CL_OUT_OF_HOST_MEMORY;
  } catch (...) {
    return CL_OUT_OF_RESOURCES;
  }
}

// Runs the body of an entry point that returns a handle or pointer and sets errcode_ret.
template <class Body>
auto create(cl_int* errcode_ret, Body&& body) noexcept -> decltype(body()) {
  decltype(body()) result = nullptr;
  const cl_int code = enter([&] { result = body(); });
  if (errcode_ret != nullptr) *errcode_ret = code;
  return result;
}

template <class Object>
cl_int retain(typename Object::HandleType handle) noexcept {
  return enter([&] { object<Object>(handle).retain_handle(); });
}

template <class Object>
cl_int release(typename Object::HandleType handle) noexcept {
  if (in_forked_child()) return CL_SUCCESS;  // the objects are the parent's, and stay as they are
  return enter([&] { object<Object>(handle).release_handle(); });
}

}  // namespace remotecl::icd
