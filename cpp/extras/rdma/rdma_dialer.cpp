#include "extras/rdma/rdma_dialer.h"

#include <cerrno>
#include <cstring>

#include "extras/rdma/socket_address.h"

namespace remotecl {
namespace rdma {

Hello::Hello(Bytes bytes) : size_(sizeof(Preamble) + bytes.size()) {
  if (bytes.size() > kRdmaHelloMax) throw ConnectionError("a first word of this size does not go over RDMA");
  Preamble preamble;
  preamble.size = static_cast<std::uint16_t>(bytes.size());
  std::memcpy(data_.data(), &preamble, sizeof(preamble));
  if (!bytes.empty()) std::memcpy(data_.data() + sizeof(preamble), bytes.data(), bytes.size());
}

rdma_conn_param Hello::parameters() const {
  constexpr std::uint8_t kForever = 7;  // a peer that has no buffer yet is waited for
  constexpr std::uint8_t kRetries = 6;  // not 7, with which Soft-RoCE never stops sending again
  rdma_conn_param parameters{};
  parameters.private_data = data_.data();
  parameters.private_data_len = static_cast<std::uint8_t>(size_);
  parameters.responder_resources = parameters.initiator_depth = 1;
  parameters.retry_count = kRetries;
  parameters.rnr_retry_count = kForever;
  return parameters;
}

std::optional<Bytes> hello_of(const CmEvent& event) {
  Preamble preamble;
  const Bytes data = Bytes(event.data).first(event.data_size);
  if (data.size() < sizeof(preamble) || !decode(data.first(sizeof(preamble)), preamble)) return std::nullopt;
  const Bytes rest = data.subspan(sizeof(preamble));
  const bool is_ours = preamble.magic == Preamble::kMagic && preamble.version == Preamble::kVersion;
  if (!is_ours || preamble.size > rest.size()) return std::nullopt;
  return rest.first(preamble.size);
}

}  // namespace rdma

namespace {

using Clock = std::chrono::steady_clock;

DialedRdma dial(SocketAddress address, Bytes hello, Clock::time_point deadline, int stop) {
  const auto id = std::make_shared<CmId>(RdmaLibrary::get());
  const auto& cm = id->library().cm;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  const auto check = [](int result) {
    if (result != 0) throw ConnectionError("RDMA: " + error_text(errno));
  };
  check(cm.resolve_addr(id->get(), nullptr, address.get(), static_cast<int>(left.count())));
  id->await(RDMA_CM_EVENT_ADDR_RESOLVED, deadline, stop);
  check(cm.resolve_route(id->get(), static_cast<int>(left.count())));
  id->await(RDMA_CM_EVENT_ROUTE_RESOLVED, deadline, stop);
  DialedRdma dialed{std::make_unique<RdmaChannel>(id), {}};
  const rdma::Hello mine(hello);
  rdma_conn_param parameters = mine.parameters();
  check(cm.connect(id->get(), &parameters));
  const CmEvent event = id->await(RDMA_CM_EVENT_ESTABLISHED, deadline, stop);
  const std::optional<Bytes> reply = rdma::hello_of(event);
  if (!reply) throw ConnectionError("RDMA: what answers is no remotecl of this version");
  dialed.reply.assign(reply->begin(), reply->end());
  return dialed;
}

}  // namespace

DialedRdma dial_rdma(const Address& address, Bytes hello, std::chrono::milliseconds timeout, int stop) {
  RdmaLibrary::get();
  const auto deadline = Clock::now() + timeout;
  std::string failure = address.text() + " has no address";
  for (const SocketAddress& one : socket_addresses(address)) {
    try {
      return dial(one, hello, deadline, stop);
    } catch (const RdmaUnavailable&) {
      throw;
    } catch (const ConnectionError& error) {
      failure = address.text() + ": " + error.what();
    }
  }
  throw ConnectionError(failure);
}

}  // namespace remotecl
