"""Sphinx configuration of the book: sources in book/ and chapters/, one root above both.

Build it with ``make book``. Warnings are errors, a cell that fails stops the build, and the pages
load nothing from outside. What needs code is in ``engine.py``.
"""

import gc
import sys
from pathlib import Path

BOOK = Path(__file__).resolve().parent
sys.path.insert(0, str(BOOK))

from engine import code_digest  # noqa: E402

# A build makes objects that live to its end; looking through them again and again took half of its time.
gc.set_threshold(1_000_000)

# The one place that names the home of the project; twins.py and the tests read it from here.
REPOSITORY = "https://github.com/mhc-np/mhc_np"

project = "Attention, Bayes and Wide Streams"
author = "the mhc_np authors"
copyright = "2026, the mhc_np authors. Text CC BY 4.0, code MIT"
language = "en"

extensions = [
    "myst_nb",
    "sphinx_external_toc",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_togglebutton",
    "sphinx_proof",
    "sphinx_exercise",
    "sphinxcontrib.bibtex",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "numpydoc",
    "engine",
    "slide_parts",
    "figures",
    "reference",
]
external_toc_path = "book/_toc.yml"
include_patterns = ["book/*.md", "book/api/*.md", "chapters/*.md"]
exclude_patterns = [".git", ".venv*", "runs"]  # folders with many files and no pages: not even looked through
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
numfig = True
math_numfig = True

# Only syntax that Jupyter Book 2 reads in the same way.
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# The reference, from docstrings in numpydoc's form; reference.py writes its pages.
default_role = "py:obj"  # in docstrings single backticks name something of ours, which must exist
autodoc_typehints = "none"
numpydoc_show_class_members = False
toc_object_entries = False  # hundreds of names, copied into the sidebar of every page

# Cells run once and are kept until a cell, the package or a saved result changes.
nb_execution_mode = "cache"
nb_execution_cache_path = str(BOOK / "_build" / "cache" / code_digest())
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_output_stderr = "remove-warn"  # what a cell says on stderr is a warning, and stops the build
nb_ipywidgets_js = {}  # widgets would load their code from a CDN

html_theme = "sphinx_book_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["custom.css", "live.css"]
html_js_files = [("live.js", {"defer": "defer"}), ("reader.js", {"defer": "defer"})]
html_favicon = "_static/favicon.svg"
html_use_index = False
html_domain_indices = False
html_copy_source = True  # the download button offers the executed notebook
html_context = {"default_mode": "auto"}
html_theme_options = {
    "repository_url": REPOSITORY,
    "repository_branch": "main",
    "path_to_docs": "",
    "use_repository_button": True,
    "use_issues_button": True,
    "use_download_button": True,
    "launch_buttons": {
        "colab_url": "https://colab.research.google.com",
        "binderhub_url": "https://mybinder.org",  # builds environment.yml
        "notebook_interface": "jupyterlab",
    },
    "navbar_persistent": [],  # else the theme shows a second search field
    "show_toc_level": 2,
    "home_page_in_toc": True,
}

mathjax_path = "vendor/mathjax/tex-chtml.js"  # put there by engine.py
mathjax3_config = {"options": {"enableMenu": True}}
