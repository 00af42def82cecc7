# Everything a day needs. Each target works on a fresh clone: it makes .venv and installs what it needs, from
# requirements/dev.txt, where every version is pinned by hash. The demos need less (requirements/demo.txt, the same
# versions), and run interpreted where nothing was compiled: they are there in a minute, not in four.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COMPILED := $(shell sed -n 's/^    "\(src\/.*\.py\)",$$/\1/p' setup.py)
STAMP := $(VENV)/.installed
SHOWABLE := $(if $(wildcard $(STAMP)),$(STAMP),$(VENV)/.demo)
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
STEP := $(PYTHON) tools/step.py
# Containers often forbid Python to keep what it has compiled. Every broker that a test starts would compile the whole
# package again: four times the start, and collecting the tests takes twice as long.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help install lint check format test coverage bench sim soak mutations demo demo-log tour wheel docs lock clean

help:  ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[36m%-9s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP)  ## make .venv, install the locked dependencies, compile what setup.py lists

define MAKE_VENV
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tidelog needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Say which one: make PYTHON=python3.12 ...")'
@$(STEP) "making $(VENV)" $(PYTHON) -m venv $(VENV)
endef

$(VENV)/.locked: requirements/dev.txt
	$(MAKE_VENV)
	@$(STEP) "installing what development needs, of requirements/dev.txt" $(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

$(STAMP): $(VENV)/.locked pyproject.toml pipelines/pyproject.toml setup.py $(COMPILED)
	@$(STEP) "compiling and installing Tidelog" $(PIP) --no-build-isolation --no-deps -e . -e ./pipelines
	@$(BIN)/tidelog version
	@touch $@

# Not compiled to .pyc: of the thousands of files that are installed, the demo imports few. Modules that were compiled
# for an environment that is gone would be run instead of their sources.
$(VENV)/.demo: requirements/demo.txt pyproject.toml pipelines/pyproject.toml
	$(MAKE_VENV)
	@find src -name '*.so' -delete
	@$(STEP) "installing Spark and what else the demo needs, 700 MB" $(PIP) --no-compile --require-hashes -r requirements/demo.txt
	@TIDELOG_PURE=1 $(STEP) "installing Tidelog (interpreted; make install compiles it)" $(PIP) --no-build-isolation --no-deps -e . -e ./pipelines
	@touch $@

lint: $(STAMP)  ## format, lint, types, layers, generated docs
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
	$(BIN)/mypy & types=$$!; $(BIN)/lint-imports --no-logo && $(BIN)/python tools/docs.py --check && $(BIN)/python -m tools.changelog --check; rest=$$?; wait $$types && exit $$rest

check: lint  ## format, lint, types, layers, generated docs, unit tests: under a minute
	$(BIN)/pytest -q -n 2 --dist worksteal tests/unit

format: $(STAMP)  ## rewrite the sources as `check` wants them
	$(BIN)/ruff format -q .
	$(BIN)/ruff check -q --fix .

# Four workers on two cores: while some wait for a JVM or a timeout, others compute (tests/conftest.py has the order). Spark
# waits too, and the kernels run once more, interpreted, beside it. What the tests compare with is fetched beside the first.
PURE := $(addprefix tests/,unit/records property/records wire/records unit/storage property/storage)
BESIDE = $(1) >$(VENV)/.beside 2>&1 & beside=$$!; $(2); here=$$?; wait $$beside; there=$$?; cat $(VENV)/.beside; exit $$((here | there))

test: lint  ## everything that CI runs
	$(call BESIDE,$(BIN)/python -m tools.fetch,$(BIN)/pytest -q -n 4 --dist worksteal --ignore=tests/spark tests)
	$(call BESIDE,TIDELOG_PURE=1 $(BIN)/pytest -q -n 1 $(PURE),$(BIN)/pytest -q -n 2 --dist worksteal -m "not long" tests/spark)

# Interpreted, because a compiled module has no lines to count.
coverage: $(STAMP)  ## how much of the code the unit tests run, interpreted
	TIDELOG_PURE=1 $(BIN)/pytest -q -n 2 --dist worksteal --cov --cov-report=term:skip-covered tests/unit

bench: $(STAMP)  ## what it costs, beside its peers, in one run
	$(BIN)/python -m benchmarks

sim: $(STAMP)  ## crash the log on the simulated disk, many seeds
	$(BIN)/python -m tools.sim

ROUNDS ?= 200
soak: $(STAMP)  ## Spark, each version of it, then exactly-once under kill -9 of both sides, ROUNDS=200 rounds (SEED=n)
	$(BIN)/python -m tools.spark_suite
	$(BIN)/python -m tools.soak --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED))

mutations: $(STAMP)  ## make deliberate bugs in a copy and see that a test catches each
	$(BIN)/python tools/mutations.py

DEMO_RATE ?= 2000
demo: $(SHOWABLE)  ## a shop, a Spark job that counts it, a live table; DEMO_SECONDS=90: compare with the truth, and end
	@$(BIN)/python -m examples.demo --rate $(DEMO_RATE) $(if $(DEMO_SECONDS),--seconds $(DEMO_SECONDS))

demo-log: $(SHOWABLE)  ## the broker alone, with traffic and a live table, until Ctrl-C
	@$(BIN)/python -m examples.demo_log

tour: $(STAMP)  ## what lies below the broker, in two seconds
	$(BIN)/python -m examples.tour

wheel: $(STAMP)  ## wheels for x86-64 and ARM and of the pipelines, into dist/
	$(BIN)/python tools/wheels.py

docs: $(STAMP)  ## write the generated reference pages
	$(BIN)/python tools/docs.py

lock: $(STAMP)  ## choose versions anew (requirements/*.txt)
	$(BIN)/python tools/lock.py

clean:  ## remove what was built, .venv included
	rm -rf $(VENV) build dist src/*.egg-info pipelines/build pipelines/src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src -name '*.so' -delete
	rm -f src/tidelog/_compiled.json
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
