# Each target does all its own set-up: a Python >= 3.11 and a C compiler are enough.
#   make test            a few cases of every test, in minutes
#   make test-all        all tests            make repro          the papers' tables, in minutes
#   make test-thorough   10,000+ examples     make repro FULL=1   a million examples
#   make bench           an epoch with each rule and storage
#   make fuzz            random inputs under the sanitizers, for SECONDS=60
#   make notebooks       opens them           make docs           the documentation, as pages
#   make article         a report on the replication of the paper, as a PDF
#   make test-torch      lazynet.torch, with PyTorch in an environment of its own
#   make wheels          the sdist and the wheel for this machine, tested without a compiler

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := setup.py pyproject.toml $(wildcard $(addprefix lazynet/kernels/*.,pyx pxd c h inc) lazynet/kernels/rules/*.pxd lazynet/kernels/branches/*.in lazynet/kernels/table.py)
PYTEST := $(BIN)/python -m pytest
# Python writes bytecode when it first imports a module, and pip writes none: most installed modules
# are never imported.
export PIP_COMPILE := 0
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup test test-all test-rest test-thorough test-torch test-sanitized fuzz repro article bench notebooks notebooks-check notebooks-write docs lint format wheels clean
help:
	@sed -n 's/^#   //p' Makefile

setup: $(VENV)/.installed

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lazynet needs Python 3.11 or newer; say make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	touch $@

# The needs of the tests alone; the package is compiled here, once, for the vector units of this machine.
$(VENV)/.installed: $(VENV)/.created $(SOURCES)
	LAZYNET_LEVELS=native $(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

# The needs of an extra, beside the package that is installed.
$(VENV)/.dev $(VENV)/.repro $(VENV)/.article $(VENV)/.notebooks $(VENV)/.docs: $(VENV)/.%: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet 'lazynet-linear[$*]'
	touch $@

test: setup
	$(PYTEST) -q -n auto --quick

test-all: $(VENV)/.dev
	$(PYTEST) -q -n auto

# The tests that make test leaves out; a skipped test fails the run.  Threads are timed alone.
test-rest: $(VENV)/.dev
	$(PYTEST) -q -n auto --rest --durations=15 --deselect tests/safe/test_threads.py::test_two_models_train_in_two_threads_at_once
	$(PYTEST) -q -p no:xdist tests/safe/test_threads.py -k "two_threads"

test-thorough: $(VENV)/.dev
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -q -n auto --thorough

# PyTorch for processors, where an index has this build (the one of PyTorch does: set
# PIP_EXTRA_INDEX_URL), because the usual one brings gigabytes for graphics processors.  What is
# tested: lazynet.torch, its page, its notebook and its studies.
TORCH_VENV := .venv-torch
TORCH := $(TORCH_VENV)/bin/python
$(TORCH_VENV)/.installed:
	$(MAKE) VENV=$(TORCH_VENV) $(TORCH_VENV)/.created
	build=$$($(TORCH) -m pip index versions torch 2>/dev/null | grep -o '[0-9.]*+cpu' | head -n 1) && \
	    $(TORCH) -m pip install --quiet "torch$${build:+==$$build}" numpy scipy scikit-learn safetensors \
	    pytest hypothesis matplotlib tqdm lxml threadpoolctl nbclient ipykernel
	touch $@

test-torch: setup $(TORCH_VENV)/.installed
	PYTHONPATH=. $(TORCH) -m pytest -q lazynet/torch tests/on_torch
	PYTHONPATH=. $(TORCH) -m pytest -q tests/docs/test_pages.py tests/repro/test_benchmarks.py -k "embeddings or long_tail"
	PYTHONPATH=$(CURDIR) $(TORCH) notebooks/run.py 13

# The cases of make test, or with CASES= all, on kernels with bounds checks, under the address and
# undefined behaviour sanitizers.  Studies and pages are left out: they call no other kernels.  This
# build has a separate environment and does not change the release build.  It has one vector level:
# LEVEL=_v3 (AVX2) and LEVEL=_v4 (AVX-512) have separate environments.
LEVEL ?=
CASES ?= --quick
SANITIZED_VENV := .venv-sanitized$(LEVEL)
SANITIZED := $(SANITIZED_VENV)/bin/python
# Python itself leaks by design; what is looked for is access outside arrays.  LAZYNET_LEVELS tells
# the tests that this build has one level.
SANITIZER_ENV := LAZYNET_LEVELS=1 ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
    LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)"
$(SANITIZED_VENV)/.needs: pyproject.toml
	$(MAKE) VENV=$(SANITIZED_VENV) $(SANITIZED_VENV)/.created
	$(SANITIZED) -m pip install --quiet numpy scipy scikit-learn safetensors pytest hypothesis pytest-xdist
	touch $@
$(SANITIZED_VENV)/.built: $(SANITIZED_VENV)/.needs $(SOURCES) $(wildcard lazynet/*.py lazynet/*/*.py)
	LAZYNET_DEBUG=1 LAZYNET_LEVEL=$(LEVEL) LAZYNET_SANITIZE=address,undefined $(SANITIZED) -m pip install --quiet --no-deps --force-reinstall --no-cache-dir .
	touch $@

test-sanitized: $(SANITIZED_VENV)/.built
	cd tests && HYPOTHESIS_PROFILE=few $(SANITIZER_ENV) ../$(SANITIZED) -m pytest -q -n auto $(CASES) -c ../pyproject.toml --rootdir .. -p no:cacheprovider exact safe estimators golden

# Random inputs of every kind for so many seconds, under the sanitizers; the last line says how to
# make a failure happen again.
SECONDS ?= 60
fuzz: $(SANITIZED_VENV)/.built
	cd tests && $(SANITIZER_ENV) ../$(SANITIZED) -m safe.fuzz $(SECONDS)

# Without prerequisites: it says what it does before the package is compiled.
repro:
	@echo "Reruns the timing studies of the papers$(if $(FULL),; the long run takes hours,: their table first, within 3 minutes, all within 10)."
	@$(if $(wildcard $(VENV)/.installed),:,echo "The first run also compiles the package, which takes two minutes.")
	@$(MAKE) --no-print-directory $(VENV)/.repro
	$(BIN)/python -m paper_repro $(if $(FULL),--full)

# From the committed results; measures nothing.
article: $(VENV)/.article
	$(BIN)/python -m paper_repro.article.article

bench: $(VENV)/.repro
	$(BIN)/python -m benchmarks bench

# Without trust JupyterLab does not show the figures that are stored in the files.
notebooks: $(VENV)/.notebooks
	$(BIN)/jupyter trust notebooks/*.ipynb
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) $(JUPYTER) notebooks

# Each in a clean kernel, errors fatal; the second one keeps the new outputs.
notebooks-check: $(VENV)/.notebooks
	$(BIN)/python notebooks/run.py
notebooks-write: $(VENV)/.notebooks
	$(BIN)/python notebooks/run.py --write

# Always from nothing: only then does Sphinx say all its warnings, and they are errors.
docs: $(VENV)/.docs
	rm -rf build/docs build/docs-source
	$(BIN)/python -m pytest -q --doctest-modules docs/docstrings.py docs/mathml.py
	$(BIN)/python docs/course.py
	$(BIN)/python docs/stage.py build/docs-source
	$(BIN)/python -m sphinx -q --fail-on-warning --keep-going -c docs build/docs-source build/docs
	$(BIN)/python docs/check_built.py build/docs
	$(BIN)/python docs/check_course.py build/docs

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The wheel is built from the sdist, so that both are tested.  It is then installed in an empty
# environment whose PATH has no compiler, and the tests of stored bits run there, from a folder without
# the sources.
BARE := $(abspath $(VENV)-wheel)
wheels: $(VENV)/.dev
	rm -rf dist $(BARE) build/wheel-tests
	$(BIN)/python -m build --quiet --outdir dist/built
ifeq ($(shell uname),Linux)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist dist/built/*.whl
else
	mv dist/built/*.whl dist
endif
	mv dist/built/*.tar.gz dist && rm -r dist/built
	$(PYTHON) -m venv $(BARE)
	! PATH=$(BARE)/bin "$$(command -v sh)" -c 'command -v cc || command -v gcc || command -v clang'
	PATH=$(BARE)/bin $(BARE)/bin/python -m pip install --quiet "$$(echo dist/*.whl)[test]"
	mkdir -p build/wheel-tests && cp -r tests pyproject.toml build/wheel-tests
	cd build/wheel-tests && export PATH=$(BARE)/bin HYPOTHESIS_PROFILE=few && \
	    python -c "import lazynet; print('lazynet', lazynet.__version__, 'of', lazynet.__path__[0])" && \
	    python -m pytest -q -r f -c pyproject.toml -p no:cacheprovider tests/golden tests/exact/test_the_same_bits.py
	rm -rf $(BARE) build/wheel-tests
	@echo "Installed without a compiler and tested:" dist/*.whl

clean:
	rm -rf build dist *.egg-info lazynet/kernels/*.so $(VENV) .venv-*
