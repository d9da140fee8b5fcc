// A whole session of a client, in small OpenCL programs through the ICD, with a server that means harm. The code of the
// first record says which program runs.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "client_programs.h"
#include "hostile_server.h"
#include "runtime/base/printable.h"
#include "runtime/client/objects/device.h"
#include "runtime/client/objects/platform.h"
#include "runtime/client/session/session.h"

using namespace remotecl;

namespace {

void run(fuzz::Program program, const Address& address) {
  try {
    Session session(Platform::instance().group(), {address, {}}, 0);
    DeviceList list{};
    Decoder decoder(session.device_list());
    if (!decoder.read(list)) return;
    session.device_indices().reserve(static_cast<std::uint32_t>(list.devices.size()));
    std::vector<Ref<Device>> devices;
    list.devices.for_each([&](const DeviceDescription& description) {
      if (devices.size() < 4) devices.push_back(make_ref<Device>(Platform::instance(), session, description));
    });
    for (const auto& device : devices) program(device->handle());
    if (printable(session.lost_reason()) != session.lost_reason())
      std::abort();  // what it says could control a terminal
  } catch (const ConnectionError&) {
  }
}

// An input in which what was said stands in the place of what stood for it: how seeds are made.
void record(const char* path, const fuzz::Record& first, std::vector<fuzz::Record> said) {
  said.insert(said.begin(), first);
  const auto bytes = fuzz::serialize(said);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  ::setenv("REMOTECL_LOG", "off", 1);
  ::setenv("REMOTECL_SHARED_MEMORY", "off", 1);
  // What a server says that kernels have printed.
  if (std::freopen("/dev/null", "w", stdout) == nullptr) return 1;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::HostileServer& server = *new fuzz::HostileServer;
  auto script = fuzz::parse_records(std::as_bytes(std::span(data, size)));
  if (script.empty()) return 0;
  const std::uint16_t program_code = script[0].code;
  const fuzz::Program program = fuzz::kPrograms[program_code % fuzz::kProgramCount];
  script.erase(script.begin());
  server.serve(std::move(script), next_id());
  run(program, server.address());
  server.join();
  if (const char* path = std::getenv("REMOTECL_FUZZ_RECORD")) record(path, {program_code, 0, {}}, server.said());
  return 0;
}
