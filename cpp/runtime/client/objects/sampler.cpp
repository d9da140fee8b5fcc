#include "runtime/client/objects/sampler.h"

#include "runtime/client/objects/handle_registry.h"

namespace remotecl {

Sampler::Sampler(Ref<Context> context, const SamplerState& state, std::vector<cl_sampler_properties> properties)
    : context_(std::move(context)), state_(state), properties_(std::move(properties)) {
  HandleRegistry::add(handle());
}

Sampler::~Sampler() {
  HandleRegistry::remove(handle());
  for (Device* device : context_->devices()) {
    const std::uint32_t session = device->session().index();
    if (!created_on_.contains(session)) continue;
    created_on_.remove(session);
    device->session().send(ReleaseSampler{id_});
  }
}

void Sampler::create_on(Session& session) {
  if (created_on_.contains(session.index())) return;
  created_on_.add(session.index());
  session.send(CreateSampler{id_, state_.normalized_coordinates, state_.addressing, state_.filter});
}

}  // namespace remotecl
