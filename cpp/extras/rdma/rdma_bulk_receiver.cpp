#include "extras/rdma/rdma_bulk_receiver.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "extras/rdma/rdma_chunks.h"
#include "extras/rdma/rdma_registration.h"

namespace remotecl {
namespace {

int make_handles(int slot) {
  const int handles = ::epoll_create1(EPOLL_CLOEXEC);
  if (handles < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  epoll_event event{};
  event.events = EPOLLIN;
  ::epoll_ctl(handles, EPOLL_CTL_ADD, slot, &event);
  return handles;
}

void watch(int handles, int handle, RdmaSlot& slot) {
  if (handle < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  slot.note_system_call();
  // A descriptor with the number of a former one may be a new one, which has to be added.
  if (::epoll_ctl(handles, EPOLL_CTL_MOD, handle, &event) != 0) {
    ::epoll_ctl(handles, EPOLL_CTL_ADD, handle, &event);
  }
}

}  // namespace

RdmaBulkReceiver::RdmaBulkReceiver(BulkTransport& stream, RdmaSlot& slot)
    : stream_(stream), slot_(slot), handles_(make_handles(slot.handle())) {
  ready_.set();
}

RdmaBulkReceiver::~RdmaBulkReceiver() { ::close(handles_); }

// The peer has broken the rules.
std::ptrdiff_t RdmaBulkReceiver::fail() {
  stream_.shutdown();
  slot_.end();
  return 0;
}

// ---- Headers

bool RdmaBulkReceiver::begin(const BulkHeader& header, BulkHeader& shown) {
  chunk_ = shown = header;
  taken_ = 0;
  is_expected_ = false;
  const bool is_remote = chunk_kind(header.status) == kRdmaChunk;
  chunk_source_ = is_remote ? ChunkSource::kChannel : ChunkSource::kStream;
  if (is_remote) {
    slot_.note_system_call();  // that has read the header
    shown.status = 0;
    return header.size != 0;
  }
  // Nothing more of this transfer comes by RDMA, if anything has.
  if (const auto channel = slot_.get().channel) channel->withdraw(header.transfer);
  return true;
}

std::ptrdiff_t RdmaBulkReceiver::try_receive_header(BulkHeader& header) {
  for (;;) {
    if (!ahead_.empty()) {
      const BulkHeader next = ahead_.front();
      ahead_.pop_front();
      return begin(next, header) ? static_cast<std::ptrdiff_t>(kBulkHeaderSize) : fail();
    }
    BulkHeader next{};
    const bool drops = to_drop_ != 0;
    const std::ptrdiff_t count = drops ? try_drop() : try_next_header(next);
    if (count <= 0) return count;
    if (drops) continue;
    if (chunk_kind(next.status) != kResentChunk) return begin(next, header) ? count : fail();
    if (!accept_resent(next)) return fail();
  }
}

bool RdmaBulkReceiver::receive_header(BulkHeader& header) {
  for (;;) {
    if (ahead_.empty() && !held_ && to_drop_ == 0) {
      BulkHeader next{};
      if (!stream_.receive_header(next)) return false;
      if (chunk_kind(next.status) != kResentChunk) return begin(next, header) || fail() != 0;
      if (!accept_resent(next)) return fail() != 0;
      continue;
    }
    const std::ptrdiff_t count = try_receive_header(header);
    if (count >= 0) return count != 0;
    await_something();
  }
}

std::ptrdiff_t RdmaBulkReceiver::try_next_header(BulkHeader& header) {
  if (!held_) return stream_.try_receive_header(header);
  header = *std::exchange(held_, std::nullopt);
  return static_cast<std::ptrdiff_t>(kBulkHeaderSize);
}

// Drops a repeated chunk that has been received whole. The present chunk continues behind this header, and the channel
// is given up.
bool RdmaBulkReceiver::accept_resent(const BulkHeader& header) {
  const std::uint32_t missed = (chunk_number(header.status) - next_number_) & kChunkNumberMask;
  if (header.size == 0 || header.size > kBulkChunkMax) return false;
  if (missed >= kChunkNumberMask - rdma::kChunksAheadMax) {
    to_drop_ = header.size;
    return true;
  }
  const bool is_present = missed == 0 && chunk_source_ == ChunkSource::kChannel && taken_ < chunk_.size;
  if (!is_present || header.transfer != chunk_.transfer || header.size != chunk_.size) return false;
  leave_channel();
  chunk_source_ = ChunkSource::kResent;
  to_drop_ = taken_;
  return true;
}

// ---- Bytes

std::ptrdiff_t RdmaBulkReceiver::try_drop() {
  const std::ptrdiff_t count = stream_.try_discard(to_drop_);
  if (count > 0) to_drop_ -= static_cast<std::size_t>(count);
  return count;
}

std::ptrdiff_t RdmaBulkReceiver::try_take(const BulkDestination& to, std::size_t size, bool is_wanted) {
  is_idle_ = false;
  std::ptrdiff_t count = chunk_source_ == ChunkSource::kChannel ? try_take_from_channel(to, size, is_wanted) : -1;
  if (chunk_source_ != ChunkSource::kChannel) count = try_take_from_stream(to, size, is_wanted);
  if (count > 0) taken_ += static_cast<std::size_t>(count);
  if (count > 0 && taken_ == chunk_.size && chunk_source_ != ChunkSource::kStream) ++next_number_;
  is_idle_ = count < 0;
  return count;
}

std::ptrdiff_t RdmaBulkReceiver::try_take_from_stream(const BulkDestination& to, std::size_t size, bool is_wanted) {
  while (to_drop_ != 0) {
    const std::ptrdiff_t count = try_drop();
    if (count <= 0) return count;
  }
  return is_wanted ? stream_.try_receive({to.bytes}) : stream_.try_discard(size);
}

// Returns -1 too if the bytes are to be taken from the stream from now on.
std::ptrdiff_t RdmaBulkReceiver::try_take_from_channel(const BulkDestination& to, std::size_t size, bool is_wanted) {
  while (chunk_source_ == ChunkSource::kChannel) {
    if (RdmaChannel* const channel = channel_of_chunk()) {
      const RdmaDestination destination{to.bytes, RdmaRegistration::of(to.registration, in_use_.channel)};
      const std::ptrdiff_t count = is_wanted ? channel->try_receive(destination) : channel->try_discard(size);
      if (count > 0) return count;
      if (count == 0) leave_channel();
    }
    const std::ptrdiff_t count = try_read_ahead();
    if (count <= 0) return count;
  }
  return -1;
}

// Reads the stream for what happens to the present chunk. A header that is neither of a chunk in a channel nor of this
// chunk's repetition has its own bytes behind it, which are read later. It shows that the present chunk is delivered,
// perhaps since the last look at the channel; so the header is held back, and the channel is looked at again.
std::ptrdiff_t RdmaBulkReceiver::try_read_ahead() {
  if (to_drop_ != 0) return try_drop();
  if (held_) return in_use_.channel == nullptr ? fail() : -1;
  BulkHeader next{};
  const std::ptrdiff_t count = stream_.try_receive_header(next);
  if (count <= 0) return count;
  if (chunk_kind(next.status) == kRdmaChunk) {
    if (ahead_.size() == rdma::kChunksAheadMax) return fail();
    ahead_.push_back(next);
  } else if (chunk_kind(next.status) != kResentChunk || !accept_resent(next)) {
    held_ = next;
  }
  return count;
}

// Null if this side does not have the channel yet, or no longer: then the channel will come, or the bytes come by the
// stream.
RdmaChannel* RdmaBulkReceiver::channel_of_chunk() {
  const std::uint32_t number = chunk_number(chunk_.status);
  if (in_use_.channel == nullptr || in_use_.number != number) {
    slot_.seen();
    in_use_ = {slot_.find(number), number};
  }
  if (in_use_.channel == nullptr) return nullptr;
  if (!std::exchange(is_expected_, true)) in_use_.channel->expect(chunk_.transfer, chunk_.size);
  return in_use_.channel.get();
}

void RdmaBulkReceiver::leave_channel() {
  slot_.give_up(chunk_number(chunk_.status));
  in_use_.channel = nullptr;
}

bool RdmaBulkReceiver::receive(const BulkDestination& to) {
  if (chunk_source_ == ChunkSource::kStream) {
    taken_ += to.bytes.size();
    return stream_.receive({to.bytes});
  }
  for (BulkDestination left = to; !left.bytes.empty();) {
    const std::ptrdiff_t count = try_receive(left);
    if (count == 0) return false;
    if (count > 0) {
      left = left.part(static_cast<std::size_t>(count), left.bytes.size() - static_cast<std::size_t>(count));
      continue;
    }
    RdmaChannel* const channel = chunk_source_ == ChunkSource::kChannel ? channel_of_chunk() : nullptr;
    if (channel != nullptr && spin_.until([channel] { return channel->has_arrived(); })) continue;
    await_something();
  }
  return true;
}

// ---- Waiting

void RdmaBulkReceiver::await_something() {
  std::array<pollfd, 3> waiting = {{{stream_.wait_handle(), POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}}};
  if (is_in_channel()) {
    waiting[1].fd = slot_.handle();
    if (in_use_.channel != nullptr) waiting[2].fd = in_use_.channel->wait_handle();
  }
  slot_.note_system_call();
  ::poll(waiting.data(), waiting.size(), -1);
}

void RdmaBulkReceiver::await_briefly() {
  RdmaChannel* const channel = chunk_source_ == ChunkSource::kChannel ? channel_of_chunk() : nullptr;
  if (channel == nullptr) return stream_.await_briefly();
  spin_.until([channel] { return channel->has_arrived(); });
}

void RdmaBulkReceiver::report_received() {
  if (chunk_source_ != ChunkSource::kChannel) stream_.report_received();
}

int RdmaBulkReceiver::wait_handle() const {
  if (taken_ == chunk_.size && (!ahead_.empty() || held_)) return ready_.handle();
  if (!is_in_channel()) return stream_.wait_handle();
  // What has arrived may have been taken from the descriptors already, so only an attempt can tell.
  if (!is_idle_) return ready_.handle();
  const int channel = in_use_.channel != nullptr ? in_use_.channel->wait_handle() : -1;
  const int stream = stream_.wait_handle();
  for (const int former : watched_) {
    epoll_event event{};
    if (former >= 0 && former != channel && former != stream) ::epoll_ctl(handles_, EPOLL_CTL_DEL, former, &event);
  }
  const bool is_channel_watched = watched_[0] == channel && watched_number_ == in_use_.number;
  watched_ = {channel, stream};
  watched_number_ = in_use_.number;
  if (!is_channel_watched) watch(handles_, channel, slot_);
  watch(handles_, stream, slot_);
  slot_.note_system_call();  // that polls the result
  return handles_;
}

}  // namespace remotecl
