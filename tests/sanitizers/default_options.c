// Options of the address sanitizer where it cannot read the environment, because that is a file in /proc: in what a
// contained session starts, like the driver's linker. There it would look for leaks, fail in that, and the build with it.
// This library stands before the sanitizer's own, which is why that must not insist on being the first.
const char* __asan_default_options(void) { return "detect_leaks=0:verify_asan_link_order=0"; }
