// Sockets of kernels: what a kernel writes into the memory that it shares with the host, in any order with what peers
// do. Memory beyond its end must not be reached; the sanitizer tells.
#include <sys/epoll.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <thread>

#include "extras/kernel_sockets/space/layout.h"
#include "extras/kernel_sockets/space/pair_broker.h"
#include "extras/kernel_sockets/space/rings.h"
#include "extras/kernel_sockets/space/socket_table.h"
#include "support/input.h"

using namespace remotecl;
using namespace remotecl::server;
using fuzz::Input;

namespace {

constexpr SpaceShape kShape{4, 1024};

// Two lanes of sockets, their memory, and a kernel and peers that do what the input says.
class Kernels {
 public:
  Kernels()
      : memory_(new (std::align_val_t{64}) std::byte[layout_.size]{}),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        group_(memory_.get(), kShape,
               KernelSocketSpace::Hooks{broker_, make_ref<SocketAccount>(), make_ref<KernelNames>()}, 2),
        lanes_{{group_, 0}, {group_, 1}} {
    for (SocketTable& lane : lanes_) lane.join(epoll_.get(), event_);
  }

  void step(Input& input) {
    const auto what = input.take<std::uint8_t>();
    const std::uint32_t index = (what >> 4) % kShape.sockets;
    switch (what & 15) {
      case 0:
      case 1:
        return request(index, input);
      case 2:
        return store(4 * (input.take<std::uint16_t>() % (layout_.rings / 4)), input.take<std::uint32_t>());
      case 3:
        return add(layout_.send_tails + 4 * index, input.take<std::uint16_t>());
      case 4:
        return add(layout_.receive_heads + 4 * index, input.take<std::uint16_t>());
      case 5:
        return add(layout_.send_tails + 4 * index, 64);  // a datagram's
      case 6:
        return store(layout_.rings + 2 * index * kShape.ring_bytes + 32 * (input.take<std::uint8_t>() % 64),
                     input.take<std::uint8_t>());
      case 7:
        return broker_->write(input.take<std::uint8_t>(), input.take<std::uint16_t>());
      case 8:
        return broker_->read(input.take<std::uint8_t>());
      case 9:
        return broker_->close(input.take<std::uint8_t>());
      case 10:
        broker_->offer(1);
        return pass_on(input.take<std::uint8_t>() % 2);
      default:
        return work((what & 15) == 15);
    }
  }
  // `waits`: for a socket that is being opened on another thread.
  void work(bool waits) {
    for (int i = 0; i < (waits ? 20 : 1); ++i) {
      now_ += std::chrono::seconds(1);
      bool worked = false;
      for (SocketTable& lane : lanes_) worked |= lane.work(now_, true);
      epoll_event events[16];
      const int count = ::epoll_wait(epoll_.get(), events, 16, 0);
      for (int at = 0; at < count; ++at) {
        lanes_[group_.lane_of(events[at].data.u64)].handle_event(events[at].data.u64, events[at].events);
      }
      if (worked || count > 0) return;
      if (waits) std::this_thread::yield();
    }
    if (lanes_[0].stats().sockets + lanes_[1].stats().sockets > kShape.sockets) std::abort();
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
  };

  // As if another thread took the lane.
  void pass_on(std::size_t lane) {
    lanes_[lane].leave();
    lanes_[lane].join(epoll_.get(), event_);
  }
  void store(std::uint32_t at, std::uint32_t value) { store_shared(memory_.get() + at, value); }
  void add(std::uint32_t at, std::uint32_t value) { store(at, load_shared(memory_.get() + at) + value); }
  void request(std::uint32_t index, Input& input) {
    static constexpr const char* kTexts[] = {"tcp:a:2", "udp:a:3", "rcl:a", "rcl:b", "unix:/x", "tcp:a:1", "", "x:y"};
    const std::uint32_t area = layout_.areas + layout::kRequestSize * index;
    const auto choice = input.take<std::uint8_t>();
    const char* const text = kTexts[choice % std::size(kTexts)];
    store(area + layout::kOperation, choice / std::size(kTexts) % 8);
    const auto first = input.take<std::uint8_t>();
    store(area + layout::kFirst, layout::handle(first % kShape.sockets, first / kShape.sockets));
    store(area + layout::kSecond, first & 1);
    store(area + layout::kTextLength,
          choice == 0xff ? input.take<std::uint32_t>() : static_cast<std::uint32_t>(std::strlen(text)));
    std::memcpy(memory_.get() + area + layout::kTextOffset, text, std::strlen(text));
    add(layout_.requests + 4 * index, 1);
  }

  const SpaceLayout layout_{kShape};
  const Ref<remotecl::testing::PairBroker> broker_ = make_ref<remotecl::testing::PairBroker>();
  const std::unique_ptr<std::byte[], Free> memory_;
  const Descriptor epoll_;
  const Ref<WakeEvent> event_ = make_ref<WakeEvent>();
  LaneGroup group_;
  SocketTable lanes_[2];
  KernelSocket::Clock::time_point now_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Kernels network;
  while (!input.is_over()) network.step(input);
  network.work(true);
  return 0;
}
