#include "extras/kernel_sockets/server/name_search.h"

#include <cerrno>

#include "extras/kernel_sockets/server/link_pipes.h"
#include "extras/kernel_sockets/space/lane_message.h"

namespace remotecl::server {

NameSearch::NameSearch(RemoteNames::Order order, std::vector<Ref<LinkPipes>> links, bool is_complete)
    : order_(std::move(order)), links_(std::move(links)), is_complete_(is_complete) {}

NameSearch::~NameSearch() = default;

void NameSearch::go_on() {
  const Ref<NameSearch> self(this);
  while (next_ < links_.size()) {
    if (links_[next_++]->ask(self)) return;
    is_complete_ = false;
  }
  order_.reply_to->post({NameFound{.socket = order_.socket, .error = is_complete_ ? ECONNREFUSED : EHOSTUNREACH}});
}

void NameSearch::found(std::unique_ptr<WakingEndpoint> end) {
  order_.reply_to->post({NameFound{.socket = order_.socket, .error = 0, .pipe = std::move(end)}});
}

void NameSearch::refused(int error) {
  if (error == ENOENT) return go_on();
  order_.reply_to->post({NameFound{.socket = order_.socket, .error = error}});
}

void NameSearch::lost() {
  is_complete_ = false;
  go_on();
}

}  // namespace remotecl::server
