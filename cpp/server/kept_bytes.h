#pragma once

#include <vector>

#include "server/protocol_error.h"
#include "server/session.h"

namespace remotecl::server {

// Bytes that came with a message and have to wait, counted against the session's limit. Any thread.
class KeptBytes {
 public:
  static constexpr std::uint64_t kSessionMax = std::uint64_t{1} << 30;

  KeptBytes(Session& session, Bytes bytes) : session_(&session), data_(bytes.begin(), bytes.end()) {
    if (session.kept_bytes().fetch_add(data_.size()) > kSessionMax) {
      session.kept_bytes() -= data_.size();
      throw ProtocolError("more than 1 GiB of small writes wait for events");
    }
  }
  ~KeptBytes() { session_->kept_bytes() -= data_.size(); }
  KeptBytes(const KeptBytes&) = delete;
  KeptBytes& operator=(const KeptBytes&) = delete;

  Bytes bytes() const { return data_; }

 private:
  const Ref<Session> session_;
  const std::vector<std::byte> data_;
};

}  // namespace remotecl::server
