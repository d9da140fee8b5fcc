#include "extras/rdma/rdma_listener.h"

#include <poll.h>

#include <cerrno>
#include <cstring>

#include "extras/rdma/rdma_dialer.h"
#include "extras/rdma/socket_address.h"

namespace remotecl {
namespace {

constexpr int kBacklog = 64;

}  // namespace

RdmaRequest::RdmaRequest(const RdmaLibrary& library, const CmEvent& event)
    : id_(std::make_shared<CmId>(library, event.id)), data_(event.data) {
  const std::optional<Bytes> hello = rdma::hello_of(event);
  is_understood_ = hello.has_value();
  hello_size_ = is_understood_ ? hello->size() : 0;
}

RdmaRequest::~RdmaRequest() {
  if (!is_accepted_) id_->library().cm.reject(id_->get(), nullptr, 0);
}

Address RdmaRequest::peer() const { return address_of(::rdma_get_peer_addr(id_->get())); }

std::unique_ptr<RdmaChannel> RdmaRequest::accept(Bytes reply) {
  auto channel = std::make_unique<RdmaChannel>(id_);
  const rdma::Hello hello(reply);
  rdma_conn_param parameters = hello.parameters();
  if (id_->library().cm.accept(id_->get(), &parameters) != 0) {
    throw ConnectionError("an RDMA connection cannot be accepted: " + error_text(errno));
  }
  is_accepted_ = true;
  return channel;
}

RdmaListener::RdmaListener(const Address& address) : id_(RdmaLibrary::get()) {
  SocketAddress at = socket_addresses(address).at(0);
  if (id_.library().cm.bind_addr(id_.get(), at.get()) != 0 || id_.library().cm.listen(id_.get(), kBacklog) != 0) {
    throw ConnectionError("RDMA cannot listen on " + address.text() + ": " + error_text(errno));
  }
}

Address RdmaListener::address() const { return address_of(::rdma_get_local_addr(id_.get())); }

std::unique_ptr<RdmaRequest> RdmaListener::next() {
  for (;;) {
    std::array<pollfd, 2> waiting = {{{stopped_.handle(), POLLIN, 0}, {id_.handle(), POLLIN, 0}}};
    ::poll(waiting.data(), waiting.size(), -1);
    if (waiting[0].revents != 0) return nullptr;
    const std::optional<CmEvent> event = id_.next_event();
    if (!event) continue;
    if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL) throw RdmaUnavailable("the RDMA device has been removed");
    if (event->type != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
    auto request = std::make_unique<RdmaRequest>(id_.library(), *event);
    if (request->is_understood()) return request;
  }
}

}  // namespace remotecl
