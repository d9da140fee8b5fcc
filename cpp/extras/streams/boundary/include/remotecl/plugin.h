/* Devices of your own for remotecl-server: sources, decoders, encoders, sinks.
 *
 * A plugin is a shared library that exports remotecl_plugin_get(). Each of its devices becomes an OpenCL device of type
 * CL_DEVICE_TYPE_CUSTOM with built-in kernels. By default a plugin runs in processes of its own (remotecl-plugin-host),
 * one for each OpenCL program that uses it; buffers are shared memory there. A call that takes longer than the
 * operator's limit, or that ends the process, fails that one command.
 *
 * Functions return 0, or a negative OpenCL error code with a text that names the cause. They must not throw. Calls of
 * one instance come one at a time; instances are independent of each other. Nothing that a plugin gets may be kept
 * beyond the call. */
#ifndef REMOTECL_PLUGIN_H
#define REMOTECL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes only when plugins for the former version can no longer work. Structs begin with their size, and only grow at
 * their end. */
#define REMOTECL_PLUGIN_VERSION 1

#define REMOTECL_PLUGIN_DEVICES_MAX 16
#define REMOTECL_PLUGIN_KERNELS_MAX 32
#define REMOTECL_PLUGIN_ARGUMENTS_MAX 16
#define REMOTECL_PLUGIN_NAME_MAX 127 /* characters of a name, printable ASCII without ';' */
#define REMOTECL_PLUGIN_VALUE_MAX 64 /* bytes of an argument that is no buffer */
#define REMOTECL_PLUGIN_WHY_MAX 500  /* characters of a cause */

/* Kinds of arguments. */
enum {
  REMOTECL_PLUGIN_VALUE = 0,  /* bytes, as clSetKernelArg gets them */
  REMOTECL_PLUGIN_INPUT = 1,  /* a buffer that is only read */
  REMOTECL_PLUGIN_OUTPUT = 2, /* a buffer that is only written; what is not written keeps its bytes */
  REMOTECL_PLUGIN_BOTH = 3
};

typedef struct remotecl_plugin_argument {
  size_t size;      /* of this struct */
  const char* name; /* as CL_KERNEL_ARG_NAME */
  const char* type; /* as CL_KERNEL_ARG_TYPE_NAME */
  uint32_t kind;
  uint32_t bytes; /* a value's size; the least size of a buffer */
} remotecl_plugin_argument;

typedef struct remotecl_plugin_kernel {
  size_t size; /* of this struct */
  const char* name;
  uint32_t count; /* of arguments */
  const remotecl_plugin_argument* arguments;
} remotecl_plugin_kernel;

typedef struct remotecl_plugin_device {
  size_t size;      /* of this struct */
  const char* name; /* as CL_DEVICE_NAME */
  uint32_t count;   /* of kernels */
  const remotecl_plugin_kernel* kernels;
} remotecl_plugin_device;

/* One argument of a call: a value, or as much of a buffer as the kernel was given. Null and 0: no buffer. */
typedef struct remotecl_plugin_data {
  void* data;
  uint64_t bytes;
} remotecl_plugin_data;

typedef struct remotecl_plugin_call {
  size_t size;     /* of this struct */
  uint32_t kernel; /* its index in the device */
  uint32_t count;  /* of arguments, as the kernel's description has it */
  const remotecl_plugin_data* arguments;
  char* why; /* room for REMOTECL_PLUGIN_WHY_MAX + 1 characters: the cause, if the call fails */
} remotecl_plugin_call;

/* What the operator allows, word for word: one text for each --plugin-allow. The plugin must open
 * nothing that no rule names. Valid as long as the plugin is loaded. */
typedef struct remotecl_plugin_host {
  size_t size; /* of this struct */
  uint32_t version;
  uint32_t count; /* of rules */
  const char* const* rules;
} remotecl_plugin_host;

typedef struct remotecl_plugin {
  size_t size;      /* of this struct */
  uint32_t version; /* REMOTECL_PLUGIN_VERSION */
  uint32_t count;   /* of devices */
  const remotecl_plugin_device* devices;
  /* An OpenCL program with this device's kernels begins; its calls get *instance. `why` as in a call. */
  int32_t (*open)(uint32_t device, void** instance, char* why);
  int32_t (*execute)(void* instance, const remotecl_plugin_call* call);
  /* The program has ended. */
  void (*close)(void* instance);
} remotecl_plugin;

/* Exported by the plugin. Called once; what it returns stays valid. Null: it cannot work on this machine. */
const remotecl_plugin* remotecl_plugin_get(const remotecl_plugin_host* host);

#ifdef __cplusplus
}
#endif

#endif
