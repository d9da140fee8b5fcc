#include "runtime/containment/file_rules.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace remotecl {
namespace {

// Copied from linux/landlock.h, which older build systems lack.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1, kPort = 2;

struct RulesetAttribute {
  std::uint64_t files, network, scopes;
};
struct [[gnu::packed]] PathAttribute {
  std::uint64_t allowed;
  std::int32_t folder;
};
struct PortAttribute {
  std::uint64_t allowed, port;
};

enum : std::uint64_t {
  kExecute = 1u << 0,
  kWriteFile = 1u << 1,
  kReadFile = 1u << 2,
  kReadFolder = 1u << 3,
  kMakeDevices = 1u << 6 | 1u << 11,
  kTruncate = 1u << 14,
  kControlDevice = 1u << 15,
  kOnFiles = kExecute | kWriteFile | kReadFile | kTruncate | kControlDevice,
};
constexpr std::uint64_t kListen = 1, kConnect = 2;
constexpr std::uint64_t kSocketsAndSignals = 3;

// Closes it in the end.
struct OpenFile {
  explicit OpenFile(int number) : number(number) {}
  ~OpenFile() {
    if (number >= 0) ::close(number);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  const int number;
};

std::uint64_t rights(FileRules::Access access) {
  switch (access) {
    case FileRules::Access::kRead:
      return kReadFile | kReadFolder;
    case FileRules::Access::kRun:
      return kReadFile | kReadFolder | kExecute;
    case FileRules::Access::kUse:
      return kReadFile | kReadFolder | kWriteFile | kTruncate | kControlDevice;
    case FileRules::Access::kEverything:
      break;
  }
  return ~(kExecute | kMakeDevices | kControlDevice);
}

long version_of_kernel() { return ::syscall(kCreateRuleset, nullptr, 0, kAskVersion); }

// The rights that the kernel's version of Landlock knows.
std::uint64_t rights_known_to(long version) {
  const unsigned count = version == 1 ? 13 : version == 2 ? 14 : version < 5 ? 15 : 16;
  return (std::uint64_t{1} << count) - 1;
}

void add_path(int rules, const std::string& path, std::uint64_t wanted) {
  const OpenFile file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (file.number < 0 && (errno == EMFILE || errno == ENFILE)) {  // others are files that this machine does not have
    throw std::system_error(errno, std::generic_category(), "no rule for " + path);
  }
  struct stat status {};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) return;
  const PathAttribute attribute{S_ISDIR(status.st_mode) ? wanted : wanted & kOnFiles, file.number};
  ::syscall(kAddRule, rules, kPathBeneath, &attribute, 0u);
}

void add_port(int rules, std::uint16_t port, std::uint64_t use) {
  const PortAttribute attribute{use, port};
  ::syscall(kAddRule, rules, kPort, &attribute, 0u);
}

}  // namespace

bool FileRules::can_move_files() { return version_of_kernel() >= 2; }

std::string FileRules::apply() const {
  const long version = version_of_kernel();
  if (version < 1) {
    return errno == EOPNOTSUPP ? "Landlock is not switched on in this kernel (its boot option lsm= has to name it)"
                               : "this kernel has no Landlock, which Linux 5.13 brings, or a sandbox hides it";
  }
  const std::uint64_t known = rights_known_to(version);
  const std::uint64_t network = (listens_anywhere_ ? 0 : kListen) | (connects_anywhere_ ? 0 : kConnect);
  const RulesetAttribute attribute{known, version < 4 ? 0 : network, version < 6 ? 0 : kSocketsAndSignals};
  const std::size_t size = version < 4 ? 8 : version < 6 ? 16 : sizeof attribute;
  const OpenFile rules(static_cast<int>(::syscall(kCreateRuleset, &attribute, size, 0u)));
  if (rules.number < 0) return std::string("Landlock takes no rules: ") + std::strerror(errno);
  for (const auto& [path, access] : paths_) add_path(rules.number, path, rights(access) & known);
  if (attribute.network != 0) {
    for (const std::uint16_t port : connected_) add_port(rules.number, port, kConnect & network);
    for (const std::uint16_t port : listening_) add_port(rules.number, port, kListen & network);
  }
  if (::syscall(kRestrictSelf, rules.number, 0u) == 0) return {};
  return std::string("Landlock does not take effect: ") + std::strerror(errno);
}

}  // namespace remotecl
