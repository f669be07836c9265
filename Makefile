# Everything a contributor runs, and all that CI runs. Needs Python 3.11 or newer and make; the tests need npm and Chromium as well.

PYTHON ?= python3
BIN := .venv/bin
# What runs kb, and with it what checks and tests it.
INSTALLED := .venv/.installed
STAMP := .venv/.set-up
NODE_STAMP := .node/.set-up
# Node.js trusts a list of its own, on which the proxy of a company never is; the system's list has it.
CERTIFICATES := $(wildcard /etc/ssl/certs/ca-certificates.crt)

# Steps that do not wait for one another go side by side: both set-ups, the types and the unit tests. Two goals, such
# as `make clean test`, go one after the other.
MAKEFLAGS += $(if $(word 2,$(MAKECMDGOALS)),,--jobs=2)

.PHONY: help setup install run check test test-all test-gpu faults load soak mutants audit curl strace systemd nginx chromium conformance evaluate bench hooks docs site screens pictures dist lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv, install everything into it and fetch the model (once)

# An environment whose Python is gone, as after an upgrade of the system or when the folder was moved, is made anew.
ifneq ($(shell test -e $(INSTALLED) && ! test -x "$$(sed -n '1s/^\#! *//p' $(BIN)/kb 2>/dev/null)" && echo gone),)
$(shell rm -rf .venv)
endif

install: $(INSTALLED) ## Install what kb needs to run, without starting it

run: $(INSTALLED) ## Install what kb needs to run if need be, then start it; Ctrl-C stops it
	@exec $(BIN)/kb up

.PHONY: format lint types unit imports
check: format lint types unit imports ## Format, lint, types, imports, unit tests and house rules; about a minute

format: $(STAMP)
	$(BIN)/ruff format --check .

lint: $(STAMP)
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP) systemd nginx
	$(BIN)/pytest -q tests/unit tests/house_rules

imports: $(STAMP)
	$(BIN)/lint-imports

# A file of tests stays with one of the two that run them: what its tests share is made once. Compiled once, too: where
# PYTHONDONTWRITEBYTECODE is set, each of the hundreds of programs that they start would do it again.
test: check $(NODE_STAMP) curl strace chromium ## Check, then every test, with a selection of the faults
	$(BIN)/python -m compileall -q src
	$(BIN)/pytest --numprocesses=2 --dist=loadfile --no-loadscope-reorder \
		tests --ignore=tests/unit --ignore=tests/house_rules

test-all: export FAULTS := full
test-all: test ## Check, then every test, with all the faults
	@$(MAKE) --no-print-directory test-gpu

test-gpu: .gpu/.set-up ## Run the tests that need torch, on a processor (fetches gigabytes the first time)
	.gpu/bin/python -m pytest tests/gpu

faults: $(STAMP) strace ## Kill, fill up and tear a base, attack it, and add hostile files: docs/reliability.md
	FAULTS=full $(BIN)/pytest tests/faults tests/hostile tests/security tests/load tests/api/test_openapi.py tests/unit/test_keys.py

load: $(STAMP) ## Have up to 64 agents search, read and write in bases of 10,000 and 100,000 chunks
	for chunks in 10000 100000; do \
		$(BIN)/python -m bench.load $$chunks && $(BIN)/python -m bench.load $$chunks --agents 64 --seconds 300 || exit 1; \
	done

soak: $(STAMP) ## Use a base hard for half an hour, and see that nothing grows (MINUTES=30)
	$(BIN)/python -m bench.soak $(or $(MINUTES),30)

mutants: $(STAMP) strace ## Break the code in known ways, one by one: the tests must notice each
	$(BIN)/python -m tests.mutants

# The tools are many and not needed for anything else, so they have an environment of their own. --strict: a package
# that the database does not know is a failure, and not one without vulnerabilities.
audit: $(STAMP) ## Look for known vulnerabilities in what is pinned, and list all of it in dist/kb.cdx.json
	@mkdir -p dist
	$(BIN)/python -m deploy.sbom > dist/kb.cdx.json
	@test -x .audit/bin/pip-audit || { $(PYTHON) -m venv .audit && \
		.audit/bin/pip install --quiet --disable-pip-version-check pip-audit==2.10.1; }
	.audit/bin/pip-audit --strict --require-hashes --disable-pip --requirement requirements.lock
	.audit/bin/pip-audit --strict --require-hashes --disable-pip --requirement requirements-dev.lock
	.audit/bin/pip-audit --strict --require-hashes --disable-pip --requirement deploy/gpu/sentence-transformers.lock
	.audit/bin/pip-audit --strict --require-hashes --disable-pip --requirement deploy/gpu/cuda.lock

conformance: $(STAMP) $(NODE_STAMP) ## Run the official suite of MCP for each revision of the protocol
	$(BIN)/python -m tests.mcp_server.conformance

evaluate: $(STAMP) ## Measure how well a running engine finds, and fail if worse than accepted: make evaluate DATA=folder
	@test -n "$(DATA)" || { echo "Name the folder of judged queries: make evaluate DATA=folder" >&2; exit 2; }
	$(BIN)/python -m evaluation.run "$(DATA)" $(if $(STORE_URL),--store-url "$(STORE_URL)")

# CORPUS is a folder that `python -m bench.corpus` has made; without it, vectors are made up and recall says nothing.
bench: $(STAMP) .peers/stores/.set-up .peers/anchor/.set-up ## Measure kb and its peers side by side, and kb alone (CORPUS=folder SIZES="10000 100000")
	$(BIN)/python -m bench.contest $(CORPUS) --sizes $(or $(SIZES),10000) $(if $(FIGURES),--figures $(FIGURES))
	$(BIN)/python -m bench.contest.throughput $(CORPUS)
	$(BIN)/python -m bench.search
	$(BIN)/python -m bench.agents
	$(BIN)/python -m bench.command_line
	$(BIN)/python -m bench.ingestion
	$(BIN)/python -m bench.ocr
	$(BIN)/python -m bench.scans

hooks: $(STAMP) ## Have git run make check before each commit
	$(BIN)/pre-commit install

docs: $(STAMP) ## Write the reference pages anew from the code
	$(BIN)/python -m docs.making.reference

site: $(STAMP) ## Make a site of the documentation in dist/site; a broken link, a warning or a page nobody finds fails
	@$(BIN)/python -m docs.site

screens: $(STAMP) ## Draw the docs' pictures of the terminal anew, from the running program
	$(BIN)/python -m docs.making.screens

pictures: $(STAMP) chromium ## Take the docs' pictures of the web page anew, from the running page
	$(BIN)/python -m docs.making.pictures

dist: $(STAMP) ## Build the source archive and the wheel into dist/
	$(BIN)/python -m build --no-isolation --outdir dist

# Pins stay as they are unless pyproject.toml rules them out; ARGS=--upgrade moves them.
lock: $(STAMP) ## Pin what pyproject.toml asks for (ARGS=--upgrade: at its newest)
	$(BIN)/python -c "$$LIST_REQUIREMENTS" running | $(pip_compile) --output-file requirements.lock -
	$(BIN)/python -c "$$LIST_REQUIREMENTS" developing | \
		$(pip_compile) --constraint requirements.lock --output-file requirements-dev.lock -

pip_compile = CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile \
	--quiet --generate-hashes --allow-unsafe --strip-extras --no-emit-options \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host $(ARGS)

clean: ## Remove .venv, .gpu, .node, .audit, .peers and all that the tools left behind
	rm -rf .venv .gpu .node .nginx .audit .peers dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .schemathesis
	find src tests evaluation bench docs deploy -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp comes last, so that a set-up that failed half-way is done again.
pip_install = $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "kb needs Python 3.11 or newer, and '$(PYTHON)' is: $$($(PYTHON) --version 2>&1 | head -n 1)." >&2; \
		echo "Install it, or name another: make $(or $(firstword $(MAKECMDGOALS)),run) PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing kb into .venv (about a minute the first time) ..."
	@$(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || rm -rf .venv
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || $(call apt_install,python3-venv) || { \
		echo "This Python can make no environments: it has no ensurepip. Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv .venv
	@$(pip_install) --require-hashes -r requirements.lock
	@$(pip_install) --no-deps --no-build-isolation -e .
	@$(BIN)/kb model fetch >/dev/null
	@touch $@

$(STAMP): $(INSTALLED) requirements-dev.lock
	@echo "Installing what checks and tests kb ..."
	@$(pip_install) --require-hashes -r requirements-dev.lock
	@touch $@

# What kb is measured against has environments of its own: the stores, and the usual way to embed.
.peers/stores/.set-up: bench/peers.txt
	@echo "Installing the peers into .peers/stores (some minutes the first time) ..."
	@$(PYTHON) -m venv .peers/stores
	@.peers/stores/bin/pip install --quiet --disable-pip-version-check -r bench/peers.txt
	@.peers/stores/bin/pip install --quiet --disable-pip-version-check --no-deps txtai==9.14.0
	@touch $@

.peers/anchor/.set-up: bench/anchor.txt
	@echo "Installing sentence-transformers into .peers/anchor (some minutes the first time) ..."
	@$(PYTHON) -m venv .peers/anchor
	@.peers/anchor/bin/pip install --quiet --disable-pip-version-check -r bench/anchor.txt
	@touch $@

# torch has an environment of its own, in which all that .venv has can be seen: a copy of it would take a minute.
.gpu/.set-up: $(STAMP) tests/gpu/requirements.txt
	@echo "Installing torch and sentence-transformers into .gpu (some minutes the first time) ..."
	@$(BIN)/python -m venv --clear --without-pip .gpu
	@$(BIN)/python -c 'import sysconfig as s; print("import site; site.addsitedir(%r)" % s.get_path("purelib"))' \
		> $$(echo .gpu/lib/python*/site-packages)/venv.pth
	@sed -n 's/^\([^ #]*==[^ ;]*\).*/\1/p' deploy/gpu/sentence-transformers.lock > .gpu/constraints.txt
	@$(BIN)/python -m pip --python .gpu/bin/python install --quiet --disable-pip-version-check \
		-r tests/gpu/requirements.txt -c .gpu/constraints.txt
	@touch $@

# What only apt can give is installed by root, and otherwise asked for. apt may not know of any package yet, and
# refuses to be called twice at a time.
apt_get = DEBIAN_FRONTEND=noninteractive flock Makefile sh -c 'apt-get $(1) || { apt-get update -qq && apt-get $(1); }'
apt_install = { test "$$(id -u)" = 0 && $(call apt_get,install --yes -qq $(1)); } >/dev/null 2>&1

curl:
	@command -v curl >/dev/null || $(call apt_install,curl) || { \
		echo "curl is not installed, and the tests type what the pages say. Install it." >&2; exit 1; }

strace:
	@command -v strace >/dev/null || $(call apt_install,strace) || { \
		echo "strace is not installed, so the tests that need it are left out. Install it." >&2; \
		test -z "$$CI"; }

# Its programs alone: with all that is recommended, it would become what the machine is started by.
systemd:
	@command -v systemd-analyze >/dev/null || $(call apt_install,--no-install-recommends systemd) || { \
		echo "systemd is not installed, so the tests that need it are left out. Install it." >&2; \
		test -z "$$CI"; }

# Unpacked and not installed: that would start a web server for all the world, now and whenever the machine starts.
nginx:
	@command -v nginx >/dev/null || test -x /usr/sbin/nginx || test -x .nginx/usr/sbin/nginx || { \
		mkdir -p .nginx && $(call apt_get,-qq download nginx) && mv nginx_*.deb .nginx && \
		dpkg -x .nginx/nginx_*.deb .nginx && .nginx/usr/sbin/nginx -v -e stderr; } >/dev/null 2>&1 || { \
		echo "nginx is not installed, so the tests that need it are left out. Install it." >&2; \
		test -z "$$CI"; }

# Two packages of Debian: the headless one needs a third less processor time for each page, but cannot load extensions.
# Playwright would download another browser, from a host that some machines cannot reach.
chromium:
	@command -v chromium-headless-shell >/dev/null && command -v chromium >/dev/null || \
	$(call apt_install,chromium-headless-shell chromium) || command -v chromium >/dev/null || { \
		echo "chromium is not installed, so the tests that need it are left out. Install it." >&2; \
		test -z "$$CI"; }

# What the tests take from npm: programs that they set on the MCP server (the conformance suite, other clients, and a
# Node.js new enough for them), and axe-core, which they run inside the page. The npm at hand may be older: it only
# warns, and would do so at length.
$(NODE_STAMP): tests/package.json
	@command -v npm >/dev/null || $(call apt_install,npm) || { \
		echo "The tests need npm, which comes with Node.js. Install it." >&2; exit 1; }
	@echo "Installing MCP clients and axe-core into .node (about half a minute the first time) ..."
	@mkdir -p .node
	@cp $< .node/package.json
	@NODE_EXTRA_CA_CERTS="$${NODE_EXTRA_CA_CERTS:-$(CERTIFICATES)}" \
		npm install --prefix .node --no-audit --no-fund --no-package-lock --ignore-scripts --loglevel=error >/dev/null
	@touch $@

# pip-compile reads no dependency groups, and what builds the project must be pinned too: hatchling needs
# editables for an editable install, and an older pip takes no hashes from a constraints file (deploy/install.sh). The
# project's own extras, named in `all`, are listed one by one; `gpu` is not among them, whose torch would bring gigabytes
# of another licence.
define LIST_REQUIREMENTS
import sys, tomllib
with open('pyproject.toml', 'rb') as file:
    tree = tomllib.load(file)
project = tree['project']
extras = [line for name, extra in project['optional-dependencies'].items() if name != 'gpu' for line in extra]
running = tree['build-system']['requires'] + ['editables', 'pip'] + project['dependencies']
running += [line for line in extras if not line.startswith(project['name'] + '[')]
print(*(running if sys.argv[1:] == ['running'] else tree['dependency-groups']['dev']), sep='\n')
endef
export LIST_REQUIREMENTS
