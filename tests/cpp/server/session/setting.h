#pragma once

#include <cstdlib>

namespace remotecl::testing {

// A variable of the environment as long as this object lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Setting() { ::unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* const name_;
};

}  // namespace remotecl::testing
