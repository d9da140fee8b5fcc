#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "extras/scheduling/schedule/residency.h"
#include "runtime/client/commands/placed_plan.h"
#include "runtime/client/objects/memory_object.h"
#include "runtime/memory/residency_directory.h"

namespace remotecl {

// What one command reads and writes, and where those bytes are. Takes the place of a PendingCommand in a plan's uses().
// Afterwards the scheduler can ask it without the context's memory mutex. It is reused for the next command, so that it
// keeps its allocations. One thread at a time.
class GatheredInputs final : public MemoryUses, public schedule::Residency {
 public:
  // `device_ids`: what the scheduler calls the devices of the context, in their order.
  void begin(std::span<const schedule::DeviceId> device_ids);
  void reads(const MemoryObject& memory, ByteRange range) override REQUIRES(kMemoryMutex) {
    add(memory, range, true, false);
  }
  void writes(const MemoryObject& memory, ByteRange range) override REQUIRES(kMemoryMutex) {
    add(memory, range, false, true);
  }
  void has_network(const MemoryObject& network) override { only_device_ = network.network_device(); }

  // The device where the command has to run; null: any.
  Device* only_device() const { return only_device_; }

  // Each access names its memory by an index into what was gathered.
  std::span<const schedule::Access> accesses() const { return accesses_; }
  void find(const schedule::Access& access, std::vector<schedule::Segment>& out) const override;
  // The size of all that the command uses. Bytes that it uses several times count once.
  std::uint64_t bytes() const;
  // How many bytes the device at this location has, of all that the command uses.
  std::uint64_t bytes_at(Location location) const;

 private:
  struct Part {
    std::uint64_t bytes;
    LocationSet holders;
    IndexSet devices;  // the same, as the scheduler calls them
  };
  struct Memory {
    const BufferStorage* storage;
    std::size_t begin, end;  // of its parts
  };

  void add(const MemoryObject& memory, ByteRange range, bool reads, bool writes) REQUIRES(kMemoryMutex);
  IndexSet devices_of(const LocationSet& holders) const;

  std::span<const schedule::DeviceId> device_ids_;
  Device* only_device_ = nullptr;
  std::vector<schedule::Access> accesses_;
  std::vector<Memory> memories_;  // one for each access
  std::vector<Part> parts_;
  // Reused for their allocations.
  std::vector<ResidencyDirectory::HeldRange> found_;
  mutable std::vector<std::size_t> sorted_;
};

}  // namespace remotecl
