// Decoders and encoders of FFmpeg, where its libraries are: clips one after another, packets of several pictures.
#include "extras/streams/ffmpeg/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {
namespace {

constexpr int kWidth = 64, kHeight = 48;

class Codec : public testing::Test {
 protected:
  void SetUp() override {
    try {
      libav::functions();
    } catch (const PluginError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  // Of one shade, by which it is known again.
  static std::vector<std::byte> picture(int shade) {
    std::vector<std::byte> bytes(kWidth * kHeight * 3 / 2, std::byte{128});
    std::fill_n(bytes.begin(), kWidth * kHeight, std::byte(shade));
    return bytes;
  }
  static int shade_of(const Frame& frame) { return std::to_integer<int>(frame.bytes[kWidth * kHeight / 2]); }

  static std::vector<Frame> encode(PictureEncoder& encoder, const std::vector<int>& shades) {
    std::vector<Frame> packets;
    for (const int shade : shades) {
      if (auto packet = encoder.encode(picture(shade))) packets.push_back(std::move(*packet));
    }
    while (auto packet = encoder.encode({})) packets.push_back(std::move(*packet));
    return packets;
  }
};

TEST_F(Codec, AnEncoderTakesAnotherClipAfterItsLastPicture) {
  for (const char* const codec : {"h264", "hevc", "vp9", "mjpeg"}) {
    std::optional<PictureEncoder> encoder;
    try {
      encoder.emplace(StreamName("codec:" + std::string(codec) + "?size=64x48"));
    } catch (const PluginError&) {
      continue;  // this FFmpeg has none
    }
    for (int clip = 0; clip < 3; ++clip) {
      const auto packets = encode(*encoder, {40, 120, 200});
      ASSERT_EQ(packets.size(), 3u) << codec << ", clip " << clip;
      EXPECT_EQ(packets[0].info.flags, kFrameKey) << codec;
      PacketDecoder decoder(StreamName("codec:" + std::string(codec)));
      std::vector<Frame> frames;
      for (const Frame& packet : packets) {
        if (auto frame = decoder.decode(packet.bytes)) frames.push_back(std::move(*frame));
      }
      while (auto frame = decoder.decode({})) frames.push_back(std::move(*frame));
      ASSERT_EQ(frames.size(), 3u) << codec;
      EXPECT_NEAR(shade_of(frames[2]), 200, 8) << codec;
    }
  }
}

TEST_F(Codec, HardwareThatIsMissingIsSaidOrDoneWithout) {
  std::vector<Frame> packets;
  try {
    PictureEncoder encoder(StreamName("codec:h264?size=64x48"));
    packets = encode(encoder, {100});
  } catch (const PluginError& error) {
    GTEST_SKIP() << error.what();
  }
  PacketDecoder decoder(StreamName("codec:h264?hardware=auto"));
  auto frame = decoder.decode(packets.at(0).bytes);
  if (!frame) frame = decoder.decode({});
  ASSERT_TRUE(frame);
  EXPECT_NEAR(shade_of(*frame), 100, 8);
  try {
    PacketDecoder only(StreamName("codec:h264?hardware=only"));
  } catch (const PluginError& error) {
    EXPECT_EQ(error.code(), kGone);
    EXPECT_NE(std::string(error.what()).find("this server decodes h264 in no hardware: "), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(PacketDecoder(StreamName("codec:h264?hardware=yes")), PluginError);
}

// Of VP9: packets one after another, and the sizes behind them.
std::vector<std::byte> superframe(const std::vector<Frame>& packets) {
  const auto marker = static_cast<std::byte>(0xc0 | 3 << 3 | (packets.size() - 1));
  std::vector<std::byte> all;
  for (const Frame& packet : packets) all.insert(all.end(), packet.bytes.begin(), packet.bytes.end());
  all.push_back(marker);
  for (const Frame& packet : packets) {
    for (unsigned i = 0; i < 4; ++i) all.push_back(static_cast<std::byte>(packet.bytes.size() >> 8 * i));
  }
  all.push_back(marker);
  return all;
}

TEST_F(Codec, NoPacketIsLostBehindOneOfSeveralPictures) {
  const std::vector<int> shades{20, 45, 70, 95, 120, 145, 170, 195, 220};
  std::vector<Frame> packets;
  try {
    PictureEncoder encoder(StreamName("codec:vp9?size=64x48"));
    packets = encode(encoder, shades);
  } catch (const PluginError& error) {
    GTEST_SKIP() << error.what();
  }
  ASSERT_EQ(packets.size(), shades.size());
  PacketDecoder decoder(StreamName("codec:vp9"));
  std::vector<int> found;
  const auto take = [&found](const std::optional<Frame>& frame) {
    if (frame) found.push_back(shade_of(*frame));
    return frame.has_value();
  };
  take(decoder.decode(superframe({packets.begin(), packets.begin() + 4})));
  for (std::size_t i = 4; i < packets.size(); ++i) take(decoder.decode(packets[i].bytes));
  while (take(decoder.decode({}))) {
  }
  ASSERT_EQ(found.size(), shades.size()) << testing::PrintToString(found);
  for (std::size_t i = 0; i < shades.size(); ++i) EXPECT_NEAR(found[i], shades[i], 8) << i;
}

}  // namespace
}  // namespace remotecl::plugins
