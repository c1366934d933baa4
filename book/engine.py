"""What the book's build does beyond Sphinx: cached runs, two at a time; numbers; MathJax on disk.

Cells are cached by their text alone. A chapter shows what the package computes, so the folder of
the cache is named after everything else a cell can read: the package, the saved results, the pins.
Chapters run side by side *before* Sphinx reads them; it then finds their outputs in the cache.
(Its own ``-j`` forks, and a kernel started from a forked process can hang.)
"""

import hashlib
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path

import freshness
import live
from docutils import nodes
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx_external_toc.collectors import TocTreeCollectorWithStyles

AT_A_TIME = 2
number_by_place = TocTreeCollector.assign_section_numbers
COLOUR = re.compile(r"\x1b\[[\d;]*m")

# Of MathJax's 24 MB: the component that pages load, its fonts, and what TeX may ask for later.
MATHJAX_FILES = ("tex-chtml.js", "input/tex/extensions/**/*.js", "output/chtml/fonts/**/*.woff")


def code_digest():
    """Name the state of everything but the text that decides what a cell prints."""
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode() + freshness.digest(freshness.CELLS_READ).encode())
    return digest.hexdigest()[:16]


def drop_old_caches(app):
    """Keep the outputs of the present code only."""
    current = Path(app.config.nb_execution_cache_path)
    if current.parent.name == "cache":
        for old in set(current.parent.glob("*")) - {current}:
            shutil.rmtree(old)


def execute_side_by_side(app, env, docnames):
    """Run the cells of all chapters that have no output in the cache, ``AT_A_TIME`` at a time."""
    import matplotlib.font_manager  # noqa: F401  lists the fonts, once a machine: not in two kernels
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn
    from jupyter_cache.executors.utils import single_nb_execution
    from myst_nb.core.read import create_nb_reader

    cache = get_cache(app.config.nb_execution_cache_path)
    waiting = {}
    for path in (env.doc2path(name) for name in docnames):
        text = path.read_text(encoding="utf-8")
        reader = create_nb_reader(str(path), env.myst_config, env.mystnb_config, text)
        if reader is not None:
            notebook = reader.read(text)
            try:
                cache.match_cache_notebook(notebook)
            except KeyError:
                waiting[path] = notebook

    def run(path):
        return path, single_nb_execution(
            waiting[path],
            cwd=str(path.parent),
            timeout=app.config.nb_execution_timeout,
            allow_errors=False,
            extra_arguments=["--log-level=40"],  # a kernel's own news is no concern of the book
        )

    failures = []
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for done in as_completed([pool.submit(run, path) for path in sorted(waiting)]):
            path, result = done.result()
            print(f"ran {path.name} in {result.time:.1f} s", flush=True)
            if result.err is None:
                data = {"execution_seconds": result.time}
                bundle = CacheBundleIn(waiting[path], str(path), data=data)
                cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
            else:
                failures.append(f"{path}: {COLOUR.sub('', str(result.err))}")
    if failures:
        sys.exit("\n".join(failures))


def number_by_file(collector, env):
    """Give a chapter the number of its file, in whichever part it stands."""
    before = env.toc_secnumbers
    number_by_place(collector, env)
    for name, numbers in env.toc_secnumbers.items():
        chapter = re.match(r"chapters/(\d+)_", name)
        if chapter:
            first = int(chapter[1])
            env.toc_secnumbers[name] = {at: (first, *rest) for at, (_, *rest) in numbers.items()}
            for node in [env.titles[name], *env.tocs[name].findall(nodes.reference)]:
                if node.get("secnumber"):
                    node["secnumber"] = [first, *node["secnumber"][1:]]
    return [name for name, numbers in env.toc_secnumbers.items() if numbers != before.get(name)]


def rocket_where_a_twin_is(app, doctree):
    """Let only chapters offer to open on Colab: pages of book/ run cells too, and have no ``.ipynb`` twin there."""
    name = app.env.current_document.docname
    if not app.env.doc2path(name).with_suffix(".ipynb").exists():
        app.env.metadata[name].pop("kernelspec", None)


def copy_mathjax(app, exception):
    """Copy MathJax beside the pages, so that reading the book needs no network."""
    if exception is not None or app.builder.format != "html":
        return
    source = Path(find_spec("mathjax").origin).parent / "static" / "mathjax" / "es5"
    target = Path(app.outdir) / "_static" / "vendor" / "mathjax"
    for pattern in MATHJAX_FILES:
        for path in source.glob(pattern):
            copy = target / path.relative_to(source)
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)


def pack_live_files(app, exception):
    """Put beside the pages what their cells import and read when they run there."""
    if exception is None and app.builder.format == "html":
        live.write(Path(app.outdir) / "_static")


def mend_citations(app, pagename, templatename, context, doctree):
    """Call the works cited no list to a screen reader: its entries have a role that a list may not hold."""
    if "body" in context:
        context["body"] = context["body"].replace('<div role="list" class="citation', '<div class="citation')


def note_sources(app):
    """Before the pages are read, note what they are read from, so that a stale build can be told from a fresh one."""
    html, made_from = Path(app.outdir), freshness.digest(freshness.SOURCES)
    (html / freshness.STAMP).unlink(missing_ok=True)

    def write(app, exception):
        if exception is None and app.builder.format == "html":
            (html / freshness.STAMP).write_text(made_from, encoding="utf-8")

    app.connect("build-finished", write)


def setup(app):
    """Connect the hooks; called by Sphinx."""
    TocTreeCollectorWithStyles.assign_section_numbers = number_by_file
    app.connect("builder-inited", drop_old_caches)
    app.connect("builder-inited", note_sources)
    app.connect("html-page-context", mend_citations)
    app.connect("env-before-read-docs", execute_side_by_side)
    app.connect("doctree-read", rocket_where_a_twin_is)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", pack_live_files)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
