# Two commands set everything up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
VENV_BENCH ?= .venv-bench
BIN := $(VENV)/bin
BENCH := $(VENV_BENCH)/bin
QUIETLY := --disable-pip-version-check --quiet
PIP := $(BIN)/pip $(QUIETLY)

.PHONY: help demo test system install install-dev lint types layers unit bench audit build clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: install ## Install, then show what Ludus does (writes to ./demo)
	$(BIN)/ludus demo --out demo

test: system install-dev lint types layers unit ## Install, then run every check

# Boxes need bubblewrap. Without it, or without the right to install it, their tests are skipped.
system: ## Install bubblewrap, if root may do so with apt-get
	@if command -v bwrap >/dev/null; then exit 0; fi; \
	get() { DEBIAN_FRONTEND=noninteractive apt-get -qq "$$@" >/dev/null; }; \
	add() { get install -y --no-install-recommends bubblewrap; }; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo 'Installing bubblewrap'; \
		if add 2>/dev/null || { get update && add; }; then exit 0; fi; \
	fi; \
	echo 'bubblewrap (bwrap) is missing; tests of the sandbox that need it are skipped.' >&2

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[all]'
	@touch $@

$(VENV)/.installed-dev: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.installed

install: $(VENV)/.installed ## Install Ludus and its extras into .venv

install-dev: $(VENV)/.installed-dev ## Install Ludus, the tools and the libraries it is compared with

lint: install-dev ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install-dev ## Static types
	$(BIN)/mypy

layers: install-dev ## Imports point one way
	$(BIN)/lint-imports

unit: system install-dev ## Tests
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

# Apart from .venv, because gymnax wants an older Gymnasium than the tests compare with.
$(VENV_BENCH)/.installed: pyproject.toml constraints-bench.txt
	$(PYTHON) -m venv $(VENV_BENCH)
	$(BENCH)/pip $(QUIETLY) install --constraint constraints-bench.txt --editable '.[bench]'
	# gymnax asks for an older Gymnasium than the one to compare with, and runs with both.
	$(BENCH)/pip $(QUIETLY) install --no-deps gymnasium==1.4.0
	@touch $@

bench: $(VENV_BENCH)/.installed ## Compare speeds with Gymnasium, EnvPool, gymnax and C
	$(BENCH)/python benchmarks/import_time.py
	$(BENCH)/python benchmarks/wrapper_overhead.py
	$(BENCH)/python benchmarks/single_env.py
	$(BENCH)/python benchmarks/process_backend.py
	$(BENCH)/python benchmarks/compile_time.py
	$(BENCH)/python benchmarks/user_kernel.py
	$(BENCH)/python benchmarks/vector.py

audit: install-dev ## Look for known vulnerabilities in what is installed
	$(PIP) install --constraint constraints.txt pip-audit
	$(BIN)/pip-audit --skip-editable

build: install-dev ## Build wheel and sdist
	$(BIN)/python -m build --outdir dist

clean: ## Remove what the other targets made
	rm -rf $(VENV) $(VENV_BENCH) build dist demo site .mypy_cache .pytest_cache .ruff_cache .hypothesis
