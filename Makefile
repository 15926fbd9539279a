# Every target makes its own virtual environment when it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt

# Hundreds of processes load the same files: what one has compiled, the next must find.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check site pythons format bench prove screenshots clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# What users have …
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable .
	touch $@

# … and what developers have on top: the tools, and every extra but `rl`, whose PyTorch is large. Tests of PPO are skipped without it.
DEV := $(VENV)/.dev
$(DEV): $(VENV)/.installed
	$(PIP) --editable '.[dev]'
	touch $@

RL := $(VENV)/.rl
$(RL): $(DEV)
	$(PIP) --editable '.[rl]'
	touch $@

demo: $(VENV)/.installed
	mkdir -p demo
	@for kind in secret_game simulation evolution mutation; do \
		echo "Running examples/$$kind.toml …"; \
		$(BIN)/tidepool --db demo/tidepool.db run examples/$$kind.toml --quiet || exit 1; echo; \
	done
	@echo "All four studies are in demo/tidepool.db. Next:"
	@echo "  source $(VENV)/bin/activate                  # puts the command tidepool on your PATH"
	@echo "  tidepool --db demo/tidepool.db show last   # the results of the last study"
	@echo "  tidepool demo/tidepool.db                  # the app"
	@echo "  tidepool new secret_game                   # a config for a study of your own"

# Our matrices are small: the threads of numpy's and torch's libraries would only wait for one another.
test pythons: export OPENBLAS_NUM_THREADS = 1
test pythons: export OMP_NUM_THREADS = 1
test: $(DEV)
	$(BIN)/python -m pytest -n 4 --dist worksteal

check: $(DEV) site
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m benchmarks.size
	$(BIN)/python -m benchmarks.wording
	$(BIN)/codespell engine storage tui tidepool docs examples README.md CHANGELOG.md CONTRIBUTING.md

# The documentation as a site, in site/. A broken link fails it; `.venv/bin/zensical serve` shows it while you write.
$(BIN)/zensical: | $(BIN)/python
	$(PIP) zensical

site: $(BIN)/zensical
	$(BIN)/zensical build --strict

# The slow tests, and the installed package on every supported Python of this machine, with journeys through the app; those that are
# missing are named.
pythons: $(RL)
	$(BIN)/python -m pytest -n 4 --dist worksteal -m slow
	$(BIN)/python -m benchmarks.every_python

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed
	$(BIN)/tidepool bench

prove: $(RL)
	$(BIN)/python -m benchmarks.prove $(ONLY)

# What the app looks like, for README and docs: docs/pictures/*.svg
screenshots: $(DEV)
	$(BIN)/python -m benchmarks.pictures

clean:
	rm -rf $(VENV) .cache .pythons demo site build *.egg-info
