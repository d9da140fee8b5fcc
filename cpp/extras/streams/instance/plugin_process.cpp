#include "extras/streams/instance/plugin_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "runtime/base/argument_pointers.h"

namespace remotecl::plugins {
namespace {

constexpr std::chrono::milliseconds kRestartPause{100};
constexpr std::chrono::milliseconds kTimeToDie{200};

// The environment variables that a plugin gets; others may hold secrets of the daemon.
std::vector<std::string> environment_of_plugin() {
  std::vector<std::string> environment;
  for (const char* const name : {"PATH", "LANG", "TZ", "LD_LIBRARY_PATH", "LIBVA_DRIVER_NAME", "CUDA_VISIBLE_DEVICES",
                                 "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
    if (const char* const value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

}  // namespace

PluginProcess::PluginProcess(const PluginSettings& settings, const std::string& plugin, int device)
    : limit_(settings.call_limit), call_memory_(SharedBlock::make(kCallMemorySize)) {
  if (call_memory_ == nullptr) throw std::runtime_error("no shared memory is left for its calls");
  start(settings, plugin, device);
  try {
    read_description(Clock::now() + limit_);
  } catch (const std::exception& error) {
    end();  // no destructor ends what was not constructed
    throw std::runtime_error(error.what());
  }
}

void PluginProcess::start(const PluginSettings& settings, const std::string& plugin, int device) {
  auto ends = MessageSocket::make();
  // Copies, because duplicating a descriptor onto its own number would keep it closed on exec.
  const int socket = ::fcntl(ends.second.descriptor(), F_DUPFD_CLOEXEC, kCallMemoryDescriptor + 1);
  const int memory = ::fcntl(call_memory_->descriptor(), F_DUPFD_CLOEXEC, kCallMemoryDescriptor + 1);
  std::vector<std::string> arguments{"remotecl-plugin-host", plugin, std::to_string(device), settings.filter,
                                     settings.user};
  arguments.insert(arguments.end(), settings.rules.begin(), settings.rules.end());
  std::vector<std::string> environment = environment_of_plugin();
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  // A plugin that prints without end must not fill the daemon's log. An audit prints there before it hands over.
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (settings.filter != "audit") {
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&files, socket, kSocketDescriptor);
  posix_spawn_file_actions_adddup2(&files, memory, kCallMemoryDescriptor);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int error = socket < 0 || memory < 0
                        ? EMFILE
                        : ::posix_spawn(&id_, settings.host.c_str(), &files, &attributes, pointers_to(arguments).data(),
                                        pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (socket >= 0) ::close(socket);
  if (memory >= 0) ::close(memory);
  if (error != 0) {
    id_ = -1;
    throw std::runtime_error("cannot start " + settings.host + ": " + std::strerror(error));
  }
  socket_ = std::move(ends.first);
}

void PluginProcess::read_description(Clock::time_point end) {
  ReplyMessage start{};
  std::vector<std::byte> bytes(PluginDescription::kEncodedMax);
  const auto started = socket_.receive(std::as_writable_bytes(std::span(&start, 1)), end);
  if (!started) throw std::runtime_error(why_silent(end));
  for (const int each : started->descriptors) ::close(each);
  const auto outcome = read_reply(std::as_bytes(std::span(&start, 1)).first(started->size), 0);
  if (!outcome) throw std::runtime_error("it does not begin as remotecl-plugin-host does");
  if (!outcome->is_good()) throw std::runtime_error(outcome->why);
  lacks_ = outcome->why;
  const auto described = socket_.receive(bytes, end);
  if (!described) throw std::runtime_error(why_silent(end));
  for (const int each : described->descriptors) ::close(each);
  description_ = decode_description(Bytes(bytes).first(described->size));
}

// Asks the process to unmap blocks that no longer exist.
void PluginProcess::forget_gone(CallMessage& message) {
  for (auto at = known_.begin(); at != known_.end() && message.gone_count < REMOTECL_PLUGIN_ARGUMENTS_MAX;) {
    if (!at->second.expired()) {
      ++at;
      continue;
    }
    message.gone_blocks[message.gone_count++] = at->first;
    at = known_.erase(at);
  }
}

void PluginProcess::pack_arguments(const Call& call, CallMessage& message, std::vector<int>& descriptors) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const CallArgument& argument = call.arguments[i];
    ArgumentLocation& location = message.arguments[i];
    location.size = argument.size;
    if (argument.block == nullptr) {
      location.offset = i * kCopiedMax;
      if (argument.size != 0) std::memcpy(call_memory_->data() + location.offset, argument.data, argument.size);
      continue;
    }
    location.block = argument.block->id();
    location.offset = static_cast<std::uint64_t>(argument.data - argument.block->data());
    if (!known_.emplace(location.block, argument.block).second) continue;
    message.new_blocks[message.new_count++] = {location.block, argument.block->size()};
    descriptors.push_back(argument.block->descriptor());
  }
}

Outcome PluginProcess::execute(const Call& call, bool& is_lost) {
  CallMessage message{};
  message.serial = ++serial_;
  message.kernel = call.kernel;
  message.argument_count = static_cast<std::uint32_t>(call.arguments.size());
  std::vector<int> descriptors;
  forget_gone(message);
  pack_arguments(call, message, descriptors);
  const auto end = Clock::now() + limit_;
  ReplyMessage reply{};
  std::optional<MessageSocket::Packet> packet;
  if (socket_.send(std::as_bytes(std::span(&message, 1)), descriptors)) {
    packet = socket_.receive(std::as_writable_bytes(std::span(&reply, 1)), end);
  }
  is_lost = true;
  if (!packet) return {kOutOfResources, why_silent(end)};
  for (const int each : packet->descriptors) ::close(each);
  const auto outcome = read_reply(std::as_bytes(std::span(&reply, 1)).first(packet->size), message.serial);
  if (!outcome) return {kOutOfResources, "its process answered something else than its call"};
  is_lost = false;
  for (std::size_t i = 0; outcome->is_good() && i < call.arguments.size(); ++i) {
    const CallArgument& argument = call.arguments[i];
    if (argument.block != nullptr || !argument.is_written || argument.size == 0) continue;
    std::memcpy(argument.data, call_memory_->data() + i * kCopiedMax, argument.size);
  }
  return *outcome;
}

std::string PluginProcess::why_silent(Clock::time_point end_of_time) {
  const bool is_late = Clock::now() >= end_of_time;
  const std::string how = end();
  if (!is_late) return "its process " + how;
  return "it did not answer within " + std::to_string(limit_.count()) + " ms (--plugin-limit), and was ended";
}

PluginProcess::~PluginProcess() {
  if (id_ < 0) return;
  ::shutdown(socket_.descriptor(), SHUT_RDWR);
  ends_within(kTimeToClose);
  end();
}

// Does not reap the process, so that nothing else gets its id.
bool PluginProcess::ends_within(std::chrono::milliseconds time) const {
  const auto until = Clock::now() + time;
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOWAIT | WNOHANG) != 0 || info.si_pid != 0)
      return true;
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::string PluginProcess::end() {
  if (id_ < 0) return "had ended before";
  // A process that has closed its socket is ending by itself; waits, because the reason is of interest.
  char byte = 0;
  if (::recv(socket_.descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) ends_within(kTimeToDie);
  siginfo_t info{};
  ::kill(-id_, SIGKILL);
  ::kill(id_, SIGKILL);
  while (::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED) != 0 && errno == EINTR) {
  }
  id_ = -1;
  if (info.si_code == CLD_EXITED) return "ended with exit code " + std::to_string(info.si_status);
  return "was ended by signal " + std::to_string(info.si_status) + " (" + ::strsignal(info.si_status) + ")";
}

Outcome ProcessInstance::execute(const Call& call) {
  Outcome outcome = try_to_execute(call);
  // A process may use what the rules named when it started, and nothing that has their names since then.
  if (outcome.is_good() || files_ == RuledFiles(settings_.rules)) return outcome;
  process_.reset();
  return try_to_execute(call);
}

Outcome ProcessInstance::try_to_execute(const Call& call) {
  try {
    if (process_ == nullptr) {
      std::this_thread::sleep_until(next_start_);
      next_start_ = std::chrono::steady_clock::now() + kRestartPause;
      files_ = RuledFiles(settings_.rules);
      process_ = std::make_unique<PluginProcess>(settings_, plugin_, device_);
    }
    bool is_lost = false;
    Outcome outcome = process_->execute(call, is_lost);
    if (is_lost) process_.reset();
    return outcome;
  } catch (const std::exception& error) {
    return {kOutOfResources, error.what()};
  }
}

}  // namespace remotecl::plugins
