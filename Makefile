# Each target installs its requirements; only Python, make and pip must be installed.
PYTHON ?= python3
BIN := .venv/bin
# The tests of a file share fixtures and one process; tests/conftest.py sets the order.
SHARED_OUT := --numprocesses auto --dist loadfile --no-loadscope-reorder

# Otherwise each of the hundreds of started processes would compile its imports again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-all check fix bench screenshots docs wheel clean

run: .venv/.core
	$(BIN)/python app.py

test: .venv/.test
	$(BIN)/python -m pytest $(SHARED_OUT) $(ARGS)

# All tests; `test` leaves out `nightly` ones and samples corpora, sandbox levels and attacks.
test-all: .venv/.test
	$(BIN)/python -m pytest --whole $(SHARED_OUT) $(ARGS)

check: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/mypy

fix: .venv/.test
	$(BIN)/ruff check --fix .

bench: .venv/.test
	$(BIN)/python -m evaluation.bench
	$(BIN)/python -m sandbox bench

# Takes the screenshots of the documentation from the current page; needs Chromium.
screenshots: .venv/.test
	$(BIN)/python -m evaluation.screenshots docs

# Builds the documentation in docs/_build; warnings are errors.
docs: .venv/.test
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build

# Builds the wheel and tests it outside of the checkout; with WHEEL=quick, on one Python.
wheel: .venv/.core
	.ci/wheel $(WHEEL)

.venv/bin/pip:
	$(PYTHON) -m venv .venv

.venv/.core: pyproject.toml | .venv/bin/pip
	@echo "Installing what the page needs into .venv; this takes about a minute."
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[ui]"
	touch $@

# Without compiling modules that may never be imported, mostly of torch, it takes half the time.
.venv/.test: pyproject.toml | .venv/bin/pip
	@echo "Installing the test set into .venv; this takes about two minutes."
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check --editable ".[ui,test,dev]"
	touch $@ .venv/.core

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache *.egg-info
