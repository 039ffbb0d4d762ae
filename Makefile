# Each command sets up what it needs; only Python, make and pip must be there.
PYTHON ?= python3
BIN := .venv/bin
# A file is one process's, with what its tests have in common; the order is tests/conftest.py's.
SHARED_OUT := --numprocesses auto --dist loadfile --no-loadscope-reorder

# Hundreds of processes are started, and each would compile its imports again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-all check fix bench screenshots docs wheel clean

run: .venv/.core
	$(BIN)/python app.py

test: .venv/.test
	$(BIN)/python -m pytest $(SHARED_OUT) $(ARGS)

# The same, with all that `test` takes samples of: corpora, levels of the sandbox, attacks, kills.
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

# The pictures of README and documents, taken from the page as it is; they need Chromium.
screenshots: .venv/.test
	$(BIN)/python -m evaluation.screenshots docs

# The site of the documents, in docs/_build; a warning fails.
docs: .venv/.test
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build

# Builds the wheel, and heals with it where nothing else of ours is.
wheel: .venv/.core
	.ci/wheel

.venv/bin/pip:
	$(PYTHON) -m venv .venv

.venv/.core: pyproject.toml | .venv/bin/pip
	@echo "Installing what the page needs into .venv; this takes about a minute."
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[ui]"
	touch $@

# What is never imported need not be compiled: that halves the time, most of which is torch's.
.venv/.test: pyproject.toml | .venv/bin/pip
	@echo "Installing the test set into .venv; this takes about two minutes."
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check --editable ".[ui,test,dev]"
	touch $@ .venv/.core

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache *.egg-info
