# `make demo` and `make test` do everything that they need first. `make help` lists all targets.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.NOTPARALLEL:

VENV := .venv
PYTHON := $(VENV)/bin/python
PACKAGE := $(VENV)/.package-stamp
# The same without the benchmark program.
DEMO_PACKAGE := $(VENV)/.demo-stamp
# What runs in the guest of `make rdma`.
RDMA_TARGETS := remotecl remotecl-server remotecl_fake_driver rdma-transfers remotecl_rdma_tests remotecl_rdma_faults_tests \
  remotecl_session_cgroup_tests
# Most tests wait for something most of the time, so that three keep two cores busy.
export TESTS_AT_ONCE := 3
# A file's tests share servers and data, so they stay in one process. pytest-xdist would start the files with most tests
# first, and long files with few tests last.
export PYTEST_WORKERS := --numprocesses $(TESTS_AT_ONCE) --dist loadfile --no-loadscope-reorder
# Everything that goes into the wheel.
PACKAGE_SOURCES := $(shell find cpp python tests/bench CMakeLists.txt pyproject.toml README.md LICENSE \
                     -type f -not -name '*.pyc' 2>/dev/null)
CXX_FILES := $(shell find cpp tests python/src -name '*.h' -o -name '*.cpp')
# The wheel and the tests are built in two folders from the same sources with the same flags: the second one
# comes from ccache, if ccache is told not to look at the folder's name.
export CCACHE_NOHASHDIR := 1
# The same name of the compiler for both, because ccache tells c++ and g++ apart.
export CXX

.PHONY: help core debian13 debian-testing setup build package wheel docs demo test bench performance training augmented-reality instructions faults soak many-servers namespaces rdma rdma-short rdma-faults camera asan tsan browser programs programs-short fuzz check-all format lint clean distclean

help:
	@echo "demo       a real job on two daemons over loopback, checked; installs only what that needs"
	@echo "test       C++ and Python tests"
	@echo "core       the core without extras, and its C++ tests"
	@echo "bench      native driver, raw TCP and remotecl side by side"
	@echo "performance  the same, written into docs/performance.md as its section SECTION"
	@echo "training   what each optimisation of training brings, written into docs/applications.md; TRAINING has other arguments"
	@echo "augmented-reality  a weak client and servers over three links, written there, too; PIPELINE has other arguments"
	@echo "asan tsan  the tests with address and undefined-behaviour, or thread sanitizer"
	@echo "fuzz       every fuzz target for FUZZ_SECONDS (600), with sanitizers; needs clang"
	@echo "faults     4,000 lost, stalled and corrupted connections, 6,000 socket calls that fail inside of the processes and"
	@echo "           200 killed daemons, under a workload that is checked; each thread, descriptor, ... that cannot be had"
	@echo "soak       100 clients with mixed work for SOAK_SECONDS (600), a third of them killed"
	@echo "many-servers  one client of 256 daemons on the fake driver: connecting, a chain of kernels, 16 MiB to all"
	@echo "namespaces the tests that need root for network namespaces; skipped without"
	@echo "rdma       RDMA in a small virtual machine with Soft-RoCE; no hardware is needed"
	@echo "rdma-short  the short part of it"
	@echo "rdma-faults  300 losses of RDMA there, under a workload that is checked"
	@echo "camera     a V4L2 camera and its unplugging, in that machine"
	@echo "instructions  what a kernel launch costs, counted by valgrind; fails when it has grown"
	@echo "browser    a session and the notebooks in JupyterLab and Chromium, with screenshots in build/browser, and at a prompt"
	@echo "programs   forty programs of Debian and PyPI, natively and through servers, in a root of Debian's; as root, with mmdebstrap;"
	@echo "           SECTION writes the table into docs/applications.md, PROGRAMS chooses some, RECORD=1 keeps their ratios"
	@echo "programs-short  a dozen of them; fails when one stops working or has become slow"
	@echo "debian13   demo and test in a fresh root of Debian 13, as root, with mmdebstrap; debian-testing: the same there"
	@echo "check-all  lint, test, core, browser, programs, docs, instructions, faults, soak, many-servers, namespaces, rdma, rdma-faults, camera, debian13, debian-testing, asan and tsan"
	@echo "setup      only install what is missing; build, package: only build"
	@echo "wheel      a wheel in dist, repaired and checked; PYTHON=python3.x for another Python"
	@echo "docs       the documentation as HTML in build-docs; warnings are errors"
	@echo "format     format all sources; lint: check format, Python style and types, rooms, locks, clang-tidy"
	@echo "clean      remove what was built; distclean: .venv too"

setup:
	@scripts/setup.sh $(FOR)

# $(call built,TARGETS)
built = test -e build/build.ninja || cmake -G Ninja -S . -B build -DREMOTECL_WERROR=ON; cmake --build build --target $(1)

build: setup
	@$(call built,all)

package: $(PACKAGE)

$(PACKAGE): $(PACKAGE_SOURCES) scripts/requirements.txt scripts/requirements-demo.txt | setup
	@scripts/install.sh
	@touch $@ $(DEMO_PACKAGE)

$(DEMO_PACKAGE): $(filter-out tests/bench/%,$(PACKAGE_SOURCES)) scripts/requirements-demo.txt | setup
	@scripts/install.sh demo
	@touch $@

wheel: setup
	scripts/wheel.sh dist

docs: package
	PATH=$$PWD/$(VENV)/bin:$$PATH sphinx-build --quiet --fail-on-warning --keep-going -b html docs build-docs
	@echo "build-docs/index.html"

# Only what it needs is installed and built.
demo:
	@$(MAKE) --no-print-directory $(DEMO_PACKAGE) FOR=demo
	@$(VENV)/bin/remotecl demo

test: build package
	ctest --test-dir build --output-on-failure --no-tests=error --parallel $(TESTS_AT_ONCE)
	$(PYTHON) -m pytest $(PYTEST_WORKERS)

# With all extras off: the doors of the core lead nowhere.
EXTRAS := SCHEDULING KERNEL_SOCKETS RDMA STREAMS
core: setup
	@test -e build-core/build.ninja || cmake -G Ninja -S . -B build-core -DREMOTECL_WERROR=ON -DREMOTECL_BENCH=OFF \
	  $(EXTRAS:%=-DREMOTECL_%=OFF)
	cmake --build build-core
	ctest --test-dir build-core --output-on-failure --no-tests=error --parallel $(TESTS_AT_ONCE)

bench: package
	@$(VENV)/bin/remotecl bench

# On this machine, into the section of docs/performance.md that SECTION names.
performance: package
	@test -n "$(SECTION)" || { echo "SECTION is not set: make performance SECTION=NAME" >&2; exit 2; }
	@mkdir -p build
	@$(VENV)/bin/remotecl bench --json build/performance.json
	$(PYTHON) scripts/performance_tables.py $(SECTION) build/performance.json

# Training, into a section of docs/applications.md: two ladders, and a step of 191 launches. TRAINING names something else
# to run: TRAINING="alexnet --places native,remotecl".
training: package
	@test -n "$(SECTION)" || { echo "SECTION is not set: make training SECTION=NAME" >&2; exit 2; }
	@mkdir -p build
	@$(PYTHON) -m benchmarks.dnn $(or $(TRAINING),lenet cifar10) --json build/training.json
	@$(if $(TRAINING),rm -f,$(PYTHON) -m benchmarks.dnn cifar10 --batch 10 --layout images --steps 20 --json) \
	  build/training-launches.json
	$(PYTHON) scripts/performance_tables.py $(SECTION) build/training.json $(if $(TRAINING),,build/training-launches.json)

# The same for the pipeline of streams, as root for its links; PIPELINE names something else to run.
PIPELINE := --link 1g,100m,20m
augmented-reality: package
	@test -n "$(SECTION)" || { echo "SECTION is not set: make augmented-reality SECTION=NAME" >&2; exit 2; }
	@mkdir -p build
	@$(PYTHON) -m benchmarks.ar $(PIPELINE) --json build/augmented-reality.json
	$(PYTHON) scripts/performance_tables.py $(SECTION) build/augmented-reality.json

asan: setup
	PYTHON=$(PYTHON) scripts/sanitized-tests.sh address

tsan: setup
	PYTHON=$(PYTHON) scripts/sanitized-tests.sh thread

fuzz: setup
	scripts/fuzz.sh $(or $(FUZZ_SECONDS),600) $(FUZZ_TARGETS)

namespaces: package
	$(PYTHON) -m pytest -m namespaces

# Only what runs in the guest is built. A machine that cannot have a guest fails, but for the short part, which it skips.
rdma: setup
	@$(call built,$(RDMA_TARGETS) remotecl-rdma-bench)
	REMOTECL_TEST_RDMA=1 RDMA_GUEST_SECONDS=1800 scripts/rdma-guest.sh bash -c \
	  'build/bin/remotecl_rdma_tests && REMOTECL_TEST_RDMA_WINDOWS=1 build/bin/remotecl_rdma_tests \
	    && echo "---- ceilings (after $$SECONDS s)" && scripts/rdma-comparison.sh build/bin/remotecl-rdma-bench 1 \
	    && RDMA_DRIVER=/etc/OpenCL/vendors/pocl.icd scripts/rdma-transfers.sh build 16 3 \
	    && echo "---- faults (after $$SECONDS s)" && scripts/rdma-faults.sh build 10 0 0 0 \
	    && echo "make rdma: all of it was right, in $$SECONDS s"'

rdma-short: setup
	@$(call built,$(RDMA_TARGETS))
	REMOTECL_TEST_RDMA=1 scripts/rdma-guest.sh scripts/rdma-short.sh build || [ $$? -eq 77 ]

# 300 losses. The guest is slow, and with 1 GiB it reads its programs from the disk again and again.
rdma-faults: setup
	@$(call built,$(RDMA_TARGETS) remotecl_random_commands_tests remotecl_kill_tests)
	RDMA_GUEST_MEMORY=2048 RDMA_GUEST_SECONDS=3600 scripts/rdma-guest.sh scripts/rdma-faults.sh build 240 20 100 40

# The guest of `make rdma`, whose kernel has a camera: vivid, which makes its own pictures.
camera: package
	@$(call built,remotecl_fake_driver)
	OCL_ICD_VENDORS=$(CURDIR)/build/lib/libremotecl_fake_driver.so scripts/rdma-guest.sh bash -c \
	  'modprobe --dirname build/rdma-guest/kernel vivid && $(PYTHON) -m pytest -p no:cacheprovider -m camera'

faults: build
	REMOTECL_TEST_FAULTS=1000 build/bin/remotecl_random_commands_tests --gtest_filter='Faults*'
	REMOTECL_TEST_TLS=1 REMOTECL_TEST_FAULTS=1000 build/bin/remotecl_random_commands_tests --gtest_filter='Faults*'
	REMOTECL_TEST_TLS=1 REMOTECL_BULK_STREAMS=3 REMOTECL_TEST_FAULTS=1000 build/bin/remotecl_random_commands_tests \
	  --gtest_filter='Faults*'
	REMOTECL_TEST_SHARED_MEMORY=1 REMOTECL_TEST_FAULTS=1000 build/bin/remotecl_random_commands_tests \
	  --gtest_filter='Faults*'
	REMOTECL_TEST_FAULTS=1000 build/bin/remotecl_socket_faults_tests
	REMOTECL_TEST_SHARED_MEMORY=1 REMOTECL_TEST_FAULTS=1000 build/bin/remotecl_socket_faults_tests
	REMOTECL_TEST_TLS=1 REMOTECL_TEST_FAULTS=1000 build/bin/remotecl_socket_faults_tests
	REMOTECL_TEST_TLS=1 REMOTECL_BULK_STREAMS=3 REMOTECL_TEST_FAULTS=3000 build/bin/remotecl_socket_faults_tests
	REMOTECL_TEST_KILLS=200 build/bin/remotecl_kill_tests
	for process in client daemon session; do \
	  REMOTECL_TEST_RESOURCES=$$process build/bin/remotecl_resources_tests || exit 1; done
	REMOTECL_TEST_ISOLATE=1 REMOTECL_TEST_RESOURCES=daemon build/bin/remotecl_resources_tests --gtest_filter=-*Memory
	REMOTECL_TEST_MISTAKES=20000 build/bin/remotecl_mistakes_tests
	REMOTECL_TEST_STEPS=40000 build/bin/remotecl_random_programs_tests
	REMOTECL_TEST_SHARED_MEMORY=1 REMOTECL_TEST_STEPS=40000 build/bin/remotecl_random_programs_tests
	REMOTECL_TEST_TLS=1 REMOTECL_TEST_STEPS=40000 build/bin/remotecl_random_programs_tests
	REMOTECL_TEST_ISOLATE=1 REMOTECL_TEST_STEPS=40000 build/bin/remotecl_random_programs_tests

soak: package
	$(PYTHON) -m pytest -m soak -s

many-servers: build
	REMOTECL_TEST_DAEMONS=256 build/bin/remotecl_many_servers_tests

instructions: build
	@command -v valgrind >/dev/null || { echo "valgrind is missing: apt-get install valgrind" >&2; exit 1; }
	$(PYTHON) tests/bench/instruction_counts.py build

# tests/browser/README.md says what it is for.
browser: package
	@command -v chromium >/dev/null || { echo "chromium is missing: apt-get install chromium" >&2; exit 1; }
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --requirement tests/browser/requirements.txt
	$(PYTHON) -m pytest tests/browser

# tests/programs/README.md says what runs.
PROGRAMS_FOLDER := build-programs
run_programs = $(PYTHON) tests/programs/programs.py --from $(PROGRAMS_FOLDER) --wheel $$(ls -t dist/*.whl | head -1)

programs: wheel
	$(PYTHON) tests/programs/programs.py --prepare $(PROGRAMS_FOLDER) $(PROGRAMS)
	@mkdir -p build
	$(run_programs) --json build/programs.json $(if $(RECORD),--record) $(PROGRAMS)
	$(if $(SECTION),$(PYTHON) scripts/performance_tables.py $(SECTION) build/programs.json)

# Where no root can be made, it says so and is skipped.
programs-short: wheel
	{ $(PYTHON) tests/programs/programs.py --prepare $(PROGRAMS_FOLDER) --short && \
	  $(run_programs) --short --rounds 2; } || [ $$? -eq 77 ]

# A clone of the last commit, where only git and make are installed.
debian13:
	scripts/debian-root.sh trixie make demo test

debian-testing:
	scripts/debian-root.sh testing make demo test

check-all: lint test core browser programs docs instructions faults soak many-servers namespaces rdma rdma-faults camera debian13 debian-testing asan tsan

format: $(VENV)/.lint-stamp
	clang-format -i $(CXX_FILES)
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

lint: $(VENV)/.lint-stamp
	@echo "clang-format --dry-run -Werror of $(words $(CXX_FILES)) files"
	@clang-format --dry-run -Werror $(CXX_FILES)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(PYTHON) scripts/layers.py
	$(PYTHON) scripts/sizes.py --check
	$(PYTHON) scripts/performance_tables.py --check
	scripts/tidy.py

$(VENV)/.lint-stamp: Makefile | setup
	@{ command -v clang-format && command -v clang++ && command -v clang-tidy; } >/dev/null || \
	  { echo "clang is missing: apt-get install clang clang-format clang-tidy" >&2; exit 1; }
	$(PYTHON) -m pip install --quiet --disable-pip-version-check ruff==0.17.6 mypy==2.4.1
	@touch $@

clean:
	rm -rf build build-* dist $(PACKAGE) $(DEMO_PACKAGE)

distclean: clean
	rm -rf $(VENV)
