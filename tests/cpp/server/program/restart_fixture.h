#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/store/file_directory.h"
#include "runtime/store/store.h"
#include "server/fixture.h"
#include "server/program/program.h"
#include "store/fake_directory.h"
#include "store/temporary_folder.h"

namespace remotecl::testing {

inline Ref<server::Program> make_program(std::string_view code,
                                         server::ProgramOrigin origin = server::ProgramOrigin::kSource) {
  using namespace server;
  const auto used = make_ref<Counters>(MemoryQuota::counters(0));
  const auto quota = make_ref<MemoryQuota>(0, used, MemoryLimits{}, nullptr);
  auto program = make_ref<Program>(origin, make_ref<SessionCounters>(quota));
  program->set_code(as_bytes(code));
  return program;
}

inline Store open_store(std::shared_ptr<FakeFolder> folder) {
  return Store(std::make_unique<FakeDirectory>(std::move(folder)), Store::Bounds{});
}

// Processes of sessions that have the daemon's store.
inline std::optional<server::ProcessCommand> isolation_with_store() {
  auto command = isolation();
  command->arguments.emplace_back("--session-store");
  return command;
}

// A server that may be started anew, with the same store.
class RestartFixture : public ::testing::Test {
 protected:
  explicit RestartFixture(std::optional<server::ProcessCommand> isolation = {}) : isolation_(std::move(isolation)) {
    start();
  }

  void start() {
    server_.reset();
    store_ = std::make_unique<Store>(std::make_unique<FileDirectory>(folder_.path() / "store"), Store::Bounds{});
    server_ = std::make_unique<server::Server>(Address{"127.0.0.1", 0}, "0", std::nullopt, std::nullopt, LimitsTable(),
                                               isolation_, server::PeerRules(), store_.get());
  }
  bool has_stored(std::uint64_t count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (store_->counts().entries < count) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  TemporaryFolder folder_;
  const std::optional<server::ProcessCommand> isolation_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<server::Server> server_;
};

}  // namespace remotecl::testing
