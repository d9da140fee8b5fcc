#include "server/driver/driver_search.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace remotecl::server {
namespace {

namespace fs = std::filesystem;

// A root of a file system with such devices, and an environment of its own.
class DriverSearchTest : public ::testing::Test {
 protected:
  DriverSearchTest() {
    std::string name = ::testing::TempDir() + "driver-search-XXXXXX";
    root_ = ::mkdtemp(name.data());
    for (const char* variable : {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "OCL_ICD_FILENAMES"}) {
      const char* const value = std::getenv(variable);
      kept_.emplace_back(variable, value == nullptr ? std::nullopt : std::optional<std::string>(value));
      ::unsetenv(variable);
    }
  }
  ~DriverSearchTest() override {
    for (const auto& [name, value] : kept_) value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
    fs::remove_all(root_);
  }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  static std::vector<std::string> libraries_named_in(const std::string& folder) {
    std::vector<std::string> lines;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
      std::ifstream stream(file);
      std::getline(stream, lines.emplace_back());
    }
    return lines;
  }

  fs::path root_;
  std::vector<std::pair<const char*, std::optional<std::string>>> kept_;
};

TEST_F(DriverSearchTest, FindsTheGpusOfAMachine) {
  EXPECT_TRUE(visible_gpus(root_).empty());
  write("dev/nvidia0", "");
  write("dev/dri/renderD129", "");
  write("sys/class/drm/renderD129/device/vendor", "0x8086");
  write("sys/class/drm/renderD130/device/vendor", "0x1002");  // which this container may not see
  write("dev/dri/renderD131", "");
  write("sys/class/drm/renderD131/device/vendor", "0x1af4");  // a virtual machine's
  const std::vector<VisibleGpus> gpus = visible_gpus(root_);
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].maker + gpus[0].shown_by, "NVIDIA/dev/nvidia0");
  EXPECT_EQ(gpus[1].maker + gpus[1].shown_by, "Intel/dev/dri/renderD129");

  EXPECT_EQ(unserved(gpus, {"NVIDIA CUDA, NVIDIA Corporation", "rusticl, Intel"}).size(), 0u);
  const std::vector<std::string> missing = unserved(gpus, {"Intel(R) OpenCL Graphics, Intel(R) Corporation"});
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_NE(missing[0].find("/dev/nvidia0 shows a GPU of NVIDIA that no OpenCL driver serves: install"),
            std::string::npos)
      << missing[0];
}

TEST_F(DriverSearchTest, WhatNothingAddsToIsLeftAlone) {
  write("vendors/a.icd", "liba.so");
  ::setenv("OCL_ICD_VENDORS", (root_ / "vendors").c_str(), 1);
  ::setenv("OCL_ICD_FILENAMES", "liba.so:/somewhere/libremotecl.so:", 1);
  const DriverSearch search(root_);
  EXPECT_TRUE(search.added().empty());
  EXPECT_EQ(std::getenv("OCL_ICD_VENDORS"), (root_ / "vendors").string());
}

TEST_F(DriverSearchTest, LibrariesOfAnotherLoadersVariableAreAdded) {
  write("vendors/b.icd", "libb.so");
  write("vendors/a.icd", "liba.so");
  write("vendors/readme", "no driver");
  const std::string vendors = root_ / "vendors", files = "/opt/libc.so:liba.so:/opt/libd.so";
  for (const std::string& setting : {vendors, vendors + "/a.icd", std::string("liba.so")}) {
    ::setenv("OCL_ICD_VENDORS", setting.c_str(), 1);
    ::setenv("OCL_ICD_FILENAMES", files.c_str(), 1);
    std::string folder;
    {
      const DriverSearch search(root_);
      EXPECT_EQ(search.added(), (std::vector<std::string>{"/opt/libc.so", "/opt/libd.so"}));
      folder = std::getenv("OCL_ICD_VENDORS");
      std::vector<std::string> expected{"liba.so", "/opt/libc.so", "/opt/libd.so"};
      if (setting == vendors) expected.insert(expected.begin() + 1, "libb.so");
      EXPECT_EQ(libraries_named_in(folder), expected);
      EXPECT_EQ(std::getenv("OCL_ICD_FILENAMES"), nullptr);
    }
    EXPECT_FALSE(fs::exists(folder));
    EXPECT_EQ(std::getenv("OCL_ICD_VENDORS"), setting);
    EXPECT_EQ(std::getenv("OCL_ICD_FILENAMES"), files);
  }
}

}  // namespace
}  // namespace remotecl::server
