#include "support/records.h"

#include <algorithm>

namespace remotecl::fuzz {

std::vector<Record> parse_records(Bytes bytes) {
  constexpr std::size_t kRecordsMax = 512;
  std::vector<Record> records;
  while (bytes.size() >= kMessageHeaderSize && records.size() < kRecordsMax) {
    const auto header = decode_frame<MessageHeader>(bytes.first(kMessageHeaderSize));
    bytes = bytes.subspan(kMessageHeaderSize);
    const Bytes payload = bytes.first(std::min<std::size_t>(header.size, bytes.size()));
    bytes = bytes.subspan(payload.size());
    records.push_back({header.code, header.flags, {payload.begin(), payload.end()}});
  }
  return records;
}

std::vector<std::byte> whole_chunk(const Record& record) {
  std::vector<std::byte> bytes = record.payload;
  if (bytes.size() == kBulkHeaderSize) {
    bytes.resize(bytes.size() + std::min(decode_frame<BulkHeader>(bytes).size, kPushMax));
  }
  return bytes;
}

std::vector<std::byte> serialize(const std::vector<Record>& records) {
  std::vector<std::byte> bytes;
  for (const Record& record : records) {
    const auto header = encode_frame<MessageHeader, kMessageHeaderSize>(
        {static_cast<std::uint32_t>(record.payload.size()), record.code, record.channel});
    bytes.insert(bytes.end(), header.begin(), header.end());
    bytes.insert(bytes.end(), record.payload.begin(), record.payload.end());
  }
  return bytes;
}

}  // namespace remotecl::fuzz
