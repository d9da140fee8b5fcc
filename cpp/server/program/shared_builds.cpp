#include "server/program/shared_builds.h"

#include <algorithm>
#include <utility>

namespace remotecl::server {

void SharedBuilds::publish(BuildId build, const Digest& key, std::vector<std::byte> entry) {
  const auto shared = std::make_shared<const std::vector<std::byte>>(std::move(entry));
  std::vector<Question> answered;
  {
    MutexLock lock(mutex_);
    Build& at = builds_[build];
    std::erase_if(at.questions, [&](Question& question) {
      if (question.key != key) return false;
      answered.push_back(std::move(question));
      return true;
    });
    if (size() + shared->size() <= kSizeMax && held_.try_follow(size() + shared->size())) at.entries[key] = shared;
  }
  for (const Question& question : answered) question.respond(*shared);
}

void SharedBuilds::end(BuildId build) {
  std::vector<Question> unanswered;
  {
    MutexLock lock(mutex_);
    Build& at = builds_[build];
    at.has_ended = true;
    unanswered = std::exchange(at.questions, {});
    forget_ended();
  }
  for (const Question& question : unanswered) question.respond({});
}

void SharedBuilds::ask(BuildId build, const Digest& key, Responder respond) {
  Entry entry;
  {
    MutexLock lock(mutex_);
    const auto at = builds_.find(build);
    const auto is_unknown = [](const auto& each) { return !each.second.has_ended && each.second.entries.empty(); };
    const bool is_too_late = at == builds_.end() && build <= forgotten_;
    const bool is_one_more =
        at == builds_.end() && std::ranges::count_if(builds_, is_unknown) >= std::ptrdiff_t{kUnknownMax};
    if (!is_too_late && !is_one_more) {
      Build& known = builds_[build];
      const auto found = known.entries.find(key);
      if (++known.answered <= kQuestionsMax) {
        if (found == known.entries.end() && !known.has_ended) {
          known.questions.push_back({key, std::move(respond)});
          return;
        }
        if (found != known.entries.end()) entry = found->second;
      }
    }
  }
  respond(entry != nullptr ? Bytes(*entry) : Bytes());
}

void SharedBuilds::clear() {
  std::map<BuildId, Build> builds;  // destroyed without the lock
  MutexLock lock(mutex_);
  builds.swap(builds_);
  held_.follow(0);
}

void SharedBuilds::forget_ended() {
  const auto has_ended = [](const auto& each) { return each.second.has_ended; };
  while (std::ranges::count_if(builds_, has_ended) > std::ptrdiff_t{kBuildsMax}) {
    const auto first = std::ranges::find_if(builds_, has_ended);
    forgotten_ = std::max(forgotten_, first->first);
    builds_.erase(first);
  }
  held_.try_follow(size());
}

std::size_t SharedBuilds::size() const {
  std::size_t size = 0;
  for (const auto& [id, build] : builds_) {
    for (const auto& [key, entry] : build.entries) size += entry->size();
  }
  return size;
}

}  // namespace remotecl::server
