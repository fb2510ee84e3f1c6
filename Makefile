# Everything that is done with this repository, each with one command: `make help`.

VENV ?= .venv
VENV_OLDEST ?= .venv-oldest
PYTHON ?= python3
# How many tests run at a time (each with one thread: more would only stand in one another's way).
JOBS ?= auto
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --maxprocesses 8 --dist loadfile

BIN = $(VENV)/bin
TRAIN = $(VENV)/.installed-train
DEV = $(VENV)/.installed-dev
OLDEST = $(VENV_OLDEST)/.installed
# Tests that need torch: the oldest supported versions are tested with the environments only.
NEEDS_TORCH = $(shell grep -lE '^ *(from|import) (maddpg|torch)|main\.py|evaluate\.py' tests/test_*.py)

SHELL = bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL = help
.PHONY: demo test test-all test-oldest lint format bench clean help

test test-all test-oldest: export OMP_NUM_THREADS = 1
export SDL_VIDEODRIVER ?= dummy
export PYGAME_HIDE_SUPPORT_PROMPT = 1

demo: $(TRAIN)  ## train MADDPG on the tag game for two minutes: a table, a learning curve, a GIF
	$(BIN)/python -m maddpg.demo

test: $(DEV)  ## the tests, without the slow ones
	$(PYTEST) -m 'not slow' $(ARGS)

test-all: $(DEV)  ## all tests
	$(PYTEST) $(ARGS)

test-oldest: BIN = $(VENV_OLDEST)/bin
test-oldest: $(OLDEST)  ## the environments' tests with the oldest supported versions, without torch
	$(PYTEST) -m 'not slow' $(addprefix --ignore=,$(NEEDS_TORCH)) $(ARGS)

lint: $(DEV)  ## ruff (lint and format) and mypy; changes nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV)  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV)  ## measure speed beside the peers that are installed; writes docs/speed.md
	$(BIN)/python benchmarks/speed.py $(ARGS)

clean:  ## remove virtual environments, caches and build leftovers (runs stay)
	rm -rf $(VENV) $(VENV_OLDEST) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | \
	  while IFS=$$'\t' read -r target what; do printf '  make %-12s %s\n' "$$target" "$$what"; done
	@echo 'Variables: PYTHON=$(PYTHON) (3.11 or newer), VENV=$(VENV), JOBS=$(JOBS), ARGS=... (for pytest or the benchmark)'

# Installing: once, and again when the requirements change. $(1) folder, $(2) constraints, $(3) extra.
define install
@echo "Installing $(3) into $(1) (the first time takes a few minutes; what is large is downloaded once)"
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mpe-ext needs Python 3.11 or newer, not %s: set PYTHON=..." % sys.version.split()[0])'
@$(1)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(1)
@set -o pipefail; $(1)/bin/python -m pip install --disable-pip-version-check -c $(2) -e '.$(3)' \
  | grep --line-buffered -oE '^ *(Downloading|Using cached) [^ ]*\.(whl|gz) \(.*|^Installing collected packages'
endef

$(TRAIN): pyproject.toml constraints.txt
	$(call install,$(VENV),constraints.txt,[train])
	@touch $@

# The dev extra contains the train extra.
$(DEV): pyproject.toml constraints.txt
	$(call install,$(VENV),constraints.txt,[dev])
	@touch $(TRAIN) $@

$(OLDEST): pyproject.toml constraints-oldest.txt
	$(call install,$(VENV_OLDEST),constraints-oldest.txt,[test])
	@touch $@
