#pragma once

// Attributes for clang's thread-safety analysis; empty for other compilers.
#if defined(__clang__)
#define REMOTECL_TSA(x) __attribute__((x))
#else
#define REMOTECL_TSA(x)
#endif

#define GUARDED_BY(x) REMOTECL_TSA(guarded_by(x))
#define REQUIRES(...) REMOTECL_TSA(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) REMOTECL_TSA(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) REMOTECL_TSA(acquire_capability(__VA_ARGS__))
#define RELEASE(...) REMOTECL_TSA(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) REMOTECL_TSA(try_acquire_capability(__VA_ARGS__))
#define ASSERT_CAPABILITY(x) REMOTECL_TSA(assert_capability(x))
#define RETURN_CAPABILITY(x) REMOTECL_TSA(lock_returned(x))
#define NO_THREAD_SAFETY_ANALYSIS REMOTECL_TSA(no_thread_safety_analysis)
