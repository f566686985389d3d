# Two commands do everything on a machine that has only Python (>= 3.11) and make:
#   make demo    64 processes find the best arm together; ends with a page to open
#   make test    the test suite
# Each makes its own environment in .venv when it is missing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# modules are compiled when they are first imported: half of a fresh environment's time
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile

.PHONY: demo example test test-all check fuzz format docs bench clean

demo: $(VENV)/run
	$(BIN)/posse run examples/first_ride.toml --out runs/demo
	$(BIN)/posse report runs/demo
	@echo "open file://$(CURDIR)/runs/demo/report.html in a browser"

example: $(VENV)/dev
	$(BIN)/python examples/model_selection/run.py

test: $(VENV)/dev
	$(BIN)/python -m pytest -m "not slow"

test-all: $(VENV)/dev
	$(BIN)/python -m pytest

check: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: $(VENV)/dev
	$(BIN)/python -m pytest tests/hosts/test_fuzz.py --fuzz 1000000

format: $(VENV)/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

bench: $(VENV)/dev
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) build *.egg-info

$(VENV)/run: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[report]"
	touch $@

$(VENV)/dev: pyproject.toml $(VENV)/run
	$(PIP) -e ".[dev,examples,report]"
	touch $@

$(VENV)/docs: pyproject.toml $(VENV)/run
	$(PIP) -e ".[docs]"
	touch $@
