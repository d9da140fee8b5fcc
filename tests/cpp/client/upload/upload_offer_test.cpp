#include "runtime/client/upload/upload_offer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "runtime/protocol/sizes.h"

namespace remotecl {
namespace {

constexpr std::uint64_t kChunk = kUploadChunk;

// Looks at no memory: only the order of steps counts.
const std::byte* nowhere() { return nullptr; }

// A sender and a server that has some of the chunks, and answers late and in any order.
class OfferedWrite {
 public:
  OfferedWrite(unsigned seed, UploadLink::Policy policy)
      : random_(seed),
        link_(policy),
        is_always_(policy == UploadLink::Policy::kAlways),
        size_(1 + random_() % (150 * kChunk)),
        has_(static_cast<std::size_t>((size_ + kChunk - 1) / kChunk)),
        offered_(has_.size()),
        offer_(link_, nowhere(), size_) {
    const unsigned of_four = random_() % 5;
    for (auto&& each : has_) each = random_() % 4 < of_four;
  }

  // Returns what went wrong, if anything.
  std::string go() {
    while (at_ < size_ && trouble_.empty()) {
      if (random_() % 8 == 0) change_link();
      if (!waiting_.empty() && random_() % 3 == 0) reply_to_one();
      take(offer_.next());
    }
    if (trouble_.empty() && awaits_ != waits_) trouble_ = "an answer was awaited and not reported, or the reverse";
    return trouble_;
  }
  std::uint64_t skipped() const { return skipped_; }
  std::uint64_t found() const { return found_; }
  bool has_skipped() const { return offer_.has_skipped(); }
  std::size_t offered() const { return static_cast<std::size_t>(std::ranges::count(offered_, true)); }
  std::size_t chunks() const { return has_.size(); }

 private:
  std::uint64_t size_at(std::uint64_t offset) const { return std::min(kChunk, size_ - offset); }
  bool has(std::uint64_t offset) const { return has_[static_cast<std::size_t>(offset / kChunk)]; }
  bool is_offered(std::uint64_t offset) const { return offered_[static_cast<std::size_t>(offset / kChunk)]; }
  void expect(bool condition, const char* what) {
    if (!condition && trouble_.empty()) trouble_ = std::string(what) + " at " + std::to_string(at_);
  }

  // Offering begins and ends to pay.
  void change_link() {
    const std::uint64_t bytes = 1u << (20 + random_() % 11);
    for (int i = 0; i < 3; ++i) link_.sent(bytes, 1);
  }

  void take(const UploadOffer::Step& step) {
    switch (step.action) {
      case UploadOffer::Action::kOffer:
        return note_offer(step);
      case UploadOffer::Action::kAwait:
        expect(is_always_ || has_just_found_, "waits for an answer that is not likely to name anything");
        expect(step.offset == at_ && is_offered(at_) && !is_answered(at_), "waits for nothing");
        expect(!offer_.is_answered(), "waits for what was answered");
        ++awaits_;
        while (!waiting_.empty() && !offer_.is_answered()) reply_to_one();
        return expect(offer_.is_answered(), "no answer ends the wait");
      case UploadOffer::Action::kSkip:
        expect(is_offered(at_) && is_answered(at_) && has(at_), "leaves out what the server has not found");
        expect(step.size == size_at(at_), "leaves out a part of a chunk");
        skipped_ += step.size;
        break;
      case UploadOffer::Action::kSend:
        expect(!is_offered(at_) || !is_answered(at_) || !has(at_), "sends what the server has found");
        expect(is_answered(at_) || !(is_always_ || has_just_found_), "does not wait for an answer");
        expect(is_offered(at_) ? step.size == size_at(at_) : step.size <= kBulkChunkMax, "sends too much at once");
        break;
    }
    expect(step.offset == at_ && step.size != 0 && step.size <= size_ - at_, "goes on somewhere else");
    at_ += step.size;
  }

  void note_offer(const UploadOffer::Step& step) {
    expect(link_.is_worthwhile(), "offers where that does not pay");
    expect(step.offset % kChunk == 0 && step.offset >= at_ && step.offset >= offered_to_, "offers out of order");
    expect(step.size != 0 && step.size <= size_ - step.offset, "offers what is not");
    const std::uint64_t count = (step.size + kChunk - 1) / kChunk;
    expect(count <= kOfferedChunksMax, "offers too much at once");
    waiting_.push_back({step.offset, count});
    offered_to_ = step.offset + count * kChunk;
    expect(waiting_.size() <= 2, "asks for too much at a time");
    std::uint64_t unanswered = 0;
    for (const Waiting& each : waiting_) unanswered += each.count;
    expect(unanswered <= kPendingChunksMax, "offers more than may wait");
    // The server answers no more than this, so both would wait for each other.
    expect(offered_to_ - at_ <= (kOfferedChunksMax + 1) * kChunk, "offers too far ahead of the bytes");
    for (std::uint64_t i = 0; i < count; ++i) offered_[static_cast<std::size_t>(step.offset / kChunk + i)] = true;
    expect(count <= (is_always_ || has_just_found_ ? 32u : 2u), "hashes more than the link leaves time for");
  }

  bool is_answered(std::uint64_t offset) const {
    return std::ranges::none_of(waiting_, [offset](const Waiting& each) {
      return offset >= each.offset && offset < each.offset + each.count * kChunk;
    });
  }

  void reply_to_one() {
    const auto at = waiting_.begin() + static_cast<std::ptrdiff_t>(random_() % waiting_.size());
    const Waiting answered = *at;
    waiting_.erase(at);
    std::vector<std::byte> found;
    for (std::uint64_t i = 0; i < answered.count; ++i) {
      const std::uint64_t chunk = answered.offset + i * kChunk;
      // The server finds nothing for bytes that have come, but it may have looked before.
      const bool is_late = chunk < at_;
      found.push_back(std::byte(has(chunk) && (!is_late || random_() % 2 == 0)));
      if (found.back() != std::byte{} && !is_late) found_ += size_at(chunk);
    }
    has_just_found_ = std::ranges::count(found, std::byte{1}) != 0;
    answer_wrongly(answered.offset, found);
    const auto taken = offer_.take_reply(answered.offset, found, true);
    expect(taken != UploadOffer::Effect::kImpossible, "refuses an answer");
    if (taken == UploadOffer::Effect::kAwaited) ++waits_;
    // The same again is one too many.
    expect(offer_.take_reply(answered.offset, found, true) == UploadOffer::Effect::kImpossible,
           "takes an answer twice");
  }

  // None of these may change anything.
  void answer_wrongly(std::uint64_t offset, std::vector<std::byte> found) {
    const auto is_refused = [this](std::uint64_t at, const std::vector<std::byte>& said) {
      return offer_.take_reply(at, said, true) == UploadOffer::Effect::kImpossible;
    };
    switch (random_() % 4) {
      case 0:
        return expect(is_refused(offset + 1, found), "takes an answer within a chunk");
      case 1:
        return expect(is_refused(offset, {}), "takes an answer without chunks");
      case 2:
        return expect(is_refused(offered_to_, found), "takes an answer to what was not offered");
      default:
        found.resize(found.size() + has_.size());
        return expect(is_refused(offset, found), "takes an answer to more than was offered");
    }
  }

  struct Waiting {
    std::uint64_t offset, count;
  };

  std::mt19937 random_;
  UploadLink link_;
  const bool is_always_;
  bool has_just_found_ = false;
  const std::uint64_t size_;
  std::vector<bool> has_, offered_;  // by chunk
  UploadOffer offer_;
  std::deque<Waiting> waiting_;
  std::uint64_t at_ = 0, offered_to_ = 0, skipped_ = 0, found_ = 0;
  int awaits_ = 0, waits_ = 0;
  std::string trouble_;
};

TEST(UploadOfferTest, EachByteIsSentOrFoundOnceAndInOrder) {
  std::uint64_t skipped = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    OfferedWrite run(seed, UploadLink::Policy::kAuto);
    ASSERT_EQ(run.go(), "") << "seed " << seed;
    ASSERT_EQ(run.skipped(), run.found()) << "seed " << seed;
    ASSERT_EQ(run.has_skipped(), run.skipped() != 0) << "seed " << seed;
    skipped += run.skipped();
  }
  EXPECT_GT(skipped, 1000 * kChunk);
}

TEST(UploadOfferTest, AllChunksAreOfferedIfTheUserWantsThat) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    OfferedWrite run(seed, UploadLink::Policy::kAlways);
    ASSERT_EQ(run.go(), "") << "seed " << seed;
    ASSERT_EQ(run.skipped(), run.found()) << "seed " << seed;
    ASSERT_EQ(run.offered(), run.chunks()) << "seed " << seed;
  }
}

// Nothing is offered before the link is known to be slow, and then from the next chunk on.
TEST(UploadOfferTest, OffersBeginWithinAWriteWhenTheLinkIsFoundToBeSlow) {
  UploadLink link(UploadLink::Policy::kAuto);
  UploadOffer offer(link, nowhere(), 100 * kChunk);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto step = offer.next();
    EXPECT_EQ(step.action, UploadOffer::Action::kSend);
    EXPECT_EQ(step.size, kChunk) << "or much would leave before the link is known";
    offer.delivered({(i + 1) * kChunk, 0.1 * static_cast<double>(i), 0.1 * static_cast<double>(i)});
  }
  EXPECT_EQ(offer.next().action, UploadOffer::Action::kSend) << "two measurements are too few";
  offer.delivered({4 * kChunk, 0.3, 0.3});
  const auto offered = offer.next();
  EXPECT_EQ(offered.action, UploadOffer::Action::kOffer);
  EXPECT_EQ(offered.offset, 4 * kChunk);
}

TEST(UploadOfferTest, OnAFastLinkChunksAreAsLargeAsWithoutOffers) {
  UploadLink link(UploadLink::Policy::kAuto);
  link.sent(1u << 30, 0.1);
  UploadOffer offer(link, nowhere(), 9 * kChunk);
  EXPECT_EQ(offer.next().size, kBulkChunkMax);
  EXPECT_EQ(offer.next().size, kBulkChunkMax);
  EXPECT_EQ(offer.next().size, kChunk);
  EXPECT_FALSE(offer.has_skipped());
}

TEST(UploadOfferTest, ANewConnectionsCountsAreNotComparedWithTheFormerOnes) {
  UploadLink link(UploadLink::Policy::kAuto);
  UploadOffer offer(link, nowhere(), 100 * kChunk);
  offer.delivered({1000 * kChunk, 1, 1});
  offer.delivered({kChunk, 0.1, 0.1});
  EXPECT_EQ(link.bytes_per_s(), 0u);
  offer.delivered({2 * kChunk, 0.2, 0.2});
  EXPECT_NEAR(static_cast<double>(link.bytes_per_s()), 10.0 * kChunk, 2);
}

TEST(UploadOfferTest, AServerThatKeepsNothingGetsTheRestWithoutOffers) {
  UploadLink link(UploadLink::Policy::kAlways);
  UploadOffer offer(link, nowhere(), 200 * kChunk);
  std::uint64_t offered = 0;
  for (int i = 0; i < 2; ++i) {
    const auto step = offer.next();
    ASSERT_EQ(step.action, UploadOffer::Action::kOffer);
    offered = step.offset + step.size;
  }
  EXPECT_EQ(offer.next().action, UploadOffer::Action::kAwait);
  EXPECT_EQ(offer.take_reply(0, std::vector<std::byte>(offered / kChunk / 2), false), UploadOffer::Effect::kAwaited);
  EXPECT_EQ(offer.take_reply(offered / 2, std::vector<std::byte>(offered / kChunk / 2), false),
            UploadOffer::Effect::kTaken);
  for (std::uint64_t at = 0; at < 200 * kChunk;) {
    const auto step = offer.next();
    ASSERT_EQ(step.action, UploadOffer::Action::kSend) << at;
    at += step.size;
  }
}

TEST(UploadOfferTest, DigestsAreThoseOfTheChunks) {
  std::mt19937 random(7);
  std::vector<std::byte> memory(2 * kChunk + 12345);
  for (std::byte& each : memory) each = std::byte(random() & 0xff);
  UploadLink link(UploadLink::Policy::kAlways);
  UploadOffer offer(link, memory.data(), memory.size());
  std::vector<std::byte> digests;
  for (std::uint64_t at = 0; at < memory.size(); at += kChunk) offer.add_digest(at, digests);
  ASSERT_EQ(digests.size(), 3 * sizeof(Digest));
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t size = std::min<std::size_t>(kChunk, memory.size() - i * kChunk);
    const Digest right = sha256(Bytes(memory).subspan(i * kChunk, size));
    EXPECT_EQ(std::memcmp(digests.data() + i * sizeof right, right.data(), sizeof right), 0) << i;
  }
}

}  // namespace
}  // namespace remotecl
