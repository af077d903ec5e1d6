# Two commands set everything up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet

.PHONY: help demo test install install-dev lint types layers unit bench audit build clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: install ## Install, then show what Ludus does (writes to ./demo)
	$(BIN)/ludus demo --out demo

test: install-dev lint types layers unit ## Install, then run every check

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

unit: install-dev ## Tests
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

bench: install-dev ## Compare speeds with Gymnasium
	$(BIN)/python benchmarks/import_time.py
	$(BIN)/python benchmarks/wrapper_overhead.py
	$(BIN)/python benchmarks/process_backend.py

audit: install-dev ## Look for known vulnerabilities in what is installed
	$(PIP) install --constraint constraints.txt pip-audit
	$(BIN)/pip-audit --skip-editable

build: install-dev ## Build wheel and sdist
	$(BIN)/python -m build --outdir dist

clean: ## Remove what the other targets made
	rm -rf $(VENV) build dist demo site .mypy_cache .pytest_cache .ruff_cache .hypothesis
