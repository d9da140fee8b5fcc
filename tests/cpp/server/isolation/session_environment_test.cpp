#include "server/isolation/session_environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "store/temporary_folder.h"

namespace remotecl::server {
namespace {

namespace fs = std::filesystem;

// An environment variable, as long as it lives.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Setting() { before_.empty() ? ::unsetenv(name_) : ::setenv(name_, before_.c_str(), 1); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* const name_;
  std::string before_;
};

// The loader of programs takes colons and spaces.
TEST(SessionEnvironmentTest, EachPreloadedLibraryMayBeRead) {
  const testing::TemporaryFolder folder;
  std::vector<std::string> libraries;
  for (const char* const name : {"one.so", "two.so", "three.so"}) {
    libraries.push_back(fs::canonical(folder.path()) / name);
    std::ofstream(libraries.back()) << name;
  }
  const Setting preload("LD_PRELOAD", libraries[0] + " " + libraries[1] + ":" + libraries[2]);
  const std::vector<std::string> paths = driver_paths();
  for (const std::string& library : libraries) {
    EXPECT_EQ(std::count(paths.begin(), paths.end(), library), 1) << library;
  }
}

}  // namespace
}  // namespace remotecl::server
