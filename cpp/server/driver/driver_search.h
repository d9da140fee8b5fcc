#pragma once

#include <optional>
#include <string>
#include <vector>

namespace remotecl::server {

// GPUs of one maker that this machine shows.
struct VisibleGpus {
  std::string maker;     // as OpenCL drivers name it
  std::string shown_by;  // a file of /dev
  std::string remedy;    // when no driver serves them
};

// `root`: of the file system.
std::vector<VisibleGpus> visible_gpus(const std::string& root = "");
// As text for people, those that have no driver. `drivers`: each names the maker of the GPUs that it serves.
std::vector<std::string> unserved(const std::vector<VisibleGpus>& gpus, const std::vector<std::string>& drivers);

// While there is one, OpenCL loaders that look for drivers find more than they would: libraries in OCL_ICD_FILENAMES,
// which only some loaders read, and, unless OCL_ICD_VENDORS makes a choice, the known libraries of makers whose GPU is
// there, as in containers that have the library and no .icd file. Changes the process's environment; made before the
// first OpenCL call, while there are no other threads.
class DriverSearch {
 public:
  explicit DriverSearch(const std::string& root = "");
  ~DriverSearch();
  DriverSearch(const DriverSearch&) = delete;
  DriverSearch& operator=(const DriverSearch&) = delete;

  // Libraries that were added.
  const std::vector<std::string>& added() const { return added_; }

 private:
  void make_folder(const std::vector<std::string>& drivers);

  std::vector<std::string> added_;
  std::string folder_;  // with an .icd file for each driver; empty: nothing was added
  std::optional<std::string> vendors_, file_names_;
};

}  // namespace remotecl::server
