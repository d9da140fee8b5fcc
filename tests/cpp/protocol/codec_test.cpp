// Every message of commands.def through the encoder and the checked decoder.
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "runtime/protocol/frames.h"
#include "runtime/protocol/messages.h"

namespace remotecl {
namespace {

// Fills messages with random values; what their views point to lives here.
class Filler {
 public:
  explicit Filler(unsigned seed) : random_(seed) {}

  template <class Message>
  Message make() {
    Message message{};
    message.fields([this](auto&... field) { (this->fill(field), ...); });
    return message;
  }
  std::vector<std::byte> bytes(std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random_());
    return bytes;
  }
  std::size_t number(std::size_t end) { return random_() % end; }

 private:
  template <WireScalar T>
  void fill(T& value) {
    value = static_cast<T>(random_());
  }
  template <WireScalar T, std::size_t N>
  void fill(std::array<T, N>& values) {
    for (T& value : values) fill(value);
  }
  void fill(Bytes& view) { view = kept_.emplace_back(bytes(number(20))); }
  void fill(std::string_view& text) { text = as_text(kept_.emplace_back(bytes(number(20)))); }
  template <WireScalar T>
  void fill(Array<T>& array) {
    array = Array<T>::from_bytes(kept_.emplace_back(bytes(number(5) * sizeof(T))));
  }
  template <WireMessage T>
  void fill(T& message) {
    message = make<T>();
  }
  template <class T>
  void fill(Sequence<T>& sequence) {
    auto items = std::make_shared<std::vector<T>>();
    const std::size_t count = number(4);
    for (std::size_t i = 0; i < count; ++i) items->push_back(make<T>());
    sequence = std::span<const T>(*items);
    sequences_.push_back(items);
  }

  std::mt19937_64 random_;
  std::deque<std::vector<std::byte>> kept_;
  std::deque<std::shared_ptr<void>> sequences_;
};

template <class Message>
std::vector<std::byte> encoded(const Message& message) {
  std::vector<std::byte> bytes(wire::encoded_size(message));
  std::byte* at = bytes.data();
  wire::encode(at, message);
  EXPECT_EQ(at, bytes.data() + bytes.size()) << "encoded_size and encode disagree";
  return bytes;
}

// What the tests need of a kind of message, so that no test is compiled once for each of 150.
struct Codec {
  const char* name;
  std::vector<std::byte> (*random)(Filler& filler);
  // Encodes again what the decoder has read, and tells how many bytes it has used; nothing if it has refused them.
  std::optional<std::vector<std::byte>> (*recoded)(Bytes bytes, std::size_t& used);
};

void PrintTo(const Codec& codec, std::ostream* out) { *out << codec.name; }

template <class Message>
constexpr Codec codec_of(const char* name) {
  return {name, [](Filler& filler) { return encoded(filler.make<Message>()); },
          [](Bytes bytes, std::size_t& used) -> std::optional<std::vector<std::byte>> {
            Message message{};
            Decoder decoder(bytes);
            if (!decoder.read(message)) return std::nullopt;
            used = static_cast<std::size_t>(decoder.position() - bytes.data());
            return encoded(message);
          }};
}

constexpr Codec kCodecs[] = {
#define REMOTECL_COMMAND(name, number, thread) codec_of<name>(#name),
#define REMOTECL_REPORT(name, number) codec_of<name>(#name),
#define REMOTECL_PEER_MESSAGE(name, number) codec_of<name>(#name),
#include "runtime/protocol/commands.def"
    codec_of<MessageHeader>("MessageHeader"), codec_of<BulkHeader>("BulkHeader"), codec_of<Hello>("Hello"),
    codec_of<Welcome>("Welcome")};

using CodecTest = ::testing::TestWithParam<Codec>;
INSTANTIATE_TEST_SUITE_P(Messages, CodecTest, ::testing::ValuesIn(kCodecs),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(CodecTest, RoundTrip) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Filler filler(seed);
    const auto bytes = GetParam().random(filler);
    std::size_t used = 0;
    const auto again = GetParam().recoded(bytes, used);
    ASSERT_TRUE(again);
    EXPECT_EQ(used, bytes.size());
    EXPECT_EQ(*again, bytes);
  }
}

// Each prefix lies in a block of exactly its size, so that the address sanitizer sees any read beyond it.
TEST_P(CodecTest, EveryTruncationIsRefused) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Filler filler(seed);
    const auto bytes = GetParam().random(filler);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::vector<std::byte> prefix(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      std::size_t used = 0;
      EXPECT_FALSE(GetParam().recoded(prefix, used)) << size << " of " << bytes.size() << " bytes";
    }
  }
}

TEST_P(CodecTest, RandomBytesAreDecodedOrRefused) {
  Filler filler(99);
  for (int round = 0; round < 2000; ++round) {
    auto bytes = filler.bytes(filler.number(200));
    // Small lengths get further into the message.
    for (auto& byte : bytes) {
      if (filler.number(3) != 0) byte = static_cast<std::byte>(filler.number(3));
    }
    std::size_t used = 0;
    const auto again = GetParam().recoded(bytes, used);
    if (!again) continue;
    bytes.resize(used);
    EXPECT_EQ(*again, bytes);
  }
}

TEST(Frames, HaveTheirFixedSizes) {
  EXPECT_EQ(wire::encoded_size(Hello{}), kHelloSize);
  EXPECT_EQ(wire::encoded_size(Welcome{}), kWelcomeSize);
  EXPECT_EQ(wire::encoded_size(MessageHeader{}), kMessageHeaderSize);
  EXPECT_EQ(wire::encoded_size(BulkHeader{}), kBulkHeaderSize);
}

// The bytes themselves are the contract with other versions.
TEST(Frames, HelloIsLaidOutAsDocumented) {
  const auto bytes = encode_frame<Hello, kHelloSize>({kMagic, 0x01020304, Role::kBulk, 5, 0x1122334455667788, {}});
  EXPECT_EQ(as_text(Bytes(bytes).first(8)), "remotecl");
  EXPECT_EQ(bytes[8], std::byte{4});
  EXPECT_EQ(bytes[11], std::byte{1});
  EXPECT_EQ(bytes[12], std::byte{1});
  EXPECT_EQ(bytes[16], std::byte{5});
  EXPECT_EQ(bytes[24], std::byte{0x88});
  EXPECT_EQ(bytes[31], std::byte{0x11});
}

TEST(Frames, FeaturesSayOverHowManyConnections) {
  EXPECT_EQ(features_of_stripes(3), 0x300u);
  for (unsigned count = 0; count <= kStripesMax; ++count)
    EXPECT_EQ(stripes_of(features_of_stripes(count) | 0xf0ff), count);
  const auto bytes = encode_frame<StripesJoined, kStripesJoinedSize>({3});
  EXPECT_EQ(bytes[0], std::byte{3});
  EXPECT_EQ(bytes[7], std::byte{0});
}

TEST(Codec, CountThatCannotBeThereIsRefusedAtOnce) {
  // 4 billion items in 8 bytes.
  std::vector<std::byte> bytes(8, std::byte{0xFF});
  DeviceList list{};
  EXPECT_FALSE(Decoder(bytes).read(list));
  BuildProgram build{};
  EXPECT_FALSE(Decoder(bytes).read(build));
}

TEST(MessageCodes, AreNamed) {
  EXPECT_EQ(message_name(Code::kEnqueueKernel), "EnqueueKernel");
  EXPECT_EQ(message_name(9999), "unknown");
}

}  // namespace
}  // namespace remotecl
