# Everything a day needs. Each target works on a fresh clone: it makes .venv and installs what it needs, from
# requirements/dev.txt, where every version is pinned by hash.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COMPILED := $(shell sed -n 's/^    "\(src\/.*\.py\)",$$/\1/p' setup.py)
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install check format test bench sim soak mutations demo demo-log tour wheel docs lock clean

help:  ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[36m%-9s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP)  ## make .venv, install the locked dependencies, compile the record kernels

$(VENV)/.locked: requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tidelog needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Say which one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

$(STAMP): $(VENV)/.locked pyproject.toml setup.py $(COMPILED)
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .
	@$(BIN)/tidelog version
	@touch $@

check: $(STAMP)  ## format, lint, types, layers, generated docs, unit tests: under a minute
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/docs.py --check
	$(BIN)/pytest -q -n 2 tests/unit

format: $(STAMP)  ## rewrite the sources as `check` wants them
	$(BIN)/ruff format -q .
	$(BIN)/ruff check -q --fix .

test: check  ## everything that CI runs
	$(BIN)/pytest -q -n 2 --ignore=tests/unit --ignore=tests/spark tests
	$(BIN)/pytest -q -n 2 --dist loadfile -m "not long" tests/spark
	TIDELOG_PURE=1 $(BIN)/pytest -q -n 2 tests/unit/records tests/property/records tests/wire/records tests/unit/storage tests/property/storage

bench: $(STAMP)  ## what it costs, beside its peers, in one run
	$(BIN)/python -m benchmarks

sim: $(STAMP)  ## crash the log on the simulated disk, many seeds
	$(BIN)/python -m tools.sim

ROUNDS ?= 200
soak: $(STAMP)  ## Spark in clusters, then exactly-once under kill -9 of both sides, ROUNDS=200 rounds (SEED=n)
	$(BIN)/pytest -q -m long tests/spark
	$(BIN)/python -m tools.soak --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED))

mutations: $(STAMP)  ## make deliberate bugs in a copy and see that a test catches each
	$(BIN)/python tools/mutations.py

DEMO_RATE ?= 2000
demo: $(STAMP)  ## a shop, a Spark job that counts it, a live table; DEMO_SECONDS=90: compare with the truth, and end
	@$(BIN)/python -m examples.demo --rate $(DEMO_RATE) $(if $(DEMO_SECONDS),--seconds $(DEMO_SECONDS))

demo-log: $(STAMP)  ## the broker alone, with traffic and a live table, until Ctrl-C
	@$(BIN)/python -m examples.demo_log

tour: $(STAMP)  ## what lies below the broker, in two seconds
	$(BIN)/python -m examples.tour

wheel: $(STAMP)  ## wheels for x86-64 and ARM, into dist/
	$(BIN)/python tools/wheels.py

docs: $(STAMP)  ## write the generated reference pages
	$(BIN)/python tools/docs.py

lock: $(STAMP)  ## choose versions anew (requirements/*.txt)
	$(BIN)/python tools/lock.py

clean:  ## remove what was built, .venv included
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src -name '*.so' -delete
	rm -f src/tidelog/_compiled.json
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
