#include "support/wire_fields.h"

#include <cstring>
#include <map>

#include "runtime/protocol/frames.h"
#include "runtime/protocol/messages.h"

namespace remotecl::fuzz {
namespace {

// Walks an encoded message as Decoder does, and notes what lies where.
class Walker {
 public:
  Walker(Bytes bytes, std::vector<WireField>& fields, std::size_t begin = 0, bool is_resizable = true)
      : bytes_(bytes), fields_(fields), begin_(begin), is_resizable_(is_resizable) {}

  template <class Message>
  bool walk(Message& message) {
    const bool whole = message.fields([this](auto&... field) { return (this->field(field) && ...); });
    if constexpr (std::is_same_v<Message, RecordedCommand>) {
      if (whole) walk_recorded(message);
    }
    return whole;
  }

 private:
  bool skip(std::size_t size) {
    if (bytes_.size() - at_ < size) return false;
    at_ += size;
    return true;
  }
  bool count(std::uint32_t& value) {
    if (bytes_.size() - at_ < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    return true;
  }
  template <WireScalar T>
  bool field(T& value) {
    if (bytes_.size() - at_ < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    fields_.push_back({WireField::Kind::kNumber, begin_ + at_, sizeof value, {}, is_resizable_});
    return skip(sizeof value);
  }
  template <WireScalar T, std::size_t N>
  bool field(std::array<T, N>& values) {
    for (T& value : values) {
      if (!field(value)) return false;
    }
    return true;
  }
  bool list(std::size_t item) {
    std::uint32_t number = 0;
    if (!count(number)) return false;
    const std::size_t size = std::size_t{number} * item;
    if (bytes_.size() - at_ - 4 < size) return false;
    WireField field{WireField::Kind::kList, begin_ + at_, size, {}, is_resizable_};
    for (std::size_t i = 0; i < number && i < 64; ++i) field.items.push_back(begin_ + at_ + 4 + i * item);
    fields_.push_back(std::move(field));
    return skip(4 + size);
  }
  bool field(Bytes& bytes) {
    const std::size_t before = at_;
    if (!list(1)) return false;
    bytes = bytes_.subspan(before + 4, at_ - before - 4);
    return true;
  }
  bool field(std::string_view&) { return list(1); }
  template <WireScalar T>
  bool field(Array<T>&) {
    const std::size_t before = at_;
    if (!list(sizeof(T))) return false;
    for (std::size_t at = before + 4; at < at_; at += sizeof(T)) {
      fields_.push_back({WireField::Kind::kNumber, begin_ + at, sizeof(T), {}, is_resizable_});
    }
    return true;
  }
  template <WireMessage T>
  bool field(T& message) {
    return walk(message);
  }
  template <class T>
  bool field(Sequence<T>&) {
    std::uint32_t number = 0;
    if (!count(number)) return false;
    WireField list{WireField::Kind::kList, begin_ + at_, 0, {}, is_resizable_};
    skip(4);
    const std::size_t first = at_;
    for (std::uint32_t i = 0; i < number; ++i) {
      const std::size_t before = at_;
      list.items.push_back(begin_ + at_);
      T item{};
      if (!walk(item) || at_ == before) return false;
    }
    list.size = at_ - first;
    fields_.push_back(std::move(list));
    return true;
  }
  // What is recorded in a command buffer: a message within a byte string.
  void walk_recorded(const RecordedCommand& command) {
    for (WireField& field : wire_fields(command.code, command.message)) {
      const std::size_t shift = begin_ + at_ - command.message.size();
      field.offset += shift;
      for (std::size_t& item : field.items) item += shift;
      field.is_resizable = false;
      fields_.push_back(std::move(field));
    }
  }

  const Bytes bytes_;
  std::vector<WireField>& fields_;
  const std::size_t begin_;
  const bool is_resizable_;
  std::size_t at_ = 0;
};

struct Kind {
  std::vector<WireField> (*fields)(Bytes);
  std::vector<std::byte> (*blank)();
};

template <class Message>
std::vector<WireField> fields_of(Bytes payload) {
  std::vector<WireField> fields;
  Message message{};
  Walker(payload, fields).walk(message);
  return fields;
}

template <class Message>
std::vector<std::byte> blank() {
  std::vector<std::byte> bytes(wire::encoded_size(Message{}));
  std::byte* at = bytes.data();
  wire::encode(at, Message{});
  return bytes;
}

const std::map<std::uint16_t, Kind>& kinds() {
  static const std::map<std::uint16_t, Kind> kinds = {
#define REMOTECL_COMMAND(name, number, thread) {number, {&fields_of<name>, &blank<name>}},
#define REMOTECL_REPORT(name, number) {number, {&fields_of<name>, &blank<name>}},
#define REMOTECL_PEER_MESSAGE(name, number) {number, {&fields_of<name>, &blank<name>}},
#include "runtime/protocol/commands.def"
  };
  return kinds;
}

}  // namespace

std::vector<WireField> wire_fields(std::uint16_t code, Bytes payload) {
  const auto kind = kinds().find(code);
  return kind == kinds().end() ? std::vector<WireField>() : kind->second.fields(payload);
}

std::vector<std::byte> blank_message(std::uint16_t code) {
  const auto kind = kinds().find(code);
  return kind == kinds().end() ? std::vector<std::byte>() : kind->second.blank();
}

const std::vector<std::uint16_t>& message_codes() {
  static const std::vector<std::uint16_t> codes = [] {
    std::vector<std::uint16_t> codes;
    for (const auto& [code, kind] : kinds()) codes.push_back(code);
    return codes;
  }();
  return codes;
}

}  // namespace remotecl::fuzz
