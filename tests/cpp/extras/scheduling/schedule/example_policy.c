/* Big kernels go to GPUs, as many to each as "options" says; what is left goes where it ends first. */
#include <remotecl/policy.h>
#include <stdlib.h>

static int create(const char* options, void** self) {
  static long most[1];
  most[0] = *options ? strtol(options, NULL, 10) : 4;
  *self = most;
  return most[0] > 0 ? 0 : 1;
}

static uint32_t choose(void* self, const remotecl_policy_task* task, const remotecl_policy_candidate* candidate) {
  for (uint32_t at = 0; at < task->count; ++at) {
    if (candidate[at].type == REMOTECL_POLICY_GPU && candidate[at].queued < *(long*)self) return at;
  }
  return REMOTECL_POLICY_NOBODY;
}

const remotecl_policy* remotecl_policy_get(void) {
  static const remotecl_policy policy = {
      sizeof(policy), REMOTECL_POLICY_VERSION, "gpus-first", create, NULL, choose, NULL};
  return &policy;
}
