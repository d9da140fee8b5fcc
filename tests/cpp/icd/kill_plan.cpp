#include "icd/kill_plan.h"

#include <algorithm>
#include <array>

namespace remotecl::testing {
namespace {

using std::chrono::milliseconds;

milliseconds up_to(std::mt19937_64& random, int most) { return milliseconds(random() % static_cast<unsigned>(most)); }
bool one_in(std::mt19937_64& random, unsigned count) { return random() % count == 0; }

const char* name_of(KillPlan::Step::Kind kind) {
  static constexpr const char* kNames[] = {"kill server",     "start server", "stop server",
                                           "continue server", "kill client",  "start client"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace

KillPlan::KillPlan(std::uint64_t seed_) : seed(seed_) {
  std::mt19937_64 random(seed);
  shares_memory = one_in(random, 2);
  streams = one_in(random, 2) ? kStreamsMax : 1;
  constexpr milliseconds kWindows[] = {milliseconds(0), milliseconds(300), milliseconds(1000)};
  window = kWindows[random() % 3];
  if (one_in(random, 3)) {
    clients = 2;
    if (one_in(random, 2)) add(up_to(random, 400), Step::Kind::kKillClient);
  }
  add_kills(random);
  std::stable_sort(steps.begin(), steps.end(), [](const Step& one, const Step& other) { return one.at < other.at; });
}

void KillPlan::add_kills(std::mt19937_64& random) {
  std::array<unsigned, kServers> victims{0, 1, 2};
  std::shuffle(victims.begin(), victims.end(), random);
  // Rarely all of them.
  const unsigned kills = one_in(random, 8) ? 3 : one_in(random, 2) ? 2 : 1;
  bool all_are_back = true;
  milliseconds last{};
  for (unsigned i = 0; i < kills; ++i) {
    const milliseconds at = up_to(random, 400);
    add(at, Step::Kind::kKillServer, victims[i]);
    // Within the time in which it is waited for, or later.
    const bool is_back = one_in(random, 2);
    const milliseconds back_at = at + up_to(random, 600);
    if (is_back) add(back_at, Step::Kind::kStartServer, victims[i]);
    all_are_back = all_are_back && is_back;
    last = std::max(last, back_at);
  }
  if (one_in(random, 3)) {
    const unsigned which = victims[random() % kServers];
    const milliseconds at = up_to(random, 400);
    add(at, Step::Kind::kStopServer, which);
    const milliseconds on_at = at + up_to(random, 500);
    add(on_at, Step::Kind::kContinueServer, which);
    last = std::max(last, on_at);
  }
  // Beside the sessions with the former servers.
  if (all_are_back && one_in(random, 2)) add(last + milliseconds(1), Step::Kind::kStartClient);
}

std::string KillPlan::window_text() const {
  const auto tenths = window.count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string KillPlan::text() const {
  std::string text = std::to_string(clients) + (shares_memory ? " clients with" : " clients without") +
                     " shared memory, REMOTECL_BULK_STREAMS=" + std::to_string(streams) +
                     ", REMOTECL_RECONNECT=" + window_text() + "\n";
  for (const Step& step : steps) {
    text += std::to_string(step.at.count()) + " ms: " + name_of(step.kind) + " " + std::to_string(step.which) + "\n";
  }
  return text;
}

}  // namespace remotecl::testing
