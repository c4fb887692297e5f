PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
READY := $(VENV)/.ready
# Neighbouring tests share what is trained for them: each of the two processes gets one half, then takes from the other.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
# With it, every start of Python would compile the modules of tacit and of its tests again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install demo test test-fast attack check format bench reproduce pictures docs release clean

help:  ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "tacit needs Python 3.10 or newer: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all,dev]'
	@! command -v npm >/dev/null || npm install --silent --no-save --prefix $(VENV) axe-core@4 || true  # for tests of the page
	@touch $@

install: $(READY)  ## Create the virtual environment with everything in it

demo: $(READY)  ## Generate texts, train, evaluate, suggest and write a report: the whole of tacit in a minute
	$(BIN)/tacit demo

test: $(READY)  ## Run all tests (set TACIT_DATA for those on public data)
	$(PYTEST) $(ARGS)

test-fast: $(READY)  ## Run the tests that take no time
	$(PYTEST) -m "not slow and not real_data" $(ARGS)

attack: $(READY)  ## Run the long attacks: damaged models and files, signals at random moments, several writers
	TACIT_ATTACK=10000 TACIT_ATTACK_ROUNDS=100 $(BIN)/python -m pytest \
		tests/attack tests/server/test_load.py tests/server/test_workers.py tests/store/test_folder.py tests/store/test_faults.py tests/tagger/test_writers.py $(ARGS)

check: $(READY)  ## Lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## Format the code and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## Compare speed, memory and accuracy with scikit-learn (needs TACIT_DATA)
	$(BIN)/python -m benchmarks $(ARGS)

reproduce: $(READY)  ## List the papers' tables and figures, or run one: ARGS="exmlds table4" (needs TACIT_DATA)
	$(BIN)/python -m reproduce $(ARGS)

pictures: $(READY)  ## Make the pictures of the page and the report in a browser (needs TACIT_DATA and Chromium)
	PYTHONPATH=tests $(BIN)/python -m tools.pictures

docs: $(READY)  ## Build the site of the documentation: build/site/index.html
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

release: $(READY)  ## Build sdist and wheel, and try them in clean environments of each Python that is here
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	$(BIN)/python -m tools.release $(ARGS)

clean:  ## Remove the virtual environment and all caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
	find src tests benchmarks reproduce -name __pycache__ -prune -exec rm -rf {} +
