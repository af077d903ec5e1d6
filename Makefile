# Two commands set everything up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
VENV_BENCH ?= .venv-bench
BIN := $(VENV)/bin
BENCH := $(VENV_BENCH)/bin
QUIETLY := --disable-pip-version-check --quiet
PIP := $(BIN)/pip $(QUIETLY)

.PHONY: help demo test test-all system box install install-dev lint types layers unit bench audit build image clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: box install ## Install, then show what Ludus does (writes to ./demo)
	$(BIN)/ludus demo --out demo

test: ## Install, then run every check on a sample of cases
test-all: ## Install, then run every check on every case: hours
test-all: export LUDUS_TEST_ALL := 1

test test-all: system install-dev
	+$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint types layers audit
	+$(MAKE) --no-print-directory unit

# Sandboxes need bubblewrap, and reports are looked at with Chromium. `make test-all` also uses other
# sandboxes (podman with runc, Docker), debootstrap to build the images on, PostgreSQL, the data of a
# research task, the engines of board games, and Mesa, which draws robots. What is missing and may not be
# installed is said, and its tests are skipped. Nothing is started: the tests run a Docker daemon and a
# database server of their own.
SYSTEM := bwrap:bubblewrap chromium:chromium
OPTIONAL := podman:podman runc:runc dockerd:docker.io debootstrap:debootstrap \
	/usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring \
	pg_lsclusters:postgresql /usr/share/datasets/fashion-mnist:dataset-fashion-mnist \
	/usr/games/gnugo:gnugo /usr/games/stockfish:stockfish \
	/usr/lib/*/libEGL.so.1:libegl1 /usr/lib/*/libOSMesa.so.8:libosmesa6
MORE := $(OPTIONAL)
test-all: SYSTEM += $(OPTIONAL)
test-all: MORE :=

system: ## Install what the tests need beside Python, if root may do so with apt-get
box: ## Install what the demonstration needs beside Python
box: SYSTEM := bwrap:bubblewrap
box: MORE :=

system box:
	@missing() { for row in "$$@"; do what="$${row%%:*}"; \
		ls $$what >/dev/null 2>&1 || PATH="$$PATH:/usr/sbin" command -v "$$what" >/dev/null || \
		echo "$${row##*:}"; done; }; \
	needed() { missing $(foreach row,$(SYSTEM),'$(row)'); }; \
	more() { missing $(foreach row,$(MORE),'$(row)'); }; \
	get() { DEBIAN_FRONTEND=noninteractive apt-get -qq "$$@" >/dev/null; }; \
	add() { get install -y --no-install-recommends $$(needed); }; \
	if [ -n "$$(needed)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing" $$(needed); \
		add 2>/dev/null || { get update && add; }; \
	fi; \
	if [ -n "$$(needed)" ]; then \
		echo "Missing:" $$(needed)"; what needs it is skipped." >&2; \
	fi; \
	if [ -n "$$(more)" ]; then \
		echo "Not installed, and used by make test-all:" $$(more)"; what needs it is skipped."; \
	fi

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Both locks give the hash of every file, and pip refuses others. --no-deps: the locks are complete. torch is
# in neither, because its wheels differ from index to index (with CUDA, or for CPUs only) and so do the
# packages they need: it comes last, from wherever pip is told to look, with what its wheel asks for.
# Two packages have no wheels (chess, rliable); what builds them is not hashed.
# pip compiles bytecode on one core; compileall takes all of them. Examples for Python 2 do not compile.
# uv installs a lock in 8 seconds, pip in 70. pip does it where uv cannot be had, or finds no index.
LOCKED := --require-hashes --no-deps --requirement
define locked
	$(PIP) install --require-hashes --requirement requirements-uv.lock && \
	$(BIN)/uv pip install --quiet --python $(BIN)/python $(LOCKED) $(1) || \
	$(PIP) install --no-compile $(LOCKED) $(1)
endef
BYTECODE = $(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null 2>&1 || true
EDITABLE := install --no-deps --no-build-isolation --editable .

$(VENV)/.installed: $(BIN)/python pyproject.toml requirements.lock
	$(call locked,requirements.lock)
	$(PIP) $(EDITABLE)
	@$(BYTECODE)
	@touch $@

$(VENV)/.installed-dev: $(BIN)/python pyproject.toml requirements-dev.lock
	$(call locked,requirements-dev.lock)
	$(PIP) install --no-compile 'torch==2.13.0'
	$(PIP) $(EDITABLE)
	@$(BYTECODE)
	@touch $@ $(VENV)/.installed

# Keeps the versions that the locks have and that still fit pyproject.toml; UPGRADE=--upgrade renews all.
UV ?= uv
UPGRADE ?=
CUDA := cuda-bindings cuda-pathfinder cuda-toolkit nvidia-cublas nvidia-cuda-cupti nvidia-cuda-nvrtc \
	nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile nvidia-curand nvidia-cusolver \
	nvidia-cusparse nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx triton
LOCK := pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command 'make lock' --group pyproject.toml:build $(UPGRADE)

# Extras of the container images: all but those for files of other libraries, PostgreSQL, plots, videos,
# and Atari, which is under the GPL.
IMAGE_EXTRAS := board box2d classic-control gymnasium images mujoco research serve sign store toy-text view

.PHONY: lock
lock: ## Write the lock files anew (needs uv)
	$(UV) $(LOCK) --extra dev $(addprefix --no-emit-package ,torch $(CUDA)) \
		--output-file requirements-dev.lock pyproject.toml
	$(UV) $(LOCK) --extra all --constraint requirements-dev.lock --output-file requirements.lock pyproject.toml
	$(UV) $(LOCK) $(addprefix --extra ,$(IMAGE_EXTRAS)) --constraint requirements.lock \
		--output-file requirements-image.lock pyproject.toml
	(echo '# uv, which installs the other locks; made by `make lock`.'; echo "uv==$$($(UV) --version | cut -d' ' -f2)" | \
		$(UV) pip compile --quiet --universal --generate-hashes --no-annotate --no-header -) > requirements-uv.lock

install: $(VENV)/.installed ## Install Ludus and its extras into .venv

install-dev: $(VENV)/.installed-dev ## Install Ludus, the tools and the libraries it is compared with

lint: install-dev ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install-dev ## Static types
	$(BIN)/mypy

layers: install-dev ## Imports point one way
	$(BIN)/lint-imports

# Four workers on two cores: tests of sandboxes and processes wait half of their time.
WORKERS ?= 4
unit: system install-dev ## Tests
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

# A representative part of the tests, in a virtual environment of its own for each end of the declared
# versions: `lowest` is constraints-lowest.txt, `highest` is what pip takes without constraints. Another
# interpreter: make test-versions PYTHON=python3.13 VERSIONS=highest. torch and what needs it are left
# out, because the wheels of old versions bring gigabytes of CUDA; VERSIONED_EXTRAS adds them.
VENV_VERSIONS ?= .venv-versions
VERSIONS ?= lowest highest
VERSIONED_EXTRAS ?= all,audit,jax
VERSIONED_TOOLS := hypothesis pillow psutil 'pytest>=9,<10' pytest-timeout
VERSIONED_TESTS ?= tests/bench tests/cli tests/codec tests/interop/test_adapter.py \
	tests/interop/test_spaces.py tests/interop/test_vector_adapter.py tests/kernel/test_kernel.py \
	tests/record tests/spaces tests/test_versions.py tests/vector
lowest: CONSTRAINTS := --constraint constraints-lowest.txt

.PHONY: test-versions lowest highest
test-versions: $(VERSIONS) ## Run a part of the tests with the lowest and the highest dependencies

lowest highest:
	$(PYTHON) -m venv $(VENV_VERSIONS)/$@
	$(VENV_VERSIONS)/$@/bin/pip $(QUIETLY) install --only-binary :all: $(CONSTRAINTS) \
		--editable '.[$(VERSIONED_EXTRAS)]' $(VERSIONED_TOOLS)
	LUDUS_VERSIONS=$@ $(VENV_VERSIONS)/$@/bin/python -m pytest $(VERSIONED_TESTS)

# Other projects' own tests, first on Gymnasium and then on Ludus in its place. PyPI has a part of them;
# SUITES is a folder with checkouts of the projects for all of them. Hours, if PROJECTS names none. The
# environment uses the packages of .venv, and has those that only such tests need. With
# SUITE_OPTIONS='--reports FOLDER', a run that was interrupted goes on where it was.
VENV_SUITES ?= .venv-suites
PUBLISHED := build/suites
SUITES ?= $(PUBLISHED)
PROJECTS ?=
SUITE_OPTIONS ?=
SUITE_PACKAGES := supersuit==3.11.0 tinyscaler mpe2 rlcard termcolor multi-agent-ale-py \
	pytest-mock dill array-api-extra flax msgpack chex

$(VENV_SUITES)/.installed: $(VENV)/.installed-dev
	$(BIN)/python -m venv $(VENV_SUITES)
	$(VENV_SUITES)/bin/pip $(QUIETLY) install --no-deps $(SUITE_PACKAGES)
	echo "import site; site.addsitedir('$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')')" \
		> "$$($(VENV_SUITES)/bin/python -c 'import site; print(site.getsitepackages()[0])')/ludus.pth"
	@touch $@

.PHONY: test-suites
test-suites: $(VENV_SUITES)/.installed ## Run other projects' tests on Gymnasium and on Ludus in its place
	$(if $(filter $(PUBLISHED),$(SUITES)),$(VENV_SUITES)/bin/python -m tests.interop.peer_sdists $(SUITES) $(PROJECTS))
	$(VENV_SUITES)/bin/python -m tests.interop.peer_suites $(SUITES) $(PROJECTS) $(SUITE_OPTIONS)

# The table of peers: packages that Ludus is run together with, and what pip installs for each. A peer has
# a virtual environment of its own, tests in tests/peers/NAME/, and there a constraints.txt with the version
# of every package. PYTHON_NAME is its interpreter, where it needs another one than PYTHON.
# Some only: make test-interop PEERS="trl inspect". Arguments for pytest: PYTEST="-k episode".
PEER_inspect := --editable . inspect-ai
PEER_nemo_gym := --editable '.[serve]' nemo-gym
PYTHON_nemo_gym ?= python3.12
PEER_openreward := --editable '.[serve,box2d]' openreward
PEER_openenv := --editable '.[serve,box2d]' openenv
PEER_schemathesis := --editable '.[serve]' schemathesis
PEER_trl := --editable . torch==2.13.0 trl
PEER_verifiers := --editable . uv verifiers
PEERS ?= inspect nemo_gym openenv openreward schemathesis trl verifiers

VENV_PEERS ?= .venv-peers
PEER_TOOLS := hypothesis 'pytest>=9,<10' pytest-timeout
PYTEST ?=

.PHONY: test-interop $(PEERS:%=test-interop-%)
test-interop: box $(PEERS:%=test-interop-%) ## Run trainers and other peers against Ludus

$(VENV_PEERS)/%/.installed: tests/peers/%/constraints.txt pyproject.toml
	$(or $(PYTHON_$*),$(PYTHON)) -m venv $(VENV_PEERS)/$*
	$(VENV_PEERS)/$*/bin/pip $(QUIETLY) install --constraint $< $(PEER_TOOLS) $(PEER_$*)
	@touch $@

$(PEERS:%=test-interop-%): test-interop-%: $(VENV_PEERS)/%/.installed
	LUDUS_PEER=$* $(VENV_PEERS)/$*/bin/python -m pytest tests/peers/$* $(PYTEST)

# Apart from .venv, because gymnax wants an older Gymnasium than the tests compare with.
$(VENV_BENCH)/.installed: pyproject.toml constraints-bench.txt
	$(PYTHON) -m venv $(VENV_BENCH)
	$(BENCH)/pip $(QUIETLY) install --constraint constraints-bench.txt --editable '.[peers,sign,store]'
	# gymnax asks for an older Gymnasium than the one to compare with, and runs with both.
	$(BENCH)/pip $(QUIETLY) install --no-deps gymnasium==1.4.0
	@touch $@

bench: $(VENV_BENCH)/.installed ## Compare speeds with Gymnasium, EnvPool, gymnax, C and SWE-ReX
	$(BENCH)/python benchmarks/import_time.py
	$(BENCH)/python benchmarks/first_step.py
	$(BENCH)/python benchmarks/wrapper_overhead.py
	$(BENCH)/python benchmarks/single_env.py
	$(BENCH)/python benchmarks/never_slower.py --quick
	$(BENCH)/python benchmarks/process_backend.py
	$(BENCH)/python benchmarks/compile_time.py
	$(BENCH)/python benchmarks/user_kernel.py
	$(BENCH)/python benchmarks/vector.py
	$(BENCH)/python benchmarks/engines.py
	$(BENCH)/python benchmarks/sandbox.py
	$(BENCH)/python benchmarks/record.py
	$(BENCH)/python benchmarks/store.py
	$(BENCH)/python benchmarks/research.py

bench-sb3: install-dev ## Compare Stable-Baselines3 on Ludus's batches with its own
	$(BIN)/python benchmarks/sb3.py

bench-serve: install-dev $(VENV_PEERS)/openenv/.installed ## Compare the server with OpenEnv's
	$(VENV_PEERS)/openenv/bin/python benchmarks/serve.py
	$(BIN)/python benchmarks/serve_binary.py --openenv $(VENV_PEERS)/openenv/bin/python

# An index out of reach is said, and no failure; --require vulnerabilities would make it one.
audit: install-dev ## Audit Ludus: its code, its dependencies and their licences
	$(BIN)/ludus audit ludus-gym --config audit.toml --show medium --timeout 10

build: install-dev ## Build wheel and sdist, with a bill of materials
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/ludus audit "$$(ls -t dist/*.whl | head -n 1)" --config audit.toml --show medium \
		--timeout 10 --sbom dist/sbom.cdx.json

# Podman keeps health checks only in images of Docker's format. More options: IMAGE_FLAGS.
ENGINE ?= $(shell command -v docker >/dev/null && echo docker || echo podman)
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/ludus/version.py)
image: ## Build the container images ludus and ludus-serve
	BUILDAH_FORMAT=docker DOCKER_BUILDKIT=1 $(ENGINE) build $(IMAGE_FLAGS) --target ludus --tag ludus:$(VERSION) .
	BUILDAH_FORMAT=docker DOCKER_BUILDKIT=1 $(ENGINE) build $(IMAGE_FLAGS) --target serve --tag ludus-serve:$(VERSION) .

clean: ## Remove what the other targets made
	rm -rf $(VENV) $(VENV_BENCH) $(VENV_VERSIONS) $(VENV_SUITES) $(VENV_PEERS) build dist demo site .mypy_cache .pytest_cache .ruff_cache .hypothesis
