# Everything a contributor runs, and all that CI runs. Needs Python 3.11 or newer and make; the tests need npm as well.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.set-up
NODE_STAMP := .node/.set-up
# Node.js trusts a list of its own, on which the proxy of a company never is; the system's list has it.
CERTIFICATES := $(wildcard /etc/ssl/certs/ca-certificates.crt)

.PHONY: help setup run check test test-all faults strace conformance evaluate bench docs screens lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv, install everything into it and fetch the model (once)

run: $(STAMP) ## Set up if need be, then start kb; Ctrl-C stops it
	@exec $(BIN)/kb up

check: $(STAMP) ## Format, lint, types, imports, unit tests and house rules; under a minute
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/unit tests/house_rules

test: check $(NODE_STAMP) strace ## Check, then every test, with a selection of the faults
	$(BIN)/pytest tests --ignore=tests/unit --ignore=tests/house_rules

test-all: check $(NODE_STAMP) strace ## Check, then every test, with all the faults
	FAULTS=full $(BIN)/pytest tests --ignore=tests/unit --ignore=tests/house_rules

faults: $(STAMP) strace ## Kill, fill up and tear a base, and add hostile files: docs/design/faults.md
	FAULTS=full $(BIN)/pytest tests/faults tests/hostile

conformance: $(STAMP) $(NODE_STAMP) ## Run the official suite of MCP for each revision of the protocol
	$(BIN)/python -m tests.mcp_server.conformance

evaluate: $(STAMP) ## Measure how well search finds: make evaluate DATA=folder
	@test -n "$(DATA)" || { echo "Name the folder of judged queries: make evaluate DATA=folder" >&2; exit 2; }
	$(BIN)/python -m evaluation.run "$(DATA)"

bench: $(STAMP) ## Measure how fast search, ingestion and the command line are, alone and for many agents
	$(BIN)/python -m bench.search
	$(BIN)/python -m bench.agents
	$(BIN)/python -m bench.command_line
	$(BIN)/python -m bench.ingestion
	$(BIN)/python -m bench.ocr
	$(BIN)/python -m bench.scans

docs: $(STAMP) ## Write the reference pages anew from the code
	$(BIN)/python -m docs.generate

screens: $(STAMP) ## Draw the docs' pictures of the terminal anew, from the running program
	$(BIN)/python -m docs.screens

# Pins stay as they are unless pyproject.toml rules them out; ARGS=--upgrade moves them.
lock: $(STAMP) ## Pin what pyproject.toml asks for (ARGS=--upgrade: at its newest)
	$(BIN)/python -c "$$LIST_REQUIREMENTS" | CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile \
		--quiet --generate-hashes --allow-unsafe --strip-extras --no-emit-options \
		--no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
		$(ARGS) --output-file requirements.lock -

clean: ## Remove .venv, .node and all that the tools left behind
	rm -rf .venv .node dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .schemathesis
	find src tests evaluation bench docs -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp comes last, so that a set-up that failed half-way is done again.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "kb needs Python 3.11 or newer, and '$(PYTHON)' is: $$($(PYTHON) --version 2>&1 | head -n 1)." >&2; \
		echo "Install it, or name another: make setup PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up .venv (about a minute the first time) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/kb model fetch
	@touch $@

# What only apt can give is installed by root, and otherwise asked for. apt may not know of any package yet.
apt_install = { test "$$(id -u)" = 0 && { apt-get install --yes -qq $(1) || \
	{ apt-get update -qq && apt-get install --yes -qq $(1); }; }; } >/dev/null 2>&1

strace:
	@command -v strace >/dev/null || $(call apt_install,strace) || { \
		echo "strace is not installed, so the tests that need it are left out. Install it." >&2; \
		test -z "$$CI"; }

# Programs that the tests set on the MCP server: the conformance suite, other clients, and a Node.js new enough for
# them. The npm at hand may be older: it only warns, and would do so at length.
$(NODE_STAMP): tests/mcp_server/node/package.json
	@command -v npm >/dev/null || $(call apt_install,npm) || { \
		echo "The tests need npm, which comes with Node.js. Install it." >&2; exit 1; }
	@echo "Installing MCP clients into .node (about half a minute the first time) ..."
	@mkdir -p .node
	@cp $< .node/package.json
	@NODE_EXTRA_CA_CERTS="$${NODE_EXTRA_CA_CERTS:-$(CERTIFICATES)}" \
		npm install --prefix .node --no-audit --no-fund --no-package-lock --ignore-scripts --loglevel=error >/dev/null
	@touch $@

# pip-compile reads no dependency groups, and what builds the project must be pinned too: hatchling needs
# editables for an editable install. The project's own extras, named in `all`, are listed one by one.
define LIST_REQUIREMENTS
import tomllib
with open('pyproject.toml', 'rb') as file:
    tree = tomllib.load(file)
project = tree['project']
extras = [line for extra in project['optional-dependencies'].values() for line in extra]
wanted = tree['build-system']['requires'] + ['editables'] + project['dependencies']
wanted += [line for line in extras if not line.startswith(project['name'] + '[')]
print(*wanted, *tree['dependency-groups']['dev'], sep='\n')
endef
export LIST_REQUIREMENTS
