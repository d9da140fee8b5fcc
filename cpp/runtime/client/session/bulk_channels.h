#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/client/session/bulk_channel.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// The bulk channels of one session. Owned by its connection; any thread after connect().
class BulkChannels {
 public:
  explicit BulkChannels(ChannelSession& session) : session_(session) {}
  BulkChannels(const BulkChannels&) = delete;
  BulkChannels& operator=(const BulkChannels&) = delete;

  // Call it once. Throws ConnectionError.
  void connect(const BulkChannel::Joining& joining);

  const std::vector<std::unique_ptr<BulkChannel>>& all() const { return channels_; }
  bool is_one() const { return channels_.size() == 1; }
  // Null if no channel has this number.
  BulkChannel* find(std::uint32_t number) const {
    return number < channels_.size() ? channels_[number].get() : nullptr;
  }
  // The channel that carries the device's bulk data, in both directions.
  BulkChannel& of(std::uint32_t device) const { return *channels_[device % channels_.size()]; }
  unsigned streams() const;  // connections that carry the channels; 0: shared memory
  Traffic traffic() const;
  RdmaState rdma() const;

  // A channel expects large transfers from now on, or no longer does. Returns true if another channel also
  // expects some.
  bool begin_expecting() { return expecting_.fetch_add(1) != 0; }
  void end_expecting() { expecting_.fetch_sub(1); }

  // From now on a broken connection ends its channel.
  void end_when_broken() const;
  // Does this for each channel.
  void shutdown() const;
  void release() const;

 private:
  ChannelSession& session_;
  std::vector<std::unique_ptr<BulkChannel>> channels_;
  std::atomic<unsigned> expecting_{0};
};

}  // namespace remotecl
