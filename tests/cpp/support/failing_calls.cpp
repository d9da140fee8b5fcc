// A library that stands before the C library in a daemon or client: see ResourceFaults.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <string_view>

#include "support/fault_file.h"
#include "support/resource_faults.h"

namespace remotecl::testing {
namespace {

// Smaller allocations are too many to let each fail; whoever survives these survives those.
constexpr std::size_t kAllocationMin = 4096;

bool is_session_process() {
  std::ifstream file("/proc/self/cmdline");
  const std::string words((std::istreambuf_iterator<char>(file)), {});
  return words.find("--session-folder") != std::string::npos;
}

bool g_is_session_process = false;

ResourceFaultsState* const g_state = [] {
  const char* const path = std::getenv("REMOTECL_TEST_RESOURCE_FAULTS");
  g_is_session_process = is_session_process();
  return path == nullptr ? nullptr : map_fault_file<ResourceFaultsState>(path);
}();

// Not drivers and loaders: what they do without a thread or a descriptor is not ours to say.
bool is_ours(const void* caller) {
  Dl_info found{};
  if (::dladdr(caller, &found) == 0 || found.dli_fname == nullptr) return false;
  const std::string_view name(found.dli_fname);
  return name.find("fake_driver") == name.npos &&
         (name.find("remotecl") != name.npos || name.find("libstdc++") != name.npos);
}

bool fails(ResourceFaults::Kind kind, const void* caller) {
  if (g_state == nullptr || g_state->kind != kind || g_state->of_session_process != g_is_session_process) return false;
  const int error = errno;
  const bool counts = is_ours(caller);
  errno = error;
  if (!counts) return false;
  const std::uint64_t call = ++g_state->calls;
  if (call < g_state->first || call > g_state->last) return false;
  // Where none is left, each that is closed can be had again.
  if (kind == ResourceFaults::kDescriptor && g_state->last == UINT64_MAX) {
    if (g_state->closed.fetch_sub(1) > 0) return false;
    ++g_state->closed;
  }
  ++g_state->failed;
  return true;
}

int descriptor_or_failure(const void* caller, long call, auto... arguments) {
  if (fails(ResourceFaults::kDescriptor, caller)) {
    errno = EMFILE;
    return -1;
  }
  return static_cast<int>(::syscall(call, arguments...));
}

bool has_no_space(int descriptor, const void* caller) {
  if (g_state == nullptr || g_state->kind != ResourceFaults::kDisk) return false;
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || !fails(ResourceFaults::kDisk, caller)) {
    return false;
  }
  errno = ENOSPC;
  return true;
}

void* allocate(std::size_t size, std::size_t alignment, const void* caller) {
  if (size >= kAllocationMin && fails(ResourceFaults::kMemory, caller)) return nullptr;
  if (alignment == 0) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

// The message as one comes for whose descriptors there was no room.
void lose_descriptors(msghdr* message, const void* caller) {
  cmsghdr* const part = CMSG_FIRSTHDR(message);
  if (part == nullptr || part->cmsg_type != SCM_RIGHTS || !fails(ResourceFaults::kDescriptor, caller)) return;
  for (std::size_t at = CMSG_LEN(0); at < part->cmsg_len; at += sizeof(int)) {
    int descriptor = -1;
    std::memcpy(&descriptor, reinterpret_cast<char*>(part) + at, sizeof descriptor);
    ::close(descriptor);
  }
  message->msg_controllen = 0;
  message->msg_flags |= MSG_CTRUNC;
}

}  // namespace
}  // namespace remotecl::testing

using namespace remotecl::testing;

#define CALLER __builtin_return_address(0)

#pragma GCC visibility push(default)
extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*), void* argument) {
  static auto* const call = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return fails(ResourceFaults::kThread, CALLER) ? EAGAIN : call(thread, attributes, function, argument);
}

int socket(int domain, int type, int protocol) noexcept {
  return descriptor_or_failure(CALLER, SYS_socket, domain, type, protocol);
}
int socketpair(int domain, int type, int protocol, int* ends) noexcept {
  return descriptor_or_failure(CALLER, SYS_socketpair, domain, type, protocol, ends);
}
int accept(int descriptor, sockaddr* address, socklen_t* size) {
  return descriptor_or_failure(CALLER, SYS_accept, descriptor, address, size);
}
int accept4(int descriptor, sockaddr* address, socklen_t* size, int flags) {
  return descriptor_or_failure(CALLER, SYS_accept4, descriptor, address, size, flags);
}
int eventfd(unsigned value, int flags) noexcept { return descriptor_or_failure(CALLER, SYS_eventfd2, value, flags); }
int epoll_create1(int flags) noexcept { return descriptor_or_failure(CALLER, SYS_epoll_create1, flags); }
int timerfd_create(clockid_t clock, int flags) noexcept {
  return descriptor_or_failure(CALLER, SYS_timerfd_create, clock, flags);
}
int memfd_create(const char* name, unsigned flags) noexcept {
  return descriptor_or_failure(CALLER, SYS_memfd_create, name, flags);
}
int close(int descriptor) {
  const long result = ::syscall(SYS_close, descriptor);
  const bool counts = g_state != nullptr && g_state->kind == ResourceFaults::kDescriptor &&
                      g_state->of_session_process == g_is_session_process && g_state->calls >= g_state->first;
  if (result == 0 && counts && is_ours(CALLER)) ++g_state->closed;
  return static_cast<int>(result);
}
int pipe2(int* ends, int flags) noexcept { return descriptor_or_failure(CALLER, SYS_pipe2, ends, flags); }
int dup(int descriptor) noexcept { return descriptor_or_failure(CALLER, SYS_dup, descriptor); }

int fcntl(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
    return descriptor_or_failure(CALLER, SYS_fcntl, descriptor, command, argument);
  }
  return static_cast<int>(::syscall(SYS_fcntl, descriptor, command, argument));
}
int fcntl64(int descriptor, int command, ...) __attribute__((alias("fcntl")));

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return descriptor_or_failure(CALLER, SYS_openat, folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) __attribute__((alias("openat")));

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = va_arg(arguments, mode_t);
  va_end(arguments);
  return descriptor_or_failure(CALLER, SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));

FILE* fopen(const char* path, const char* mode) {
  static auto* const call = reinterpret_cast<decltype(&fopen)>(::dlsym(RTLD_NEXT, "fopen"));
  if (!fails(ResourceFaults::kDescriptor, CALLER)) return call(path, mode);
  errno = EMFILE;
  return nullptr;
}
FILE* fopen64(const char* path, const char* mode) __attribute__((alias("fopen")));

ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  const ssize_t size = ::syscall(SYS_recvmsg, descriptor, message, flags);
  if (size > 0) lose_descriptors(message, CALLER);
  return size;
}

ssize_t write(int descriptor, const void* data, size_t size) {
  return has_no_space(descriptor, CALLER) ? -1 : ::syscall(SYS_write, descriptor, data, size);
}
ssize_t writev(int descriptor, const iovec* parts, int count) {
  return has_no_space(descriptor, CALLER) ? -1 : ::syscall(SYS_writev, descriptor, parts, count);
}
ssize_t pwrite(int descriptor, const void* data, size_t size, off_t at) {
  return has_no_space(descriptor, CALLER) ? -1 : ::syscall(SYS_pwrite64, descriptor, data, size, at);
}
ssize_t pwrite64(int descriptor, const void* data, size_t size, off_t at) __attribute__((alias("pwrite")));
int ftruncate(int descriptor, off_t size) noexcept {
  return has_no_space(descriptor, CALLER) ? -1 : static_cast<int>(::syscall(SYS_ftruncate, descriptor, size));
}
int ftruncate64(int descriptor, off_t size) noexcept __attribute__((alias("ftruncate")));
int fallocate(int descriptor, int mode, off_t at, off_t size) {
  return has_no_space(descriptor, CALLER) ? -1 : static_cast<int>(::syscall(SYS_fallocate, descriptor, mode, at, size));
}
int posix_fallocate(int descriptor, off_t at, off_t size) {
  if (has_no_space(descriptor, CALLER)) return ENOSPC;
  return ::syscall(SYS_fallocate, descriptor, 0, at, size) == 0 ? 0 : errno;
}
int rename(const char* from, const char* to) noexcept {
  if (!fails(ResourceFaults::kDisk, CALLER)) return static_cast<int>(::syscall(SYS_rename, from, to));
  errno = ENOSPC;
  return -1;
}

}  // extern "C"

void* operator new(std::size_t size) {
  void* const memory = allocate(size, 0, CALLER);
  return memory != nullptr ? memory : throw std::bad_alloc();
}
void* operator new[](std::size_t size) {
  void* const memory = allocate(size, 0, CALLER);
  return memory != nullptr ? memory : throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* const memory = allocate(size, static_cast<std::size_t>(alignment), CALLER);
  return memory != nullptr ? memory : throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t& /*no_throw*/) noexcept { return allocate(size, 0, CALLER); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
#pragma GCC visibility pop
