#pragma once

#include <ostream>

#include "icd/fixture.h"

namespace remotecl::testing {

// The same objects on one driver, for calls that go wrong.
struct World {
  explicit World(cl_device_id device);

  cl_device_id device;
  Owned<cl_context> context, foreign_context;
  Owned<cl_command_queue> queue;
  Owned<cl_mem> buffer;  // 4096 bytes, as all of them
  Owned<cl_mem> other, foreign, host_no_access, host_read_only, host_write_only, sub, sub_overlapping;
  Owned<cl_program> program, unbuilt, broken;
  Owned<cl_kernel> add, no_arguments_set, sum_local, by_four, by_four_and_two;
  Owned<cl_event> gate, foreign_event, failed;
  std::vector<char> host = std::vector<char>(1u << 16);

  static World& native();
  static World& remote();
};

// A call that the specification forbids, and the code that it gives for it.
struct WrongCall {
  const char* name;
  cl_int expected;
  cl_int (*call)(World& world);
  // Why PoCL answers otherwise, or may not be asked; empty: it answers the same.
  const char* native_differs = "";
};
inline void PrintTo(const WrongCall& row, std::ostream* out) { *out << row.name; }

// Each row on remotecl, and on PoCL where that is comparable. Other drivers check less, or hang.
class WrongCallTest : public ::testing::TestWithParam<WrongCall> {};

inline std::string wrong_call_name(const ::testing::TestParamInfo<WrongCall>& info) { return info.param.name; }

// For calls that return an object: the error that they give, which must come with no object.
template <class Create>
cl_int error_of(Create&& create) {
  cl_int error = CL_SUCCESS;
  const auto made = create(&error);
  if (made != nullptr && error != CL_SUCCESS) ADD_FAILURE() << "an object together with error " << error;
  return error;
}

}  // namespace remotecl::testing
