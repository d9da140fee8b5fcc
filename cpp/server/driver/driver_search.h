#pragma once

#include <optional>
#include <string>
#include <vector>

namespace remotecl::server {

// The GPUs of one maker on this machine.
struct VisibleGpus {
  std::string maker;     // as OpenCL drivers name it
  std::string shown_by;  // a file in /dev
  std::string remedy;    // what to do if no driver serves them
};

// `root`: the root of the file system.
std::vector<VisibleGpus> visible_gpus(const std::string& root = "");
// The GPUs that no driver serves, as text for people. `drivers`: each names the maker of the GPUs that it
// serves.
std::vector<std::string> unserved(const std::vector<VisibleGpus>& gpus, const std::vector<std::string>& drivers);

// While it exists, OpenCL loaders find more drivers than they would by themselves: libraries in
// OCL_ICD_FILENAMES, which only some loaders read, and, unless OCL_ICD_VENDORS makes a choice, the known
// libraries of makers whose GPU is present. Containers often have the library but no .icd file. Changes the
// environment of the process, so it must be created before the first OpenCL call and before any thread.
class DriverSearch {
 public:
  // `own`: libraries of the daemon.
  explicit DriverSearch(const std::string& root = "", const std::vector<std::string>& own = {});
  ~DriverSearch();
  DriverSearch(const DriverSearch&) = delete;
  DriverSearch& operator=(const DriverSearch&) = delete;

  // The libraries that it added.
  const std::vector<std::string>& added() const { return added_; }

 private:
  void make_folder(const std::vector<std::string>& drivers);

  std::vector<std::string> added_;
  std::string folder_;  // has an .icd file for each driver; empty if nothing was added
  std::optional<std::string> vendors_, file_names_;
};

}  // namespace remotecl::server
