#pragma once

#include <array>
#include <map>
#include <string>

#include "support/records.h"

namespace remotecl::fuzz {

constexpr std::uint32_t kProcessor = 0, kAccelerator = 1;  // of the fake driver
constexpr std::uint32_t kDevices[] = {kProcessor, kAccelerator};

// What is sent to a session, one after the other.
class Script {
 public:
  template <class Message>
  Script& add(const Message& message, Channel channel = kControl) {
    records_.push_back(record_of(message, channel));
    return *this;
  }
  Script& add_record(const Record& record) {
    records_.push_back(record);
    return *this;
  }
  template <class Message>
  Script& from_peer(const Message& message) {
    return add(message, kPeerControl);
  }
  Script& chunk(TransferId transfer, std::size_t size, std::int32_t status = 0, Channel channel = kBulk) {
    const std::vector<std::byte> data(size, std::byte{0x5a});
    records_.push_back(chunk_record({transfer, static_cast<std::uint32_t>(size), status}, data, channel));
    return *this;
  }
  const std::vector<Record>& records() const { return records_; }

 private:
  std::vector<Record> records_;
};

inline constexpr std::array<std::byte, 256> kZeros{};
inline Bytes data(std::size_t size) { return Bytes(kZeros).first(size); }

struct Ids {
  std::vector<EventId> list;
  Ids(std::initializer_list<EventId> ids) : list(ids) {}
  operator Array<EventId>() const { return std::span<const EventId>(list); }
};

// A queue with id 1, and three buffers of 4096 bytes.
Script with_buffers(std::uint32_t device, std::uint64_t properties = 0);
// A session with links to others, in which all goes well.
Script session_with_peers(std::uint32_t device);

// Sessions of clients, by their names: one for each noun, in which all goes well, and some in which it does not.
std::map<std::string, Script> session_seeds();
// What processes of sessions say, by name; see process_records.h.
std::map<std::string, std::vector<Record>> process_seeds();

}  // namespace remotecl::fuzz
