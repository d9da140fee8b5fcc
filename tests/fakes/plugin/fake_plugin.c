/* The plugin's interface in plain C. Its kernels are in kKernels. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "remotecl/plugin.h"

#define ARGUMENT(name, type, kind, bytes) \
  { sizeof(remotecl_plugin_argument), name, type, kind, bytes }
#define KERNEL(name, arguments) \
  { sizeof(remotecl_plugin_kernel), name, sizeof(arguments) / sizeof(arguments[0]), arguments }

static const remotecl_plugin_argument kDouble[] = {
    ARGUMENT("to", "int*", REMOTECL_PLUGIN_OUTPUT, 4),
    ARGUMENT("from", "int*", REMOTECL_PLUGIN_INPUT, 4),
    ARGUMENT("times", "int", REMOTECL_PLUGIN_VALUE, 4),
};
static const remotecl_plugin_argument kCount[] = {ARGUMENT("to", "int*", REMOTECL_PLUGIN_OUTPUT, 4)};
static const remotecl_plugin_argument kMilliseconds[] = {ARGUMENT("milliseconds", "int", REMOTECL_PLUGIN_VALUE, 4)};

static const remotecl_plugin_argument kSystemCall[] = {
    ARGUMENT("result", "long*", REMOTECL_PLUGIN_OUTPUT, 8),
    ARGUMENT("words", "long*", REMOTECL_PLUGIN_INPUT, 8),
    ARGUMENT("bytes", "char*", REMOTECL_PLUGIN_INPUT, 1),
};

enum { kMultiply, kCalls, kAbort, kHang, kFlood, kGarbage, kFail, kSleep, kScribble, kSystem };

static const remotecl_plugin_kernel kKernels[] = {
    KERNEL("test.multiply", kDouble),
    KERNEL("test.calls", kCount), /* of this instance, so far */
    KERNEL("test.abort", kCount),
    KERNEL("test.hang", kCount),
    KERNEL("test.flood", kCount),   /* messages that nobody has asked for */
    KERNEL("test.garbage", kCount), /* an answer to another call */
    KERNEL("test.fail", kCount),
    KERNEL("test.sleep", kMilliseconds),
    KERNEL("test.scribble", kCount),         /* prints as much as it can */
    KERNEL("test.system_call", kSystemCall), /* as a decoder would that has been taken over */
};
static const remotecl_plugin_device kDevices[] = {
    {sizeof(remotecl_plugin_device), "fake plugin", sizeof(kKernels) / sizeof(kKernels[0]), kKernels},
    {sizeof(remotecl_plugin_device), "second fake plugin", 2, kKernels},
};

struct instance {
  int32_t calls;
};

static int32_t open_instance(uint32_t device, void** instance, char* why) {
  (void)device;
  *instance = calloc(1, sizeof(struct instance));
  if (*instance != NULL) return 0;
  strcpy(why, "no memory");
  return -6;
}

static void close_instance(void* instance) { free(instance); }

static void sleep_ms(int milliseconds) {
  const struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
  nanosleep(&time, NULL);
}

static int32_t multiply(const remotecl_plugin_call* call) {
  const int32_t* const from = call->arguments[1].data;
  int32_t* const to = call->arguments[0].data;
  int32_t times;
  memcpy(&times, call->arguments[2].data, sizeof times);
  if (call->arguments[0].bytes < call->arguments[1].bytes) {
    snprintf(call->why, REMOTECL_PLUGIN_WHY_MAX, "%llu bytes do not fit into %llu",
             (unsigned long long)call->arguments[1].bytes, (unsigned long long)call->arguments[0].bytes);
    return -61;
  }
  for (uint64_t i = 0; i < call->arguments[1].bytes / 4; ++i) to[i] = from[i] * times;
  return 0;
}

/* A word from 1 << 60 on is the address of a byte. The result of a call that fails is its error, as a negative number.
 */
static int32_t system_call(const remotecl_plugin_call* call) {
  const char* const bytes = call->arguments[2].data;
  int64_t words[7];
  memcpy(words, call->arguments[1].data, sizeof words);
  for (int i = 1; i < 7; ++i) {
    if (words[i] >= (int64_t)1 << 60) words[i] = (int64_t)(intptr_t)(bytes + (words[i] - ((int64_t)1 << 60)));
  }
  int64_t result = syscall(words[0], words[1], words[2], words[3], words[4], words[5], words[6]);
  if (result < 0) result = -errno;
  memcpy(call->arguments[0].data, &result, sizeof result);
  return 0;
}

static int32_t execute(void* data, const remotecl_plugin_call* call) {
  struct instance* const instance = data;
  char junk[600];
  memset(junk, 0x5a, sizeof junk);
  ++instance->calls;
  switch (call->kernel) {
    case kMultiply:
      return multiply(call);
    case kCalls:
      memcpy(call->arguments[0].data, &instance->calls, sizeof instance->calls);
      return 0;
    case kAbort:
      abort();
    case kHang:
      for (;;) sleep_ms(1000);
    case kFlood:
      for (int i = 0; i < 100000; ++i) {
        if (write(3, junk, sizeof junk) < 0) return 0;
      }
      return 0;
    case kGarbage:
      return write(3, junk, sizeof junk) < 0 ? -5 : 0;
    case kFail:
      memset(call->why, 'x', REMOTECL_PLUGIN_WHY_MAX + 1); /* nothing ends it */
      return 77;
    case kSleep: {
      int milliseconds;
      memcpy(&milliseconds, call->arguments[0].data, sizeof milliseconds);
      sleep_ms(milliseconds);
      return 0;
    }
    case kScribble:
      for (int i = 0; i < 10000; ++i) fwrite(junk, 1, sizeof junk, i % 2 == 0 ? stdout : stderr);
      return 0;
    case kSystem:
      return system_call(call);
    default:
      return -30;
  }
}

static const remotecl_plugin kPlugin = {sizeof kPlugin, REMOTECL_PLUGIN_VERSION, 2, kDevices, open_instance,
                                        execute,        close_instance};

__attribute__((visibility("default"))) const remotecl_plugin* remotecl_plugin_get(const remotecl_plugin_host* host) {
  for (uint32_t i = 0; i < host->count; ++i) {
    if (strcmp(host->rules[i], "fake:abort-at-once") == 0) abort();
    if (strcmp(host->rules[i], "fake:none") == 0) return NULL;
  }
  return &kPlugin;
}
