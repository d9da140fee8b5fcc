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

  // Once. Throws ConnectionError.
  void connect(const BulkChannel::Joining& joining);

  const std::vector<std::unique_ptr<BulkChannel>>& all() const { return channels_; }
  bool is_one() const { return channels_.size() == 1; }
  // Null: there is none with this number.
  BulkChannel* find(std::uint32_t number) const {
    return number < channels_.size() ? channels_[number].get() : nullptr;
  }
  // Where bulk data of the device moves, in both directions.
  BulkChannel& of(std::uint32_t device) const { return *channels_[device % channels_.size()]; }
  unsigned streams() const;  // connections that carry them; 0: memory
  Traffic traffic() const;

  // One of them expects large transfers, or no longer. True when another one does, too.
  bool begin_expecting() { return expecting_.fetch_add(1) != 0; }
  void end_expecting() { expecting_.fetch_sub(1); }

  // From now on the end of a connection is that of its channel.
  void end_when_broken() const;
  // As of each channel.
  void shutdown() const;
  void release() const;

 private:
  ChannelSession& session_;
  std::vector<std::unique_ptr<BulkChannel>> channels_;
  std::atomic<unsigned> expecting_{0};
};

}  // namespace remotecl
