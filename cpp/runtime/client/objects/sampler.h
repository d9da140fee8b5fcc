#pragma once

#include <vector>

#include "runtime/base/index_set.h"
#include "runtime/client/objects/context.h"
#include "runtime/client/objects/handle.h"
#include "runtime/client/session/session.h"

struct _cl_sampler : remotecl::HandleBase {};

namespace remotecl {

// How a sampler reads.
struct SamplerState {
  cl_bool normalized_coordinates = CL_TRUE;
  cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
  cl_filter_mode filter = CL_FILTER_NEAREST;
};

// An immutable sampler. Any thread.
class Sampler final : public Handle<_cl_sampler, HandleTag::kSampler, CL_INVALID_SAMPLER> {
 public:
  // `properties`: the answer to CL_SAMPLER_PROPERTIES.
  Sampler(Ref<Context> context, const SamplerState& state, std::vector<cl_sampler_properties> properties);

  Context& context() const { return *context_; }
  ObjectId id() const { return id_; }
  const SamplerState& state() const { return state_; }
  const std::vector<cl_sampler_properties>& properties() const { return properties_; }

  // Creates the sampler on the server of `session`, once.
  void create_on(Session& session) REQUIRES(kMemoryMutex);

 private:
  ~Sampler() override;

  const Ref<Context> context_;
  const SamplerState state_;
  const std::vector<cl_sampler_properties> properties_;
  const ObjectId id_ = next_id();
  IndexSet created_on_ GUARDED_BY(kMemoryMutex);  // the indices of sessions
};

}  // namespace remotecl
