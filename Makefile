# Two commands do everything on a machine that has only Python (>= 3.11) and make:
#   make demo    64 processes find the best arm together; ends with a page to open
#   make test    the test suite
# Each makes its own environment in .venv when it is missing.
PYTHON ?= python3
# how long `make fuzz` fuzzes each reader
SECONDS ?= 600
VENV   := .venv
BIN    := $(VENV)/bin
# modules are compiled when they are first imported: half of a fresh environment's time
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile

# a fifth of the time is waiting: three at once take 200 s on two cores, two take 240
QUICK := --numprocesses 3 --dist worksteal -m "not slow"
# quick and slow ones in one call: each worker imports once, and the last of the quick ones is not waited for
ALL := --numprocesses 3 --dist worksteal -m "not machine"
# in the compiled copy; processes look for posse by PYTHONPATH
IN_COPY := cd build/compiled && PYTHONPATH=$(CURDIR)/build/compiled:$(CURDIR)/build/compiled/systems $(CURDIR)/$(BIN)/python
# where the modules that setup.py compiles are tested
COMPILED := --numprocesses 3 --dist worksteal -m "not slow and not inside" \
	tests/agent tests/arms tests/cli/test_version.py tests/clocks tests/coordinator \
	tests/cli/test_main.py::test_processes_run_the_build_that_is_tested \
	tests/durable/test_checkpoint.py tests/engines tests/hosts tests/measure tests/runs tests/systems tests/wire

# tests start hundreds of processes: what each imports is compiled once
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo pictures example test test-all test-compiled check fuzz resolve lowest attacks simulate mutants format docs bench compiled lock clean

demo: $(VENV)/run
	$(BIN)/posse run examples/first_ride.toml --out runs/demo
	$(BIN)/posse report runs/demo
	@echo "open file://$(CURDIR)/runs/demo/report.html in a browser"

# those of README.md and the documents, from real runs: the demo's, and three systems on one grid
GRID := examples/pictures.toml
pictures: $(VENV)/run
	rm -rf build/pictures && mkdir -p build/pictures docs/pictures
	$(BIN)/posse run examples/first_ride.toml --engine memory --out build/pictures/demo
	$(BIN)/posse report build/pictures/demo
	for system in cooperative-ucb ucb1 posse_arena.baselines:COOPERATIVE_MOSS; do \
		$(BIN)/posse run $(GRID) --set system=$$system --out build/pictures/$${system##*:} || exit 1; done
	$(BIN)/posse report build/pictures/cooperative-ucb
	cd build/pictures && $(CURDIR)/$(BIN)/posse report cooperative-ucb ucb1 COOPERATIVE_MOSS --out compare.html
	cp build/pictures/demo/report-figures/regret.svg docs/pictures/demo-regret.svg
	cp build/pictures/cooperative-ucb/report-figures/network.svg docs/pictures/network.svg
	cp build/pictures/compare-figures/regret.svg docs/pictures/compare-regret.svg

example: $(VENV)/dev
	$(BIN)/python examples/model_selection/run.py

test: $(VENV)/dev
	$(BIN)/python -m pytest $(QUICK)

# what is slow may need the whole machine: hosts, containers, a cluster, 1,024 processes
test-all: $(VENV)/dev
	$(BIN)/python -m pytest $(ALL); all=$$?; \
	$(BIN)/python -m pytest -m machine && exit $$all

test-compiled: compiled
	$(IN_COPY) -m pytest $(COMPILED)

check: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.gates.lint
	cd systems && ../$(BIN)/lint-imports
	cd papers && ../$(BIN)/lint-imports
	cd arena && ../$(BIN)/lint-imports

fuzz: $(VENV)/dev
	$(BIN)/pip install -q atheris
	$(BIN)/python -m tests.fuzz $(SECONDS)
	$(BIN)/python -m tests.fuzz.run_files --count 2000 --first $(FIRST)
	$(BIN)/python -m pytest tests/hosts/test_fuzz.py --fuzz 1000000 --timeout 900
	ADVERSARY_SECONDS=$(SECONDS) $(BIN)/python -m pytest -rP -k test_adversaries --timeout 7200

resolve: $(VENV)/dev
	$(BIN)/pip install -q uv
	PATH=$(BIN):$$PATH $(BIN)/python -m tests.packaging.resolve

# on the lowest versions that are declared
lowest: $(VENV)/dev
	$(BIN)/pip install -q uv
	rm -rf build/lowest build/lib systems/build
	$(BIN)/uv venv -q build/lowest
	$(BIN)/uv pip install -q --python build/lowest/bin/python --resolution lowest-direct ".[field]" ./systems
	rm -rf build/lib systems/build
	cd tests/packaging && $(CURDIR)/build/lowest/bin/python lowest.py

# the tests that docs/security.md names; then the scripts of an attacker, where there are any
attacks: $(VENV)/dev
	grep -o 'tests/[a-z_0-9/]*\.py::[a-z_0-9]*' docs/security.md | sort -u | \
		xargs $(BIN)/python -m pytest --numprocesses 3 --dist worksteal; tests=$$?; \
	$(BIN)/python -m tests.attacks && exit $$tests

# the real coordinator and agents under drawn faults, in virtual time
SEEDS ?= 500
FIRST ?= $(shell date +%s)
simulate: $(VENV)/dev
	$(BIN)/posse simulate --seeds $(SEEDS) --first $(FIRST) --jobs 2 $(SIMULATE)

# small faults in copies of the code, each until a seed finds it
mutants: $(VENV)/dev
	$(BIN)/python -m tests.support.mutants --first $(FIRST) $(MUTANTS)

format: $(VENV)/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

bench: compiled
	$(IN_COPY) -m bench

# a copy whose hottest modules are compiled, as POSSE_COMPILE=1 pip install has them; it gets its name
# when it is whole, or a copy that failed to compile would run as plain Python
compiled: $(VENV)/dev
	rm -rf build/compiled build/compiling
	mkdir -p build/compiling
	cp -r $$(ls | grep -v '^build$$\|^runs$$') build/compiling
	cd build/compiling && POSSE_COMPILE=1 $(CURDIR)/$(BIN)/python setup.py --quiet build_ext --inplace
	cd build/compiling/systems && PYTHONPATH=.. POSSE_COMPILE=1 $(CURDIR)/$(BIN)/python setup.py --quiet build_ext --inplace
	mv build/compiling build/compiled

clean:
	rm -rf $(VENV) build *.egg-info

# what is installed is in requirements/, by version and hash; posse itself from here
$(VENV)/run: requirements/run.lock pyproject.toml systems/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r $<
	$(PIP) --no-deps --no-build-isolation -e . -e systems
	touch $@

$(VENV)/dev: requirements/dev.lock $(VENV)/run papers/pyproject.toml arena/pyproject.toml
	$(PIP) --require-hashes -r $<
	$(PIP) --no-deps --no-build-isolation -e papers -e arena
	touch $@

$(VENV)/docs: requirements/docs.lock $(VENV)/run
	$(PIP) --require-hashes -r $<
	touch $@

LOCK = uv pip compile --quiet --no-emit-package posse-systems --no-emit-package posse-bandits --universal --generate-hashes --upgrade --python-version 3.11 \
	--custom-compile-command "make lock"
PROJECT = pyproject.toml requirements/build.in

# needs uv; afterwards: make test-all
lock:
	$(LOCK) $(PROJECT) --extra report -o requirements/run.lock
	$(LOCK) $(PROJECT) --extra dev --extra examples --extra report -o requirements/dev.lock
	$(LOCK) $(PROJECT) --extra docs -c requirements/dev.lock -o requirements/docs.lock
	$(LOCK) $(PROJECT) requirements/image.in --extra live --extra metrics --extra report -o requirements/image.lock
	$(LOCK) requirements/compile.in -c requirements/image.lock -o requirements/compile.lock
	$(LOCK) requirements/release.in -o requirements/release.lock
