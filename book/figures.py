"""Scripts for the interactive figures, on the pages that hold one and on no other.

A cell that ends with `mhc_np.lab.interactive.interactive` leaves ``data-figure="KIND"`` in its page. The page then
loads what all figures share, what this kind needs, and the kind's own script, from ``_static/figures``.
"""

import re

MARK = re.compile(r'<div class="play" id="[\w-]+" data-figure="(\w+)"')
SHARED = ("kit", "draw")
NEEDED = {"sinkhorn": ("mixing",)}


def scripts_of(body):
    """Return the names of the scripts that a page needs, in the order in which they must run.

    >>> scripts_of('<div class="play" id="a" data-figure="sinkhorn" role="group">')
    ['kit', 'draw', 'mixing', 'sinkhorn']
    >>> scripts_of("<p>no figure</p>")
    []
    """
    own = [name for kind in MARK.findall(body) for name in (*NEEDED.get(kind, ()), kind)]
    return list(dict.fromkeys([*SHARED, *own])) if own else []


def add_scripts(app, pagename, templatename, context, doctree):
    """Add them to a page that is about to be written."""
    names = scripts_of(context.get("body", ""))
    for name in names:
        app.add_js_file(f"figures/{name}.js", loading_method="defer")
    if names:
        app.add_css_file("figures/figures.css")


def setup(app):
    """Connect the hook; called by Sphinx."""
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
