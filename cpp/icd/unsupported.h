#pragma once

#include <CL/cl.h>

#include <type_traits>

namespace remotecl::icd {

// An entry point for what none of our devices supports: answers `kCode`, through the result or errcode_ret.
template <class Function, cl_int kCode = CL_INVALID_OPERATION>
struct Unsupported;

template <class Result, class... Arguments, cl_int kCode>
struct Unsupported<Result(CL_API_CALL*)(Arguments...), kCode> {
  static Result CL_API_CALL call(Arguments... arguments) {
    if constexpr (std::is_same_v<Result, cl_int>) {
      return kCode;
    } else {
      (fill_error(arguments), ...);
      if constexpr (!std::is_void_v<Result>) return Result{};
    }
  }

 private:
  static void fill_error(cl_int* errcode_ret) {
    if (errcode_ret != nullptr) *errcode_ret = kCode;
  }
  template <class Other>
  static void fill_error(Other) {}
};

}  // namespace remotecl::icd
