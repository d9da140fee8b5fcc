#include "server/transfer/bulk_channels.h"

#include <algorithm>

namespace remotecl::server {

BulkChannels::BulkChannels(TransferTable& transfers, StreamRecovery& recovery, unsigned count_max) {
  for (unsigned number = 0; number < count_max; ++number) {
    channels_.push_back(make_ref<BulkChannel>(transfers, recovery, number));
  }
}

void BulkChannels::use(unsigned wanted) {
  count_.store(std::clamp<unsigned>(wanted, 1, static_cast<unsigned>(channels_.size())), std::memory_order_release);
}

BulkChannel* BulkChannels::find(unsigned number) const { return number < count() ? channels_[number].get() : nullptr; }

BulkChannel& BulkChannels::of(const Queue& queue) const { return *channels_[queue.device().index() % count()]; }

Ref<IncomingTransfer> BulkChannels::find_pulled(TransferId id) const {
  for (unsigned number = 0; BulkChannel* const channel = find(number); ++number) {
    if (Ref<IncomingTransfer> transfer = channel->receiver().find_pulled(id)) return transfer;
  }
  return nullptr;
}

void BulkChannels::end_when_broken() const {
  for (const auto& channel : channels_) {
    if (channel->stream() != nullptr) channel->stream()->end_when_broken();
  }
}

void BulkChannels::set_window(std::chrono::milliseconds window) const {
  for (const auto& channel : channels_) channel->set_window(window);
}

Traffic BulkChannels::traffic() const {
  Traffic traffic;
  for (const auto& channel : channels_) traffic += channel->traffic();
  return traffic;
}

RdmaState BulkChannels::rdma() const {
  RdmaState rdma;
  for (const auto& channel : channels_) rdma += channel->rdma();
  return rdma;
}

void BulkChannels::close() const {
  for (const auto& channel : channels_) channel->shutdown();
  for (const auto& channel : channels_) channel->close();
}

void BulkChannels::drop_transfers() const {
  for (const auto& channel : channels_) channel->receiver().take_all();
}

}  // namespace remotecl::server
