#include "server/transfer/lent_chunks.h"

#include <algorithm>
#include <cstring>

#include "runtime/protocol/sizes.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

void LentChunks::lend(std::uint64_t loan, PeerId to, Bytes digests) {
  if (digests.size() % sizeof(Digest) != 0 || digests.size() > kOfferedChunksMax * sizeof(Digest)) {
    throw ProtocolError("a loan has a part of a digest, or too many");
  }
  std::vector<Question> questions;
  {
    MutexLock lock(mutex_);
    questions = name(loan, to, digests);
  }
  for (Question& question : questions) ask(loan, question.by, question.digest, std::move(question.respond));
}

std::vector<LentChunks::Question> LentChunks::name(std::uint64_t loan, PeerId to, Bytes digests) {
  // A client's threads may overtake each other.
  if (loan <= forgotten_) {
    auto asked = loans_.extract(loan);
    return asked ? std::move(asked.mapped().questions) : std::vector<Question>();
  }
  if (loans_.contains(loan) && loans_[loan].to != 0) {
    throw ProtocolError("loan " + std::to_string(loan) + " was made before");
  }
  Loan& named = loans_[loan];
  named.to = to;
  for (std::size_t at = 0; at < digests.size(); at += sizeof(Digest)) {
    Digest digest;
    std::memcpy(digest.data(), digests.data() + at, sizeof digest);
    named.digests.insert(digest);
  }
  std::vector<Question> questions = std::move(named.questions);
  forget_old();
  return questions;
}

void LentChunks::forget_old() {
  const auto is_named = [](const auto& each) { return each.second.to != 0; };
  while (std::ranges::count_if(loans_, is_named) > std::ptrdiff_t{kLoansMax}) {
    const auto first = std::ranges::find_if(loans_, is_named);
    forgotten_ = std::max(forgotten_, first->first);
    loans_.erase(first);
  }
  std::size_t digests = 0;
  for (const auto& [number, loan] : loans_) digests += loan.digests.size();
  held_.follow(digests * kDigestSize);
}

void LentChunks::ask(std::uint64_t loan, PeerId by, const Digest& digest, Responder respond) {
  {
    MutexLock lock(mutex_);
    const auto at = loans_.find(loan);
    if (at == loans_.end() || at->second.to == 0) {
      const auto is_unknown = [](const auto& each) { return each.second.to == 0; };
      const bool is_one_more =
          at == loans_.end() && std::ranges::count_if(loans_, is_unknown) >= std::ptrdiff_t{kUnknownMax};
      if (loan > forgotten_ && !is_one_more && loans_[loan].questions.size() < kOfferedChunksMax) {
        loans_[loan].questions.push_back({by, digest, std::move(respond)});
        return;
      }
    } else if (at->second.to == by && at->second.digests.erase(digest) != 0) {
      return readers_.post([this, digest, respond = std::move(respond)] {
        std::vector<std::byte> storage;
        respond(read(digest, storage));
      });
    }
  }
  respond({});
}

Bytes LentChunks::read(const Digest& digest, std::vector<std::byte>& storage) const {
  const auto found = store_.find(owner_, digest);
  if (found == nullptr || found->content.size() > kUploadChunk) return {};
  storage.resize(static_cast<std::size_t>(found->content.size()));
  if (found->content.read(storage)) return storage;
  store_.doubt(owner_, *found);
  return {};
}

void LentChunks::stop() {
  readers_.stop();
  std::map<std::uint64_t, Loan> loans;  // destroyed without the lock
  MutexLock lock(mutex_);
  loans.swap(loans_);
  held_.resize(0);
}

}  // namespace remotecl::server
