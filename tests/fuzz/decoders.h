#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/protocol/frames.h"
#include "runtime/protocol/message_buffer.h"
#include "runtime/protocol/messages.h"

namespace remotecl::fuzz {

// What decodes encodes to the same bytes.
template <class Message>
void check_message(Bytes payload) {
  Message message{};
  Decoder decoder(payload);
  if (!decoder.read(message) || !decoder.at_end()) return;
  std::vector<std::byte> again(wire::encoded_size(message));
  std::byte* at = again.data();
  wire::encode(at, message);
  const bool same = again.size() == payload.size() && at == again.data() + again.size() &&
                    (again.empty() || std::memcmp(again.data(), payload.data(), again.size()) == 0);
  if (!same) std::abort();
}

// Cuts a stream into messages, of which the first byte says how many bytes arrive at a time, and decodes each.
template <class Decode>
void decode_stream(Bytes input, Decode&& decode) {
  if (input.empty()) return;
  const std::size_t step = 1 + std::to_integer<std::size_t>(input[0]) * 16;
  input = input.subspan(1);
  MessageBuffer buffer;
  while (!input.empty()) {
    const MutableBytes space = buffer.space();
    const std::size_t count = std::min({step, input.size(), space.size()});
    std::memcpy(space.data(), input.data(), count);
    buffer.commit(count);
    input = input.subspan(count);
    std::uint16_t code = 0;
    Bytes payload;
    auto next = MessageBuffer::Next::kNeedMore;
    while ((next = buffer.next(code, payload)) == MessageBuffer::Next::kMessage) decode(code, payload);
    if (next == MessageBuffer::Next::kBroken) return;
  }
}

}  // namespace remotecl::fuzz
