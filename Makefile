# Set-up and daily commands. `make verify` and `make test` install what is missing, once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Where pip's own index has no CPU build of torch, PyTorch's index has.
CPU_WHEELS := https://download.pytorch.org/whl/cpu
# In variables, since a comma would end an argument of $(call).
WITH_DEV := .[cpu,gsm8k,dev]
WITH_ENGINE := .[cpu,gsm8k]
pip_install = $(BIN)/python -m pip install $(1) || \
	$(BIN)/python -m pip install --extra-index-url $(CPU_WHEELS) $(1)

.PHONY: help install verify lint test test-slow clean

help: ## Show the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

install: $(VENV)/.installed ## Make .venv with the project and the CPU engine

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(call pip_install,-e '$(WITH_ENGINE)')
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.installed
	$(call pip_install,-e '$(WITH_DEV)')
	@touch $@

verify: install ## Run the main job: make verify [MODEL=name-or-folder] [ARGS='--profile ci']
	$(BIN)/linattn-verify run $(if $(MODEL),--model '$(MODEL)') $(ARGS)

lint: $(VENV)/.installed-dev ## Style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint ## Every test but the slow ones
	$(BIN)/python -m pytest -m 'not slow' $(ARGS)

test-slow: lint ## Every test
	$(BIN)/python -m pytest $(ARGS)

clean: ## Remove .venv, runs and caches
	rm -rf $(VENV) runs dist .pytest_cache .mypy_cache .ruff_cache
