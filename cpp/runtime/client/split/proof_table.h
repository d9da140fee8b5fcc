#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "runtime/base/mutex.h"
#include "runtime/client/program/kernel.h"
#include "runtime/client/split/proof/proof.h"

namespace remotecl {

// What was read of kernels, so that each is read once. One for the process; any thread.
class ProofTable {
 public:
  static ProofTable& instance() {
    static ProofTable& table = *new ProofTable;  // threads may outlive the end of main()
    return table;
  }

  // `options`: of the build of the kernel's program, which has a source.
  std::shared_ptr<const proof::Proof> of(const Kernel& kernel, const std::string& options) EXCLUDES(mutex_) {
    const Key key{kernel.program().id(), options, kernel.info().name};
    {
      const MutexLock lock(mutex_);
      if (const auto found = proofs_.find(key); found != proofs_.end()) return found->second;
    }
    auto made = std::make_shared<const proof::Proof>(kernel.program().code().text, options, kernel.info().name);
    const MutexLock lock(mutex_);
    if (proofs_.size() >= kProofsMax) proofs_.clear();
    return proofs_.emplace(key, std::move(made)).first->second;
  }

 private:
  // Includes proofs for programs that no longer exist.
  static constexpr std::size_t kProofsMax = 256;
  using Key = std::tuple<ObjectId, std::string, std::string>;

  Mutex mutex_;
  std::map<Key, std::shared_ptr<const proof::Proof>> proofs_ GUARDED_BY(mutex_);
};

}  // namespace remotecl
