#include "extras/rdma/queue_pair.h"

#include <fcntl.h>

#include <cerrno>

namespace remotecl {
namespace {

// Bytes of a message that go with its request; the first that the device takes.
constexpr unsigned kInlineBytes[] = {256, 64, 0};

}  // namespace

QueuePair::QueuePair(std::shared_ptr<const ProtectionDomain> domain) : domain_(std::move(domain)) {
  try {
    make_queues();
  } catch (...) {
    destroy();
    throw;
  }
}

QueuePair::~QueuePair() { destroy(); }

void QueuePair::make_queues() {
  const RdmaLibrary& library = domain_->library();
  ibv_context* const device = domain_->id()->get()->verbs;
  channel_ = library.verbs.create_comp_channel(device);
  if (channel_ == nullptr) throw ConnectionError("RDMA: no completion channel: " + error_text(errno));
  ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
  completions_ = library.verbs.create_cq(device, kSends + kReceives, nullptr, channel_, 0);
  if (completions_ == nullptr) throw ConnectionError("RDMA: no completion queue: " + error_text(errno));
  domain_->id()->limit_ack_time();
  for (const unsigned bytes : kInlineBytes) {
    if (make_pair(bytes)) return;
  }
  throw ConnectionError("RDMA: no queue pair: " + error_text(errno));
}

bool QueuePair::make_pair(unsigned inline_bytes) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = completions_;
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {kSends, kReceives, 1, 1, inline_bytes};
  wanted.sq_sig_all = 1;
  rdma_cm_id* const id = domain_->id()->get();
  if (domain_->library().cm.create_qp(id, domain_->get(), &wanted) != 0) return false;
  pair_ = id->qp;
  inline_max_ = inline_bytes;
  return true;
}

void QueuePair::destroy() {
  const RdmaLibrary& library = domain_->library();
  if (pair_ != nullptr) library.cm.destroy_qp(domain_->id()->get());
  if (completions_ != nullptr) library.verbs.destroy_cq(completions_);
  if (channel_ != nullptr) library.verbs.destroy_comp_channel(channel_);
}

bool QueuePair::post(ibv_send_wr& request) {
  request.wr_id = kSendBit | (posted_ + 1);
  domain_->note_system_call();
  ibv_send_wr* refused = nullptr;
  if (::ibv_post_send(pair_, &request, &refused) != 0) return false;
  ++posted_;
  return true;
}

bool QueuePair::send(Bytes message, const RegisteredMemory& memory) {
  ibv_sge part{reinterpret_cast<std::uint64_t>(message.data()), static_cast<std::uint32_t>(message.size()),
               memory.local_key()};
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SOLICITED | (message.size() <= inline_max_ ? IBV_SEND_INLINE : 0);
  request.sg_list = &part;
  request.num_sge = 1;
  return post(request);
}

bool QueuePair::write(Bytes bytes, const RegisteredMemory& memory, std::uint64_t address, std::uint32_t key,
                      std::uint32_t immediate) {
  ibv_sge part{reinterpret_cast<std::uint64_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()),
               memory.local_key()};
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.send_flags = IBV_SEND_SOLICITED;
  request.imm_data = htobe32(immediate);
  request.wr.rdma = {address, key};
  request.sg_list = &part;
  request.num_sge = 1;
  return post(request);
}

bool QueuePair::bind(ibv_mw* window, std::uint32_t key, const RegisteredMemory& memory, MutableBytes part) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_BIND_MW;
  request.bind_mw.mw = window;
  request.bind_mw.rkey = key;
  request.bind_mw.bind_info = {memory.get(), reinterpret_cast<std::uint64_t>(part.data()), part.size(),
                               IBV_ACCESS_REMOTE_WRITE};
  return post(request);
}

bool QueuePair::invalidate(std::uint32_t key) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_LOCAL_INV;
  request.invalidate_rkey = key;
  return post(request);
}

bool QueuePair::receive(unsigned buffer, MutableBytes to, const RegisteredMemory& memory) {
  ibv_sge part{reinterpret_cast<std::uint64_t>(to.data()), static_cast<std::uint32_t>(to.size()), memory.local_key()};
  ibv_recv_wr request{};
  request.wr_id = buffer;
  request.sg_list = &part;
  request.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  if (::ibv_post_recv(pair_, &request, &refused) != 0) return false;
  ++receives_;
  return true;
}

std::size_t QueuePair::poll(std::span<ibv_wc> completions) {
  const int count = ::ibv_poll_cq(completions_, static_cast<int>(completions.size()), completions.data());
  if (count <= 0) return 0;
  for (const ibv_wc& completion : completions.first(static_cast<std::size_t>(count))) {
    const bool is_arrival = !is_send(completion) || completion.status != IBV_WC_SUCCESS;
    may_have_event_ = may_have_event_ || is_arrival || armed_ == Completions::kAll;
  }
  return static_cast<std::size_t>(count);
}

void QueuePair::arm(Completions kind) {
  if (armed_ >= kind) return;
  may_have_event_ = may_have_event_ && armed_ != Completions::kNone;
  armed_ = kind;
  domain_->note_system_call();
  ::ibv_req_notify_cq(completions_, kind == Completions::kArrivals ? 1 : 0);
}

void QueuePair::take_event(bool is_readable) {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (armed_ == Completions::kNone || !(is_readable || may_have_event_)) return;
  domain_->note_system_call();
  if (domain_->library().verbs.get_cq_event(channel_, &queue, &context) != 0) return;
  domain_->library().verbs.ack_cq_events(queue, 1);
  armed_ = Completions::kNone;
  may_have_event_ = false;
}

void QueuePair::fail() {
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_ERR;
  domain_->library().verbs.modify_qp(pair_, &state, IBV_QP_STATE);
}

}  // namespace remotecl
