#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/base/bytes.h"

// Encodes messages that list their fields with REMOTECL_FIELDS, and decodes them with all checks.
// Little-endian, packed, no padding. Fields: integers, enums, fixed-size arrays of integers, byte strings and
// texts (u32 length), Array of integers (u32 count), messages, Sequence of messages (u32 count). Decoded
// strings, arrays and sequences are views into the received bytes and valid as long as these.
namespace remotecl {

static_assert(std::endian::native == std::endian::little, "the wire format is the memory format of the host");

#define REMOTECL_FIELDS(...)                     \
  template <class F>                             \
  constexpr decltype(auto) fields(F&& f) {       \
    return f(__VA_ARGS__);                       \
  }                                              \
  template <class F>                             \
  constexpr decltype(auto) fields(F&& f) const { \
    return f(__VA_ARGS__);                       \
  }

template <class T>
concept WireScalar = std::is_integral_v<T> || std::is_enum_v<T>;

template <class T>
concept WireMessage = requires(const T& message) {
  message.fields([](const auto&...) {});
};

// A view of integers that may be unaligned in a received message.
template <WireScalar T>
class Array {
 public:
  Array() = default;
  Array(std::span<const T> values) : bytes_(std::as_bytes(values)) {}
  Array(const T* values, std::size_t count) : Array(std::span<const T>(values, count)) {}
  static Array from_bytes(Bytes bytes) {
    Array array;
    array.bytes_ = bytes;
    return array;
  }
  std::size_t size() const { return bytes_.size() / sizeof(T); }
  bool empty() const { return bytes_.empty(); }
  T operator[](std::size_t index) const {
    T value;
    std::memcpy(&value, bytes_.data() + index * sizeof(T), sizeof(T));
    return value;
  }
  Bytes bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

template <class T>
class Sequence;

class Decoder {
 public:
  explicit Decoder(Bytes bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // Called once for each message. Returns false if the bytes end too early or a length points past the end;
  // the message is then in an unspecified state.
  template <class Message>
  bool read(Message& message) {
    return message.fields([this](auto&... field) { return (this->field_(field) && ...); });
  }
  bool at_end() const { return at_ == end_; }
  const std::byte* position() const { return at_; }

 private:
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  bool take(void* to, std::size_t size) {
    if (left() < size) return false;
    std::memcpy(to, at_, size);
    at_ += size;
    return true;
  }
  template <WireScalar T>
  bool field_(T& value) {
    return take(&value, sizeof(T));
  }
  template <WireScalar T, std::size_t N>
  bool field_(std::array<T, N>& values) {
    return take(values.data(), sizeof(T) * N);
  }
  bool field_(Bytes& bytes) {
    std::uint32_t size = 0;
    if (!take(&size, sizeof size) || left() < size) return false;
    bytes = {at_, size};
    at_ += size;
    return true;
  }
  bool field_(std::string_view& text) {
    Bytes bytes;
    if (!field_(bytes)) return false;
    text = as_text(bytes);
    return true;
  }
  template <WireScalar T>
  bool field_(Array<T>& array) {
    std::uint32_t count = 0;
    if (!take(&count, sizeof count) || left() / sizeof(T) < count) return false;
    array = Array<T>::from_bytes({at_, count * sizeof(T)});
    at_ += count * sizeof(T);
    return true;
  }
  template <WireMessage T>
  bool field_(T& message) {
    return read(message);
  }
  template <class T>
  bool field_(Sequence<T>& sequence);

  const std::byte* at_;
  const std::byte* end_;
};

// A list of messages. The sender builds it from a span; the receiver walks it in place, after it has been
// checked.
template <class T>
class Sequence {
 public:
  Sequence() = default;
  Sequence(std::span<const T> items) : items_(items), count_(items.size()) {}

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  // Calls f(const T&) for each item. The item is a view that is valid during the call.
  template <class F>
  void for_each(F&& f) const {
    if (raw_.data() == nullptr) {
      for (const T& item : items_) f(item);
      return;
    }
    Decoder decoder(raw_);
    for (std::size_t i = 0; i < count_; ++i) {
      T item{};
      decoder.read(item);
      f(std::as_const(item));
    }
  }

 private:
  friend class Decoder;
  std::span<const T> items_;
  Bytes raw_;
  std::size_t count_ = 0;
};

template <class T>
bool Decoder::field_(Sequence<T>& sequence) {
  std::uint32_t count = 0;
  if (!take(&count, sizeof count)) return false;
  const std::byte* begin = at_;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::byte* before = at_;
    T item{};
    if (!read(item) || at_ == before) return false;  // an item without bytes would make the time unbounded by the size
  }
  sequence.items_ = {};
  sequence.raw_ = {begin, static_cast<std::size_t>(at_ - begin)};
  sequence.count_ = count;
  return true;
}

namespace wire {

template <class Message>
std::size_t encoded_size(const Message& message);

template <WireScalar T>
constexpr std::size_t field_size(const T&) {
  return sizeof(T);
}
template <WireScalar T, std::size_t N>
constexpr std::size_t field_size(const std::array<T, N>&) {
  return sizeof(T) * N;
}
inline std::size_t field_size(const Bytes& bytes) { return 4 + bytes.size(); }
inline std::size_t field_size(const std::string_view& text) { return 4 + text.size(); }
template <WireScalar T>
std::size_t field_size(const Array<T>& array) {
  return 4 + array.bytes().size();
}
template <WireMessage T>
std::size_t field_size(const T& message) {
  return encoded_size(message);
}
template <class T>
std::size_t field_size(const Sequence<T>& sequence) {
  std::size_t size = 4;
  sequence.for_each([&size](const T& item) { size += encoded_size(item); });
  return size;
}

template <class Message>
std::size_t encoded_size(const Message& message) {
  return message.fields([](const auto&... field) { return (std::size_t{0} + ... + field_size(field)); });
}

template <class Message>
void encode(std::byte*& at, const Message& message);

inline void put(std::byte*& at, const void* from, std::size_t size) {
  if (size != 0) std::memcpy(at, from, size);
  at += size;
}
inline void put_size(std::byte*& at, std::size_t size) {
  const auto narrow = static_cast<std::uint32_t>(size);
  put(at, &narrow, sizeof narrow);
}
template <WireScalar T>
void put_field(std::byte*& at, const T& value) {
  put(at, &value, sizeof value);
}
template <WireScalar T, std::size_t N>
void put_field(std::byte*& at, const std::array<T, N>& values) {
  put(at, values.data(), sizeof(T) * N);
}
inline void put_field(std::byte*& at, const Bytes& bytes) {
  put_size(at, bytes.size());
  put(at, bytes.data(), bytes.size());
}
inline void put_field(std::byte*& at, const std::string_view& text) { put_field(at, as_bytes(text)); }
template <WireScalar T>
void put_field(std::byte*& at, const Array<T>& array) {
  put_size(at, array.size());
  put(at, array.bytes().data(), array.bytes().size());
}
template <WireMessage T>
void put_field(std::byte*& at, const T& message) {
  encode(at, message);
}
template <class T>
void put_field(std::byte*& at, const Sequence<T>& sequence) {
  put_size(at, sequence.size());
  sequence.for_each([&at](const T& item) { encode(at, item); });
}

template <class Message>
void encode(std::byte*& at, const Message& message) {
  message.fields([&at](const auto&... field) { (put_field(at, field), ...); });
}

}  // namespace wire
}  // namespace remotecl
