#include "extras/rdma/cm_id.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "extras/rdma/socket_address.h"

namespace remotecl {

using Clock = std::chrono::steady_clock;

namespace {

constexpr std::uint8_t kAckTimeExponent = 17;  // 4.096 us * 2^17 = 0.54 s

}  // namespace

CmId::CmId(const RdmaLibrary& library) : library_(library) {
  make_channel();
  if (library_.cm.create_id(events_, &id_, nullptr, RDMA_PS_TCP) != 0) {
    const int error = errno;
    library_.cm.destroy_event_channel(events_);
    throw RdmaUnavailable(error_text(error));
  }
}

CmId::CmId(const RdmaLibrary& library, rdma_cm_id* request) : library_(library), id_(request) {
  try {
    make_channel();
  } catch (...) {
    library_.cm.destroy_id(id_);
    throw;
  }
  if (library_.cm.migrate_id(id_, events_) != 0) {
    const int error = errno;
    library_.cm.destroy_id(id_);
    library_.cm.destroy_event_channel(events_);
    throw ConnectionError("a connection request has gone: " + error_text(error));
  }
}

CmId::~CmId() {
  library_.cm.destroy_id(id_);
  library_.cm.destroy_event_channel(events_);
}

std::string CmId::port() const {
  if (id_->verbs == nullptr) return {};
  return std::string(library_.verbs.get_device_name(id_->verbs->device)) + ":" + std::to_string(id_->port_num);
}

std::string CmId::address() const { return address_of(&id_->route.addr.src_addr).host; }
std::string CmId::peer_address() const { return address_of(&id_->route.addr.dst_addr).host; }

void CmId::limit_ack_time() const {
  std::uint8_t exponent = kAckTimeExponent;
  library_.cm.set_option(id_, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &exponent, sizeof(exponent));
}

void CmId::make_channel() {
  events_ = library_.cm.create_event_channel();
  if (events_ == nullptr) {
    const int error = errno;
    const std::string cause = error == ENODEV ? "there is no device" : error_text(error);
    if (error == EMFILE || error == ENFILE || error == ENOMEM) throw ConnectionError("RDMA: " + cause);
    throw RdmaUnavailable(cause);
  }
  ::fcntl(events_->fd, F_SETFL, ::fcntl(events_->fd, F_GETFL) | O_NONBLOCK);
  ::fcntl(events_->fd, F_SETFD, FD_CLOEXEC);
}

std::optional<CmEvent> CmId::next_event() {
  rdma_cm_event* event = nullptr;
  if (library_.cm.get_cm_event(events_, &event) != 0) return std::nullopt;
  CmEvent result{event->event, event->status, event->id, {}, 0};
  const auto& data = event->param.conn;
  if (data.private_data != nullptr) {
    result.data_size = std::min<std::size_t>(data.private_data_len, CmEvent::kDataMax);
    std::memcpy(result.data.data(), data.private_data, result.data_size);
  }
  library_.cm.ack_cm_event(event);
  return result;
}

CmEvent CmId::await(rdma_cm_event_type type, Clock::time_point deadline, int stop) {
  for (;;) {
    if (const std::optional<CmEvent> event = next_event()) {
      if (event->type == type) return *event;
      throw ConnectionError(std::string("RDMA: ") + library_.cm.event_str(event->type) + ", status " +
                            std::to_string(event->status));
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    std::array<pollfd, 2> waiting = {{{events_->fd, POLLIN, 0}, {stop, POLLIN, 0}}};
    const int found = left.count() <= 0 ? 0 : ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
    if (found == 0) throw ConnectionError(std::string("RDMA: no ") + library_.cm.event_str(type) + " in time");
    if (found > 0 && waiting[1].revents != 0) throw ConnectionError("RDMA: no connection is wanted any more");
  }
}

}  // namespace remotecl
