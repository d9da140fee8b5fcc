#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/protocol/frames.h"
#include "runtime/protocol/messages.h"

namespace remotecl::fuzz {

// An input of the session targets is a list of records: a header like a message's, whose third field says where the
// bytes go, and the bytes. So a recorded stream of messages is an input.
enum Channel : std::uint16_t {
  kControl = 0,           // a message of this code; of the client's answers: about the last question
  kBulk = 1,              // a header of a chunk, and what follows it; alone it stands for a whole chunk
  kPeerControl = 2,       // a message of this code from another server
  kPeerBulk = 3,          // as kBulk
  kControlUnawaited = 4,  // as kControl, without waiting for an answer; of the client's answers: with ids as they are
  kRaw = 5,               // bytes on the control connection, without a header
  kHonest = 6,            // of the client's answers: so many (the code) right ones
  kChannels = 7
};

struct Record {
  std::uint16_t code = 0;
  std::uint16_t channel = kControl;
  std::vector<std::byte> payload;
};

// The last record has as many bytes as are left.
std::vector<Record> parse_records(Bytes bytes);
std::vector<std::byte> serialize(const std::vector<Record>& records);

template <class Message>
Record record_of(const Message& message, Channel channel = kControl) {
  Record record{Message::kCode, channel, std::vector<std::byte>(wire::encoded_size(message))};
  std::byte* at = record.payload.data();
  wire::encode(at, message);
  return record;
}
inline Record chunk_record(const BulkHeader& header, Bytes data, Channel channel = kBulk) {
  const auto bytes = encode_frame<BulkHeader, kBulkHeaderSize>(header);
  Record record{0, channel, std::vector<std::byte>(bytes.size() + data.size())};
  std::copy(data.begin(), data.end(), std::copy(bytes.begin(), bytes.end(), record.payload.begin()));
  return record;
}

// What a record of a bulk channel stands for.
std::vector<std::byte> whole_chunk(const Record& record);

}  // namespace remotecl::fuzz
