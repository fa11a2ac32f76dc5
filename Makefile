# SPDX-License-Identifier: Apache-2.0
#
# The front doors. Each target sets up all that it needs: Debian packages (apt-packages.txt), a
# virtual environment in .venv, and the build in build/.

SHELL := /bin/bash
VENV := .venv
PYTHON := $(VENV)/bin/python
BUILD := build/release
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# The models are small: BLAS threads would only wait for one another.
export OPENBLAS_NUM_THREADS := 1

native_sources := $(shell find engine driver hal harness/device harness/proto device-configs \
    -type f -not -name '*.yaml' 2>/dev/null) CMakeLists.txt CMakePresets.json
python_sources := $(shell find harness/halyard -name '*.py' -not -name '*_pb2.py' 2>/dev/null) \
    $(wildcard device-configs/*.yaml)

.PHONY: demo test test-native test-python test-device test-asan test-tsan lint tidy format clean

demo: build/.installed
	@$(VENV)/bin/halyard demo

test: lint test-native test-python
	@$(PYTHON) tests/summary.py build/results

# ---- set-up -------------------------------------------------------------------------------------

build/.packages: apt-packages.txt
	@mkdir -p build
	@missing=$$(grep -Ev '^(#|$$)' $< | while read -r name; do \
	    dpkg-query -W -f '$${db:Status-Abbrev}' "$$name" 2>/dev/null | grep -q '^ii' \
	    || echo "$$name"; done); \
	if [ -n "$$missing" ]; then \
	    echo "Installing Debian packages:" $$missing; \
	    $(SUDO) apt-get update -qq && \
	    $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	        --no-install-recommends $$missing >build/apt.log 2>&1 \
	    || { tail -20 build/apt.log; exit 1; }; \
	elif ! ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; then \
	    $(SUDO) apt-get update -qq; \
	fi
	@touch $@

# The environment follows pyproject.toml's dependency lists; the package itself comes after.
build/.environment: pyproject.toml build/.packages
	@echo "Setting up $(VENV)"
	@[ -x $(PYTHON) ] || python3 -m venv $(VENV)
	@$(PYTHON) tests/dependencies.py pyproject.toml >build/requirements.txt
	@$(VENV)/bin/pip install -q --disable-pip-version-check -r build/requirements.txt
	@touch $@

build/.installed: build/.environment $(native_sources) $(python_sources)
	@echo "Building the native programs and installing the package (log: build/install.log)"
	@$(VENV)/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation \
	    . >build/install.log 2>&1 || { tail -60 build/install.log; exit 1; }
	@touch $@

# ---- tests --------------------------------------------------------------------------------------

test-native: build/.installed
	@cmake --build $(BUILD) --target halyard_tests
	@mkdir -p build/results
	@ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j2 \
	    --output-junit $(abspath build/results/native.xml) | tail -n 12; exit $${PIPESTATUS[0]}

# Host tests first, then those on the virtual device.
test-python: build/.installed
	@mkdir -p build/results
	@$(PYTHON) -m pytest tests --junit-xml build/results/python.xml

test-device: build/.installed
	@$(PYTHON) -m pytest tests/device

# The same tests on sanitizer builds: the C++ units, and the Python tests with sanitized programs.
test-asan: build/.installed
	@tests/sanitized.sh asan+ubsan

test-tsan: build/.installed
	@tests/sanitized.sh tsan

# ---- source checks ------------------------------------------------------------------------------

cxx_files := git ls-files --cached --others --exclude-standard '*.cc' '*.h'

lint: build/.installed
	@$(cxx_files) | xargs clang-format --dry-run -Werror
	@$(VENV)/bin/ruff check -q . && $(VENV)/bin/ruff format -q --check .
	@$(VENV)/bin/mypy

# Slow (minutes), so on its own.
tidy: build/.installed
	@cmake --build $(BUILD) --target halyard_tests
	@$(cxx_files) -- '*.cc' | grep '\.cc$$' | \
	    xargs -P 2 -n 4 clang-tidy-19 --quiet -p $(BUILD) 2>/dev/null

format: build/.installed
	@$(cxx_files) | xargs clang-format -i
	@$(VENV)/bin/ruff format -q . && $(VENV)/bin/ruff check -q --fix .

clean:
	rm -rf build $(VENV)
