# Two commands do everything on a fresh machine with Python 3.11 and make: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo demo-server test cases check types style profile-tests test-slow test-portable test-next test-lowest wheel audit mutate bench benchmark fuzz figures docs clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(STAMP)  ## release a synthetic graph from a bundled one, ask cut queries, find where to meet, count flows, draw all
	$(BIN)/python scripts/demo.py
	$(BIN)/python scripts/demo_distances.py
	$(BIN)/python scripts/demo_flows.py

demo-server: $(STAMP)  ## serve a bundled graph to browsers on this machine; prints a link and tokens
	$(BIN)/python scripts/demo_server.py

check: $(STAMP)  ## lint, types and import rules
	@$(MAKE) --no-print-directory -j 2 types style

types: $(STAMP)
	$(BIN)/mypy

style: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

test: style  ## lint, types, import rules, and tests in minutes; ALL=1 with all their cases, FOLDER=learn of one folder
	@$(MAKE) --no-print-directory -j 2 types cases

cases: $(STAMP)
	$(BIN)/pytest $(if $(ALL),--thorough) $(if $(FOLDER),tests/$(FOLDER) tests/architecture/test_layers.py)

profile-tests: $(STAMP)  ## the processor time of each test function, or of those of FOLDER=learn
	PYTHONPATH=$(CURDIR) $(BIN)/pytest -q -n 0 -p scripts.profile_tests tests/$(FOLDER)

test-slow: $(STAMP)  ## the tests that take minutes, some of which need Java
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,slow]'
	$(BIN)/pytest -m slow

test-portable: $(STAMP)  ## the numerical tests under every BLAS kernel that this processor can run, or KERNELS=a,b
	$(BIN)/python scripts/portable.py $(if $(KERNELS),--kernels $(KERNELS))

test-next:  ## the tests with the newest of everything, pre-releases too: make test-next PYTHON=python3.13
	$(PYTHON) -m venv --clear .venv-next
	.venv-next/bin/python -m pip install --quiet --disable-pip-version-check --pre --upgrade -e '.[dev]'
	.venv-next/bin/pytest

test-lowest:  ## the tests with the lowest versions that pyproject.toml allows; run it before each release
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python scripts/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-lowest/constraints.txt -e '.[dev,all]'
	.venv-lowest/bin/pytest

wheel: $(STAMP)  ## build the wheel into dist, to be installed elsewhere by pip
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

mutate: $(STAMP)  ## break the privacy of the code on purpose, see which tests notice (an hour)
	$(BIN)/python scripts/mutate.py

audit: $(STAMP)  ## audit every mechanism and its incorrect variants, on simulated graphs; one table
	$(BIN)/graphcuts-dp audit all --processes 2

bench: $(STAMP)  ## speed and accuracy beside peers, as ratios
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,bench]'
	$(BIN)/python -m scripts.bench.run

benchmark: $(STAMP)  ## PrivateCuts: every contender on every graph (hours, with JOBS=processes), then its pages
	mkdir -p build
	$(BIN)/graphcuts-dp benchmark --out build/benchmark.jsonl --jobs $(or $(JOBS),2) $(OPTIONS)
	$(BIN)/python -m scripts.benchmark.pages build/benchmark.jsonl

fuzz: $(STAMP)  ## feed damaged files to every reader, for a minute each, where that leads to new code
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,fuzz]'
	$(BIN)/python scripts/fuzz.py

figures: $(STAMP)  ## redraw everything in figures/ and the table in its README
	$(BIN)/python -m scripts.figures

docs: $(VENV)/.docs  ## build the site into build/docs, its notebooks executed; checks spelling, links and widths
	$(BIN)/codespell README.md SECURITY.md CONTRIBUTING.md CHANGELOG.md docs figures/README.md datasets/README.md
	PYTHONPATH=$(CURDIR) $(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	$(BIN)/python scripts/check_docs.py build/docs
	@echo "open build/docs/index.html"

$(VENV)/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,docs]'
	touch $@

clean:
	rm -rf $(VENV) .venv-next .venv-lowest demo-output build dist
