/* How remotecl's scheduler asks a user's policy, in a shared library, for the device of a task.
 *
 * The library exports remotecl_policy_get(), which returns a table of functions. Structs begin with their size and only
 * grow at their end: look at a field only if the struct reaches it, and step through candidates by their size. The
 * functions are called one at a time, by any thread, while a command is being enqueued: they must be quick, and must
 * not block, throw or call OpenCL. */
#ifndef REMOTECL_POLICY_H
#define REMOTECL_POLICY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes only if a library for the former version cannot work any more. */
#define REMOTECL_POLICY_VERSION 2

#define REMOTECL_POLICY_NOBODY UINT32_MAX

enum { REMOTECL_POLICY_CPU, REMOTECL_POLICY_GPU, REMOTECL_POLICY_ACCELERATOR, REMOTECL_POLICY_OTHER };

typedef struct remotecl_policy_task {
  size_t size; /* of this struct */
  const char* kernel;
  double work_items;
  uint64_t bytes; /* of all buffers that it uses */
  double now_s;   /* on the scheduler's clock, as all moments */
  double ready_s; /* when the tasks that it waits for are expected to end */
  uint32_t told;  /* the device that the user named for it, or REMOTECL_POLICY_NOBODY */
  uint32_t count; /* of candidates */
} remotecl_policy_task;

/* A device that can run the task, and what is expected if it does. */
typedef struct remotecl_policy_candidate {
  size_t size; /* of this struct */
  uint32_t device;
  uint32_t type; /* REMOTECL_POLICY_CPU, ... */
  double speed;  /* next to other devices */
  uint64_t memory_bytes;
  double free_s;          /* when the device could begin, without waiting for data */
  double transfer_s;      /* how long it takes to bring the data there */
  double seconds;         /* how long the kernel runs */
  double finish_s;        /* when it ends */
  uint64_t missing_bytes; /* that the device lacks */
  uint32_t measured;      /* 1: the device has run this kernel before; 0: `seconds` is a prediction */
  uint32_t queued;        /* this process's tasks that have not ended there */
} remotecl_policy_candidate;

typedef struct remotecl_policy_result {
  size_t size; /* of this struct */
  const char* kernel;
  double work_items;
  uint32_t device;
  double seconds;    /* how long the kernel ran; 0: not measured */
  double expected_s; /* how long it was expected to run */
} remotecl_policy_result;

typedef struct remotecl_policy {
  size_t size;      /* of this struct */
  uint32_t version; /* REMOTECL_POLICY_VERSION */
  const char* name;
  /* Sets the `self` of the other functions, which is NULL if `create` is NULL. `options` is the user's text, or "".
   * Returns 0, or another number if the options are wrong. */
  int (*create)(const char* options, void** self);
  void (*destroy)(void* self); /* may be NULL */
  /* Returns the index of the candidate to take. With REMOTECL_POLICY_NOBODY, the task goes where it ends first. */
  uint32_t (*choose)(void* self, const remotecl_policy_task* task, const remotecl_policy_candidate* candidates);
  void (*finished)(void* self, const remotecl_policy_result* result); /* may be NULL */
} remotecl_policy;

/* The library exports this function. What it returns must stay valid. */
__attribute__((visibility("default"))) const remotecl_policy* remotecl_policy_get(void);

#ifdef __cplusplus
}
#endif
#endif
