#include "runtime/client/objects/sampler.h"

#include "runtime/client/objects/handle_registry.h"

namespace remotecl {

Sampler::Sampler(Ref<Context> context, const SamplerState& state, std::vector<cl_sampler_properties> properties)
    : context_(std::move(context)), state_(state), properties_(std::move(properties)) {
  HandleRegistry::add(handle());
}

Sampler::~Sampler() {
  HandleRegistry::remove(handle());
  std::uint64_t sessions = created_on_.load();
  for (Device* device : context_->devices()) {
    const std::uint64_t bit = std::uint64_t{1} << device->session().index();
    if ((sessions & bit) == 0) continue;
    sessions &= ~bit;
    device->session().send(ReleaseSampler{id_});
  }
}

void Sampler::create_on(Session& session) {
  const std::uint64_t bit = std::uint64_t{1} << session.index();
  if ((created_on_.load() & bit) != 0) return;
  created_on_.fetch_or(bit);
  session.send(CreateSampler{id_, state_.normalized_coordinates, state_.addressing, state_.filter});
}

}  // namespace remotecl
