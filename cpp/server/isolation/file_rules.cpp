#include "server/isolation/file_rules.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace remotecl::server {
namespace {

// Copied from linux/landlock.h, which older build systems lack.
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;

struct RulesetAttribute {
  std::uint64_t files, network, scopes;
};
struct [[gnu::packed]] PathAttribute {
  std::uint64_t allowed;
  std::int32_t folder;
};

enum : std::uint64_t {
  kExecute = 1u << 0,
  kWriteFile = 1u << 1,
  kReadFile = 1u << 2,
  kReadFolder = 1u << 3,
  kFirstVersion = (1u << 13) - 1,  // all rights up to making symbolic links
  kMakeDevices = 1u << 6 | 1u << 11,
  kTruncate = 1u << 14,
  kControlDevice = 1u << 15,
  kOnFiles = kExecute | kWriteFile | kReadFile | kTruncate | kControlDevice,
};
constexpr std::uint64_t kBindAndConnect = 3;
constexpr std::uint64_t kSocketsAndSignals = 3;

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

}  // namespace

FileRules::FileRules() {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1) {
    failure_ = errno == EOPNOTSUPP ? "Landlock is not switched on in this kernel (its boot option lsm= has to name it)"
                                   : "this kernel has no Landlock, which Linux 5.13 brings, or a sandbox hides it";
    return;
  }
  const unsigned known_rights = version == 1 ? 13 : version == 2 ? 14 : version < 5 ? 15 : 16;
  handled_ = (std::uint64_t{1} << known_rights) - 1;
  const RulesetAttribute attribute{handled_, version < 4 ? 0 : kBindAndConnect, version < 6 ? 0 : kSocketsAndSignals};
  const std::size_t size = version < 4 ? 8 : version < 6 ? 16 : sizeof attribute;
  rules_ = Descriptor(static_cast<int>(::syscall(kCreateRuleset, &attribute, size, 0u)));
  if (!rules_.valid()) failure_ = std::string("Landlock takes no rules: ") + std::strerror(errno);
}

void FileRules::allow(const std::string& path, Access access) {
  if (!rules_.valid()) return;
  const Descriptor file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return;
  const std::uint64_t wanted = rights(access) & handled_;
  const PathAttribute attribute{S_ISDIR(status.st_mode) ? wanted : wanted & kOnFiles, file.get()};
  ::syscall(kAddRule, rules_.get(), kPathBeneath, &attribute, 0u);
}

bool FileRules::apply() {
  if (!rules_.valid()) return false;
  if (::syscall(kRestrictSelf, rules_.get(), 0u) == 0) return true;
  failure_ = std::string("Landlock does not take effect: ") + std::strerror(errno);
  return false;
}

}  // namespace remotecl::server
