#include "server/peer/link_questions.h"

#include <utility>

#include "server/util/protocol_error.h"

namespace remotecl::server {

std::uint64_t LinkQuestions::begin() {
  MutexLock lock(mutex_);
  questions_[++last_];
  return last_;
}

std::vector<std::byte> LinkQuestions::await(std::uint64_t question, Deadline deadline) {
  MutexLock lock(mutex_);
  Question& asked = questions_[question];
  while (!is_closed_ && !asked.is_answered && changed_.wait_until(mutex_, deadline) == std::cv_status::no_timeout) {
  }
  if (!asked.is_answered) abandoned_.insert(question);
  std::vector<std::byte> answer = std::move(asked.answer);
  questions_.erase(question);
  return answer;
}

void LinkQuestions::answered(std::uint64_t question, Bytes answer) {
  MutexLock lock(mutex_);
  const auto at = questions_.find(question);
  if (at != questions_.end() && !at->second.is_answered) {
    at->second = {true, {answer.begin(), answer.end()}};
    changed_.notify_all();
  } else if (abandoned_.erase(question) == 0) {
    throw ProtocolError("a peer answers a question that it was not asked");
  }
}

void LinkQuestions::close() {
  MutexLock lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

}  // namespace remotecl::server
