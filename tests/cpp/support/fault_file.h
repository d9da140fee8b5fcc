#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

// What the libraries that make calls fail inside of several processes have in common: a file that all processes map.
namespace remotecl::testing {

// Maps the state that the file holds, as long as the process lives; null if that fails.
template <class State>
State* map_fault_file(const char* path) {
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const memory = ::mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<State*>(memory);
}

// Makes the file, with zeros.
template <class State>
void make_fault_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool is_made = file >= 0 && ::ftruncate(file, sizeof(State)) == 0;
  if (file >= 0) ::close(file);
  if (!is_made) throw std::runtime_error("cannot make " + path);
}

// For the environment of a program that is to load the library with this function.
template <class Function>
std::string preloaded_with(Function* function) {
  Dl_info found{};
  ::dladdr(reinterpret_cast<const void*>(function), &found);
  return std::string("LD_PRELOAD=") + std::filesystem::absolute(found.dli_fname).string();
}

inline std::uint64_t mixed(std::uint64_t value) {  // splitmix64
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace remotecl::testing
