# `make` alone lists what there is. Every target brings what it needs: on a fresh machine nothing is done by hand
# but installing Python 3.11 or newer with python3-venv (and Java 17 with Maven for targets on Apache Kafka, Go for
# `make collector`, Rust for the native core, which is optional).

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup hooks console demo test test-home test-debian test-pythons test-kafka test-brokers test-hostile test-faults test-sources test-gateway test-guard test-programs test-registry test-browser test-openid test-notify test-compose test-kubernetes test-cluster test-native test-release audit wheel-native man dist sign sign-image docs image collector lint lint-js lint-asyncapi bench bench-small dashboards fuzz fuzz-native pins vendor clean

VENV := .venv
BIN := $(VENV)/bin
SOURCES := .cache/sources
GUARD := .cache/guard
GATEWAY := .cache/gateway
PROGRAMS := .cache/programs
CARGO := cargo --quiet
NATIVE := $(wildcard native/*.pyi native/src/*.rs native/src/*/*.rs)
PIP_INSTALL = $(BIN)/python -m pip --disable-pip-version-check install --quiet
# By its path: the other way to install what is edited imports a module that takes longer than `eddy hook` may.
AS_PATH := --config-settings editable_mode=compat
# What cargo has compiled once; without a network it gives up soon.
export CARGO_TARGET_DIR := $(CURDIR)/.cache/native
export CARGO_NET_RETRY := 1
ARGS ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.installed $(VENV)/.tried-native ## install Eddy and its tools into .venv; the native core where cargo is
	@if [ "$(MAKECMDGOALS)" = setup ]; then echo 'Next: source $(BIN)/activate, then eddy detect, or make demo.'; fi

hooks: $(VENV)/.installed-hooks ## run what `make lint` runs before each commit, by pre-commit
	$(BIN)/pre-commit install

console: setup ## watch agents go in circles in a browser, and stop them (ARGS="--speed 2")
	$(BIN)/eddy console --demo --open $(ARGS)

demo: setup ## catch a looping agent session, with a broker of its own (ARGS="--help" for options)
	$(BIN)/eddy demo $(ARGS)

# A test of a worker waits for a group to settle most of its time: others run meanwhile.
# Few tests at a time are handed out, because those that take longest come first.
# Where the environment forbids bytecode, each of these processes compiles every test module at each run.
test: setup ## run every test, on the embedded broker (ARGS="-k name" for some)
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 6 --maxschedchunk 4 $(ARGS)

test-home: setup ## run the tests of single modules where HOME is full of logs of agents
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m tests.full_home -n 4 -q tests/unit $(ARGS)

test-debian: setup ## the same on Debian's own Python, where it is
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m tests.debian_python -n 4 -q tests/unit $(ARGS)

test-pythons: setup ## run the tests that need no broker on Python 3.11 to 3.14, as far as they are found
	$(BIN)/python -m tests.pythons $(ARGS)

test-kafka: setup ## run the integration tests on Apache Kafka, fetched from Maven Central
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 4 --maxschedchunk 2 tests/integration --broker kafka $(ARGS)

# What talks to brokers about more than records: groups, transactions, topics and their ids, rights, logins.
BROKER_TESTS := $(addprefix tests/integration/test_,$(addsuffix .py,brokers engine_on_broker exactly_once transactions topics_command doctor_command rights security token_login restore topic_prefix open_transaction standby takeover))
KAFKAS := 3.7.2 3.9.2 4.0.2 4.4.0

test-brokers: setup ## run what depends on the broker on an older Apache Kafka and the newest (KAFKAS="3.9.2" for one)
	@failed=; for version in $(KAFKAS); do echo "Apache Kafka $$version"; \
	  KAFKA_VERSION=$$version PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 3 $(BROKER_TESTS) --broker kafka $(ARGS) || failed="$$failed $$version"; \
	done; if [ -n "$$failed" ]; then echo "failed on:$$failed"; exit 1; fi

test-hostile: setup ## send a worker on Apache Kafka what nobody should send (ARGS="-k name" for some)
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 0 tests/hostile --broker kafka $(ARGS)

test-faults: setup ## kill, cut and fill whatever the job needs, on Apache Kafka (ARGS="--help" for options)
	$(BIN)/python -m tests.faults $(ARGS)

test-sources: setup $(SOURCES)/.installed ## find loops of agents that are built with real SDKs, on a stub of a model
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -m sources tests/sources $(ARGS)

test-guard: setup $(GUARD)/.installed ## pause, abort and advise agents that are built with real SDKs, on stubs of models
	PYTHONDONTWRITEBYTECODE= $(GUARD)/bin/python -m pytest -m guard tests/guard $(ARGS)

test-programs: setup $(PROGRAMS)/.installed ## tell and stop real coding agents by their hooks, on a stub of their models (needs npm)
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -m programs tests/programs $(ARGS)

test-gateway: setup $(GATEWAY)/.installed ## refuse calls of looping sessions at a real LiteLLM proxy, on a stub of a model
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -m gateway tests/gateway $(ARGS)

test-registry: setup ## run the job on Apache Kafka with Apicurio Registry, fetched from Maven Central
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -m registry tests/integration --broker kafka $(ARGS)

test-browser: $(VENV)/.installed-browser ## look at the console in Chromium, which must be installed (ARGS="-k name" for some)
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 2 --dist loadfile -m browser tests/browser $(ARGS)

test-openid: $(VENV)/.installed-browser ## log in to the console at a real Keycloak, fetched from Maven Central, in Chromium
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 0 -m openid tests/browser/test_keycloak.py $(ARGS)

test-notify: setup ## send alerts to a real Alertmanager, and let a real Prometheus look (ARGS="-k name" for some)
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 2 -m notify tests/notify $(ARGS)

image: ## build the image localhost/eddy-streams, with Podman or Docker
	deploy/image

test-compose: $(VENV)/.installed-deploy ## build the image and start docker-compose.yml, with Podman (ARGS="-k name" for some)
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 0 -m containers tests/containers -rs $(ARGS)

test-kubernetes: $(VENV)/.installed-deploy ## check the manifests with Kustomize and Helm, which Go builds once: minutes
	$(BIN)/python -m tests.kubernetes.tools
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 0 -m kubernetes tests/kubernetes $(ARGS)

test-cluster: $(VENV)/.installed-deploy ## apply the manifests and the chart to a real API server, which Go builds once: five minutes
	$(BIN)/python -m tests.kubernetes.tools
	$(BIN)/python -m tests.kubernetes.cluster
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 0 -m cluster tests/kubernetes/test_cluster.py $(ARGS)

test-native: setup ## check the native core: format, lints, tests, licences, and the conformance suite without it
	cd native && $(CARGO) fmt --check
	cd native && $(CARGO) clippy --locked --all-targets -- --deny warnings
	cd native && $(CARGO) test --locked --no-default-features
	$(BIN)/python -m tests.native.licences
	EDDY_NATIVE=on $(BIN)/pytest -n 2 tests/native $(ARGS)
	EDDY_NATIVE=off $(BIN)/pytest -n 2 tests/conformance tests/property $(ARGS)

test-release: $(VENV)/.installed-release $(VENV)/.installed-docs ## install the wheels elsewhere and run what they bring; break the site (ARGS="-k name")
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 0 -m release tests/release $(ARGS)

audit: $(VENV)/.installed-release ## ask the package index for known vulnerabilities of what users install
	$(BIN)/python -m tests.audit

man: setup ## write the man pages of every command into man/
	$(BIN)/python -m deploy.man.pages man

dist: $(VENV)/.installed-release man ## build the sdists and wheels of eddy-streams and eddy-client into dist/
	rm -f dist/eddy_streams-* dist/eddy_client-*
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --outdir dist .
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --outdir dist client

sign: dist ## sign the checksums of what is in dist/ (KEY=~/.ssh/id_ed25519)
	deploy/sign $(KEY)

sign-image: ## sign an image in a registry, with the list of its parts and its commit (KEY=cosign.key IMAGE=...@sha256:...)
	deploy/sign-image $(KEY) $(IMAGE)

docs: $(VENV)/.installed-docs ## write the documents as a site into site/; a broken link or a missing heading is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict  # with --quiet no warning would count
	@echo 'Open site/index.html. The search needs a server: $(BIN)/python -m http.server --directory site'

wheel-native: setup ## build the wheel of the native core into dist/: for machines like this one without cargo
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir dist ./native

collector: setup ## build the OpenTelemetry Collector for `make test-sources`, with Go: minutes to half an hour
	$(BIN)/python -m tests.sources.collector

lint: setup ## check style, format, types and who imports whom
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

lint-js: setup ## check the types of the console's scripts, with TypeScript that npm fetches
	$(BIN)/python -m tests.typescript

lint-asyncapi: setup ## check docs/asyncapi.json with AsyncAPI's parser, which npm fetches
	$(BIN)/python -m tests.asyncapi

bench: $(VENV)/.installed-bench ## measure, beside plain aiokafka and Quix Streams
	$(BIN)/python -m benchmarks $(ARGS)

bench-small: $(VENV)/.installed-bench ## measure the engine alone, beside Kafka Streams (needs Java 17 and Maven)
	$(BIN)/python -m benchmarks.small $(ARGS)

dashboards: setup ## write the dashboards for Grafana, from deploy/grafana/dashboards.py
	$(BIN)/python deploy/grafana/dashboards.py

fuzz: $(VENV)/.installed-fuzz ## attack the decoders, a minute each (ARGS="wire --seconds 300")
	$(BIN)/python -m tests.fuzz $(ARGS)

fuzz-native: setup ## hold the native core against Python over a million hostile texts (ARGS="--texts 5000 --seed 7")
	$(BIN)/python -m tests.native $(ARGS)

pins: setup ## write the installed versions to constraints/
	$(BIN)/python -m tests.pins
	if [ -x $(SOURCES)/bin/python ]; then $(SOURCES)/bin/python -m tests.pins sources; fi
	if [ -x $(GUARD)/bin/python ]; then $(GUARD)/bin/python -m tests.pins guard; fi
	if [ -x $(GATEWAY)/bin/python ]; then $(GATEWAY)/bin/python -m tests.pins gateway; fi

vendor: setup ## fetch the scripts of others with npm, as vendor.lock names them (ARGS="uplot@1.6.33" for another version)
	$(BIN)/python -m tests.vendored $(ARGS)

clean: ## remove everything make has made
	rm -rf $(VENV) build dist site man *.egg-info .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .grimp_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed: pyproject.toml client/pyproject.toml $(wildcard constraints/*.txt) | $(BIN)/python
	@echo "Installing Eddy and its tools into $(VENV). Packages are downloaded: this takes a minute or more."
	$(PIP_INSTALL) $(AS_PATH) -c constraints/dev.txt -e '.[dev]' -e client
	@touch $@

# Without cargo, a network or luck, Eddy uses its functions in Python: nothing else is different.
$(VENV)/.tried-native: $(VENV)/.installed native/Cargo.toml native/Cargo.lock native/pyproject.toml $(NATIVE)
	@if ! command -v cargo >/dev/null; then \
	  echo 'No cargo here: Eddy works without its native core (docs/native.md).'; \
	elif echo 'Compiling the native core: this takes a minute, once.'; \
	  ! $(PIP_INSTALL) --force-reinstall --no-deps ./native >$(VENV)/native.log 2>&1; then \
	  echo 'The native core was not built ($(VENV)/native.log says why): Eddy works without it.'; \
	fi
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(PIP_INSTALL) $(AS_PATH) -c constraints/bench.txt -e '.[bench]'
	@touch $@

$(VENV)/.installed-browser: $(VENV)/.installed
	$(PIP_INSTALL) $(AS_PATH) -c constraints/browser.txt -e '.[browser]'
	@touch $@

$(VENV)/.installed-deploy: $(VENV)/.installed
	$(PIP_INSTALL) $(AS_PATH) -c constraints/deploy.txt -e '.[deploy]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(PIP_INSTALL) $(AS_PATH) -c constraints/docs.txt -e '.[docs]'
	@touch $@

$(VENV)/.installed-fuzz: $(VENV)/.installed
	$(PIP_INSTALL) $(AS_PATH) -c constraints/fuzz.txt -e '.[fuzz]'
	@touch $@

$(VENV)/.installed-hooks: $(VENV)/.installed
	$(PIP_INSTALL) $(AS_PATH) -c constraints/hooks.txt -e '.[hooks]'
	@touch $@

$(VENV)/.installed-release: $(VENV)/.installed
	$(PIP_INSTALL) $(AS_PATH) -c constraints/release.txt -e '.[release]'
	@touch $@

# With Eddy, so that a test may hold both ends of the channel.
$(GUARD)/.installed: pyproject.toml client/pyproject.toml $(wildcard constraints/*.txt) | $(BIN)/python
	@echo "Installing the SDKs of agents, with Eddy, into $(GUARD). 800 MB: this takes minutes."
	$(BIN)/python -m venv --clear $(GUARD)
	$(GUARD)/bin/python -m pip --disable-pip-version-check install --quiet $(AS_PATH) \
	  -c constraints/guard.txt -e '.[guard]' -e client
	@touch $@

$(GATEWAY)/.installed: constraints/gateway.txt client/pyproject.toml | $(BIN)/python
	@echo "Installing LiteLLM, with the client of Eddy, into $(GATEWAY)."
	$(BIN)/python -m venv --clear $(GATEWAY)
	$(GATEWAY)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps -r constraints/gateway.txt
	$(GATEWAY)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps $(AS_PATH) -e client
	@touch $@

# Their own steps after an installation are left out: what they need is in the packages.
$(PROGRAMS)/.installed: constraints/programs.json
	@echo "Installing coding agents into $(PROGRAMS). 1 GB: this takes minutes."
	mkdir -p $(PROGRAMS)
	cp constraints/programs.json $(PROGRAMS)/package.json
	cd $(PROGRAMS) && npm install --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error
	@touch $@

# Without Eddy, as agents run. The file names every package, so that pip has nothing to decide.
$(SOURCES)/.installed: constraints/sources.txt | $(BIN)/python
	@echo "Installing the SDKs of agents into $(SOURCES)."
	$(BIN)/python -m venv --clear $(SOURCES)
	$(SOURCES)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps -r constraints/sources.txt
	@touch $@

# Left half-made, by a Python that cannot install pip or by an interruption: it is made again.
ifeq ($(wildcard $(VENV)/.installed $(VENV)/lib/python3*/site-packages/pip/__main__.py),)
.PHONY: $(BIN)/python
endif

# The first Python that runs and is new enough; a name alone proves nothing where version switchers put shims.
$(BIN)/python:
	@for python in python3.11 python3 python3.12 python3.13 python3.14; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "Making $(VENV) with $$python"; $$python -m venv --clear $(VENV) && exit; \
	    rm -rf $(VENV); \
	    echo "$$python cannot make $(VENV): the half-made one is removed. On Debian and Ubuntu a package is missing:" \
	      'apt-get install python3-venv (as root), then make again.' >&2; \
	    exit 1; \
	  fi; \
	done; \
	echo 'Eddy needs Python 3.11 or newer: install it so that python3.11 or python3 starts it, then make again.' >&2; \
	exit 1
