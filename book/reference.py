"""The reference: pages made from the docstrings, links between them and the chapters, and the glossary's form.

A page of book/api/ asks in an HTML comment for the names of a package. In its place come the public names, module by
module, each module under its own summary and with a link to its chapter. Where a package offers names (``__all__``),
they stand under these short names, and nothing else does; where it offers a module, or nothing, all that is public.

Below code that a chapter shows from the package (`mhc_np.lab.source.show`) stand links to what the reference says of
it. Sphinx alone adds them, so that notebooks and Jupyter Book 2, which has no such pages, read the same sources.
"""

import importlib
import inspect
import pkgutil
import re
from functools import reduce

from docutils import nodes
from sphinx.domains.std import Glossary
from sphinx.util.nodes import make_refnode

ASKED = re.compile(r"^<!-- names of ([\w.]+)(?: in ([\w,\s]+))? -->$", re.M)
SHOWN = re.compile(r"# mhc_np/\S+\.py\n")
DEFINED = re.compile(r"^(?:def|class) (\w+)", re.M)
KERNEL = re.compile(r"_(?:fwd|bwd)$")
EQUATION = re.compile(r"\((eq:[\w-]+)\)")


# The pages


def modules(package, only=()):
    """Return the modules of a package: those of ``only``, in its order, or all."""
    names = only or [found.name for found in pkgutil.iter_modules(package.__path__)]
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


def offered(package, module):
    """Return {full name: function or class} of what is documented of a module."""
    listed = [vars(package)[name] for name in getattr(package, "__all__", [])]
    whole = not listed or module in listed
    named = {}
    for name, value in vars(module).items():
        own = inspect.isroutine(value) or inspect.isclass(value)
        if own and value.__module__ == module.__name__ and not name.startswith("_"):
            if whole:
                named[f"{module.__name__}.{name}"] = value
            elif any(value is thing for thing in listed):
                named[f"{package.__name__}.{name}"] = value
    return named


def entry(name, value):
    """Return the lines with which Sphinx documents one name, and the methods that a class defines itself."""
    if inspect.isroutine(value):
        return [f".. autofunction:: {name}"]
    own = [
        key
        for key, method in vars(value).items()
        if key[0] != "_" and inspect.isfunction(method) and method.__module__ == value.__module__
    ]
    return [f".. autoclass:: {name}", *([f"   :members: {', '.join(own)}"] if own else [])]


def section(package, module):
    """Return the part of a page that is about one module; empty if nothing of it is public."""
    named = offered(package, module)
    if not named:
        return ""
    header, file = inspect.getdoc(module), f"{module.__name__.replace('.', '/')}.py"
    path, number = re.search(r"Chapter: (chapters/(\d+)_\w+\.md)", header).groups()
    lines = [f"## {module.__name__.rpartition('.')[2]}", "", header.split("\n\n")[0], ""]
    lines += [f"[Chapter {int(number)}](../../{path}) · `{file}`", "", "```{eval-rst}"]
    return "\n".join([*lines, *(line for item in named.items() for line in [*entry(*item), ""]), "```", ""])


def write_pages(app, docname, source):
    """Put the names in the place of the comment that asks for them."""

    def names(match):
        package = importlib.import_module(match[1])
        only = re.findall(r"\w+", match[2] or "")
        return "\n".join(filter(None, (section(package, module) for module in modules(package, only))))

    if docname.startswith("book/api/"):
        source[0] = ASKED.sub(names, source[0])


# The links


def link_equations(app, what, name, thing, options, lines):
    """Make the label of an equation, cited in a docstring, a link to where a chapter derives it."""
    lines[:] = [EQUATION.sub(r":eq:`\1`", line) for line in lines]


def look_up(name, near):
    """Return what of ours a name stands for in a docstring of the module ``near``; None if there is no such thing."""
    steps = name.split(".")
    if steps[0] == "mhc_np":
        places = [(importlib.import_module("mhc_np"), steps[1:])]
    else:
        package = importlib.import_module(".".join(near.split(".")[:2]))
        places = [(place, steps) for place in (importlib.import_module(near), package, *modules(package))]
    for place, path in places:
        try:
            return reduce(step_into, path, place)
        except (AttributeError, ModuleNotFoundError):
            continue
    return None


def step_into(thing, name):
    """Return an attribute, or a module of a package: where both have one name, the one that can be called."""
    if hasattr(thing, name):
        return getattr(thing, name)
    return importlib.import_module(f"{thing.__name__}.{name}")


def resolve(app, env, node, content):
    """Link what a docstring names in single backticks. What the reference leaves out gets no link, but must exist."""
    if (node.get("refdomain"), node.get("reftype")) != ("py", "obj"):
        return None
    thing = look_up(node["reftarget"], node.get("py:module") or "mhc_np.lab")
    if thing is None:
        return None
    module, name = getattr(thing, "__module__", ""), getattr(thing, "__qualname__", "")
    for full in (f"{module}.{name}", f"{module.rpartition('.')[0]}.{name}"):
        if full in (objects := env.get_domain("py").objects):
            found = objects[full]
            return make_refnode(app.builder, node["refdoc"], found.docname, found.node_id, content)
    return content


def link_shown_code(app, doctree, docname):
    """Below code from the package, say where the reference speaks of it."""
    if not docname.startswith("chapters/"):
        return
    known = {}
    for full, found in app.env.get_domain("py").objects.items():
        if found.objtype in ("function", "class"):
            known.setdefault(full.rpartition(".")[2], []).append((full, found))
    for block in list(doctree.findall(nodes.literal_block)):
        if not SHOWN.match(block.astext()):
            continue
        links, line = {}, nodes.paragraph("", "In the reference: ", classes=["small"])
        for part in re.split(r"^# (?=mhc_np/)", block.astext(), flags=re.M)[1:]:
            folder = part.split("/")[1]
            for name in DEFINED.findall(part):
                for full, found in known.get(KERNEL.sub("", name), []):
                    if full.split(".")[1] == folder:
                        links[full] = found
        for full, found in links.items():
            line += nodes.Text(", " if len(line) > 1 else "")
            words = nodes.literal("", full.removeprefix("mhc_np."))
            line += make_refnode(app.builder, docname, found.docname, found.node_id, words)
        if links:
            block.parent.insert(block.parent.index(block) + 1, line)


class DefinitionList(Glossary):
    """A glossary written as a definition list, the form that Jupyter Book 2 reads as well."""

    def run(self):
        """Indent the definitions, which begin with a colon, as Sphinx wants them."""
        for place, line in enumerate(self.content):
            self.content[place] = re.sub(r"^: ", "  ", line)
        return super().run()


def setup(app):
    """Connect the hooks; called by Sphinx."""
    app.connect("source-read", write_pages)
    app.connect("autodoc-process-docstring", link_equations)
    app.connect("missing-reference", resolve)
    app.connect("doctree-resolved", link_shown_code)
    app.add_directive_to_domain("std", "glossary", DefinitionList, override=True)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
