#!/usr/bin/env bash
# Builds with a sanitizer in a folder of its own, and runs the C++ and the Python tests on that build.
# Usage: PYTHON=.venv/bin/python scripts/sanitized-tests.sh address|thread
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sanitizer=$1
case $sanitizer in
  address) runtime=libasan.so ;;
  thread) runtime=libtsan.so ;;
  *) echo "$0 takes address or thread, not $sanitizer" >&2; exit 2 ;;
esac
build=build-$sanitizer
site=$PWD/$build/site
suppressions=$PWD/tests/sanitizers

[[ -e $build/build.ninja ]] || cmake -G Ninja -S . -B "$build" -DREMOTECL_SANITIZE="$sanitizer" -DREMOTECL_WERROR=ON -DREMOTECL_PYTHON=ON \
  -DPython_EXECUTABLE="$(realpath -s "$PYTHON")" -Dpybind11_DIR="$("$PYTHON" -m pybind11 --cmakedir)"
ninja -C "$build"

# The package goes beside a copy of PyOpenCL (of links, so it costs nothing), because its registration has to be
# inside PyOpenCL's folder and must not replace the one in .venv.
rm -rf "$site"
mkdir -p "$site"
pyopencl=$("$PYTHON" -c 'import importlib.util; print(importlib.util.find_spec("pyopencl").submodule_search_locations[0])')
cp -al "$pyopencl" "$site/pyopencl"
cp -al "$(dirname "$pyopencl")/pocl_binary_distribution" "$site/"  # what PoCL's driver in there needs beside it
rm -f "$site"/pyopencl/.libs/*remotecl*
cmake --install "$build" --component python --prefix "$site" >/dev/null
mkdir "$site/bin"  # the commands, which pip would make
for command in remotecl:_cli.main remotecl-server:_daemon.launcher; do
  printf '#!%s\nfrom remotecl.%s import main\nraise SystemExit(main())\n' "$(realpath -s "$PYTHON")" "${command#*:}" \
    > "$site/bin/${command%:*}"
  chmod +x "$site/bin/${command%:*}"
done

# A small quarantine: tests that look at a daemon's memory would see nothing else grow.
# What was sent is looked at after the call, when its receiver may have said that it is there, and its owner taken it back:
# intercept_send=0. The leak sanitizer of GCC 12 takes what lies before a thread's variables in a library that came later
# for glibc's header, which newer ones do not have, and crashes on it: intercept_tls_get_addr=0.
# A thread that ends would have its alternate signal stack unmapped, which may be the one that LLVM has allocated for it:
# use_sigaltstack=0.
export ASAN_OPTIONS=use_sigaltstack=0:intercept_send=0:intercept_tls_get_addr=0:quarantine_size_mb=16:thread_local_quarantine_size_kb=64:detect_leaks=1:abort_on_error=1:detect_stack_use_after_return=1
export LSAN_OPTIONS=suppressions=$suppressions/leak.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
# A session with a server lives as long as the process, so its threads are never joined: no leak to report.
export TSAN_OPTIONS=intercept_send=0:report_thread_leaks=0:suppressions=$suppressions/thread.supp:halt_on_error=0:second_deadlock_stack=1:ignore_noninstrumented_modules=1

# No test sees what a daemon or a session's process reports, so reports go to files, and each is a failure.
reports=$PWD/$build/reports
rm -rf "$reports"
mkdir "$reports"
trap 'cat "$reports"/* 2>/dev/null || true' EXIT
export ASAN_OPTIONS=$ASAN_OPTIONS:log_path=$reports/address
export TSAN_OPTIONS=$TSAN_OPTIONS:log_path=$reports/thread
export UBSAN_OPTIONS=$UBSAN_OPTIONS:log_path=$reports/undefined

ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "${TESTS_AT_ONCE:-1}"
[[ -z $(ls "$reports") ]]

# Python is not instrumented itself, so the runtime has to be loaded before it; libstdc++ too, or its exceptions
# are not intercepted. Python leaks by design, so leaks are looked for in the C++ tests only.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
options=$PWD/$build/lib/libsanitizer_options.so
gcc -shared -fPIC -O1 -o "$options" tests/sanitizers/default_options.c
export LD_PRELOAD="$options $(g++ -print-file-name=$runtime) $(g++ -print-file-name=libstdc++.so.6)"
export PYTHONPATH=$site PATH=$PATH:$site/bin
# The address sanitizer stands between a loader and dlopen(), so that drivers which a loader finds through its own RPATH
# (those beside PyOpenCL) have to be found in another way.
export LD_LIBRARY_PATH=$site/pyopencl/.libs
export REMOTECL_TEST_BUILD=$PWD/$build
export REMOTECL_TEST_PROGRAM_TIMEOUT_S=600
export REMOTECL_TEST_MEMORY_FACTOR=8  # several bytes beside each, and freed ones are kept
left_out=()  # the thread sanitizer ends a child that is forked off a process with threads, and starts threads itself
[[ $sanitizer != thread ]] || left_out=(--deselect tests/python/test_processes.py::test_a_child_that_is_forked_later_is_told_so_and_the_parent_goes_on)
setarch --addr-no-randomize "$PYTHON" -m pytest ${PYTEST_WORKERS-} -m "not slow and not namespaces and not soak and not camera" "${left_out[@]}"
[[ -z $(ls "$reports") ]]
