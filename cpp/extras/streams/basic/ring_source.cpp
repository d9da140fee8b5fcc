// Frames that another process of this machine puts into shared memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "extras/streams/basic/sources.h"
#include "extras/streams/support/open_file.h"
#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {
namespace {

constexpr char kMagic[9] = "RCLRING1";
constexpr std::chrono::microseconds kLook{500};
constexpr std::chrono::milliseconds kLookForAnother{100};  // for another writer, while the present one writes nothing

// The layout is in docs/streams.md. The writer is not trusted: sizes are read once and checked.
struct RingHeader {
  char magic[8];
  std::uint64_t slots;
  std::uint64_t slot_size;  // of a slot's bytes, without its header; a multiple of 8
  std::uint64_t count;      // frames that have been written
};
struct SlotHeader {
  std::uint64_t state;  // 2n + 1 while frame n is written, 2n + 2 when it is there
  std::uint64_t size;
  std::uint64_t timestamp_ns;
};

std::uint64_t load(const std::uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

class RingSource final : public Source {
 public:
  explicit RingSource(const StreamName& name)
      : keeps_newest_(name.wants_newest()),
        patience_(name.patience()),
        name_("/" + name.place()),
        file_(::shm_open(name_.c_str(), O_RDONLY, 0)) {
    struct stat about {};
    if (file_.get() < 0 || ::fstat(file_.get(), &about) != 0) {
      throw PluginError(kGone, "shared memory " + name.place() + ": " + std::strerror(errno));
    }
    size_ = static_cast<std::size_t>(about.st_size);
    if (size_ < sizeof(RingHeader)) throw PluginError(kBroken, "the shared memory has no ring of frames");
    memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file_.get(), 0);
    if (memory_ == MAP_FAILED) throw PluginError(kGone, std::string("mapping the memory: ") + std::strerror(errno));
    slots_ = header().slots;
    slot_size_ = header().slot_size;
    const bool is_ring = std::memcmp(header().magic, kMagic, sizeof header().magic) == 0;
    const std::uint64_t room = size_ - sizeof(RingHeader);
    if (!is_ring || slots_ == 0 || slot_size_ == 0 || slot_size_ % 8 != 0 || slot_size_ > room ||
        slots_ > room / (slot_size_ + sizeof(SlotHeader))) {
      ::munmap(memory_, size_);
      throw PluginError(kBroken, "the shared memory has no ring of frames");
    }
    next_ = load(header().count);
    if (next_ != 0) --next_;
  }
  ~RingSource() override { ::munmap(memory_, size_); }
  bool is_lost() const override { return is_lost_; }

 protected:
  std::optional<FrameInfo> find() override {
    const auto end = std::chrono::steady_clock::now() + patience_;
    auto next_look = std::chrono::steady_clock::now() + kLookForAnother;
    // The writer may already be overwriting the oldest frame with the next one.
    const std::uint64_t kept = std::max<std::uint64_t>(1, slots_ - 1);
    for (std::uint64_t overtaken = 0;;) {
      const std::uint64_t count = load(header().count);
      if (count > next_) {
        const std::uint64_t oldest = (count > kept ? count - kept : 0) + overtaken;
        const std::uint64_t wanted = keeps_newest_ ? count - 1 : std::max(next_, std::min(oldest, count - 1));
        if (auto frame = copy(wanted)) {
          frame->info.dropped = wanted - next_;
          frame->info.size = frame->bytes.size();
          next_ = wanted + 1;
          found_ = std::move(*frame);
          return found_.info;
        }
        ++overtaken;  // a newer one stays longer
      }
      const auto now = std::chrono::steady_clock::now();
      if (now >= next_look || now >= end || count < next_) {
        next_look = now + kLookForAnother;
        is_lost_ = count < next_ || is_replaced();
        if (is_lost_)
          throw PluginError(kGone, "another writer has made the shared memory anew; the next call opens it");
      }
      if (now >= end) break;
      std::this_thread::sleep_for(kLook);
    }
    throw PluginError(kGone, "no frame came within " + std::to_string(patience_.count()) + " ms (wait=)");
  }

  void put(std::span<std::byte> to) override {
    if (!found_.bytes.empty()) std::memcpy(to.data(), found_.bytes.data(), found_.bytes.size());
  }

 private:
  const RingHeader& header() const { return *static_cast<const RingHeader*>(memory_); }

  // Whether the name now leads to other memory: a restarted writer may remove the memory and make it anew.
  bool is_replaced() const {
    const File found(::shm_open(name_.c_str(), O_RDONLY, 0));
    struct stat ours {
    }, theirs{};
    return found.get() >= 0 && ::fstat(found.get(), &theirs) == 0 && ::fstat(file_.get(), &ours) == 0 &&
           ours.st_ino != theirs.st_ino;
  }

  // Nothing if the slot is overwritten meanwhile.
  std::optional<Frame> copy(std::uint64_t number) const {
    const auto* const at = static_cast<const std::byte*>(memory_) + sizeof(RingHeader) +
                           number % slots_ * (slot_size_ + sizeof(SlotHeader));
    const auto& slot = *reinterpret_cast<const SlotHeader*>(at);
    if (load(slot.state) != 2 * number + 2) return std::nullopt;
    const std::uint64_t size = load(slot.size);
    if (size > slot_size_) throw PluginError(kBroken, "a frame of the ring is larger than its slot");
    Frame frame{std::vector<std::byte>(size), {}};
    frame.info.timestamp_ns = load(slot.timestamp_ns);
    std::memcpy(frame.bytes.data(), at + sizeof slot, size);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (load(slot.state) != 2 * number + 2) return std::nullopt;
    return frame;
  }

  const bool keeps_newest_;
  const std::chrono::milliseconds patience_;
  const std::string name_;
  const File file_;
  std::size_t size_ = 0;
  void* memory_ = nullptr;
  std::uint64_t slots_ = 0, slot_size_ = 0, next_ = 0;
  bool is_lost_ = false;
  Frame found_;  // copied out of the ring, where it may be overwritten
};

}  // namespace

std::unique_ptr<Source> open_ring_source(const StreamName& name, const Rules& rules) {
  name.allow_keys({"policy", "wait"});
  if (name.place().empty() || name.place().find('/') != std::string::npos) {
    throw PluginError(kWrongName, "memory:NAME is the name of shared memory without \"/\"");
  }
  rules.require("memory", name.place());
  return std::make_unique<RingSource>(name);
}

}  // namespace remotecl::plugins
