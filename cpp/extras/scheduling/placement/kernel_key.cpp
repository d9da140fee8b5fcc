#include "extras/scheduling/placement/kernel_key.h"

#include "runtime/crypto/digest.h"

namespace remotecl {

std::string kernel_key(Kernel& kernel, const std::vector<Device*>& devices) {
  const Program& program = kernel.program();
  const ProgramCode& code = program.code();
  std::string text = code.text;
  for (const auto& part : code.parts) text.append(reinterpret_cast<const char*>(part.data()), part.size());
  // What a linked program consists of is not known here.
  if (code.origin == ProgramOrigin::kLink) text += std::to_string(program.id());
  if (!devices.empty()) text += '\0' + program.build_info(*devices.front()).options;
  const Digest digest = sha256(as_bytes(text));
  std::string key(reinterpret_cast<const char*>(digest.data()), digest.size());
  key += kernel.info().name;
  for (const Device* device : devices) {
    key += '\0';
    key.append(reinterpret_cast<const char*>(&device), sizeof device);
  }
  return key;
}

}  // namespace remotecl
