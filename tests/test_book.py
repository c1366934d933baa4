"""The book's frame: contents, twins, and that a broken page cannot be built.

What needs Sphinx or a build of the present sources is skipped, with the reason, where that is missing.
"""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
HTML = BOOK / "_build" / "html"
sys.path.insert(0, str(BOOK))

import check_html  # noqa: E402
import check_jb2  # noqa: E402
import freshness  # noqa: E402
import twins  # noqa: E402

from mhc_np.lab import ledger  # noqa: E402

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))

needs_sphinx = pytest.mark.skipif(
    importlib.util.find_spec("myst_nb") is None, reason="the book's tools are missing: make book"
)
needs_build = pytest.mark.skipif(bool(freshness.missing(HTML)), reason=str(freshness.missing(HTML)))


def contents():
    """Every page of the Sphinx contents, in order, without suffix."""
    toc = yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(page["file"] for part in toc["parts"] for page in part["chapters"])]


# Contents


def test_contents_list_every_chapter_and_nothing_else():
    pages = contents()
    chapters = [page for page in pages if page.startswith("chapters/")]
    assert chapters == [f"chapters/{path.stem}" for path in CHAPTERS]
    assert [page for page in pages if not (ROOT / f"{page}.md").exists()] == []


def test_both_engines_have_the_same_contents():
    def files(entries):
        for entry in entries:
            yield from [entry["file"].removesuffix(".md")] if "file" in entry else files(entry["children"])

    config = yaml.safe_load((ROOT / "myst.yml").read_text(encoding="utf-8"))
    from_docstrings = [page for page in contents() if page.startswith("book/api/")]  # Sphinx alone can make these
    assert sorted(from_docstrings) == sorted(f"book/api/{path.stem}" for path in (BOOK / "api").glob("*.md"))
    assert list(files(config["project"]["toc"])) == [page for page in contents() if page not in from_docstrings]


def test_no_source_for_both_engines_links_a_page_that_one_of_them_lacks():
    sources = [ROOT / f"{page}.md" for page in contents() if not page.startswith("book/api/")]
    assert [path.name for path in sources if re.search(r"[(<]\S*\bapi/", path.read_text(encoding="utf-8"))] == []


def test_no_label_is_defined_twice():
    """Sphinx would say so too, but only once the whole book is read."""
    sources = [ROOT / f"{page}.md" for page in contents()]
    patterns = (r"^:label: *(\S+)", r"^\(([\w:.-]+)\)=$", r"^\$\$ *\(([\w:.-]+)\)", r"^:name: *(\S+)")
    text = "\n\n".join(path.read_text(encoding="utf-8") for path in sources)
    found = [name for pattern in patterns for name in re.findall(pattern, text, re.M)]
    assert len(found) > 100
    assert sorted({name for name in found if found.count(name) > 1}) == []


def test_every_fence_has_a_line_of_its_own():
    """One at the end of a sentence closes nothing, and the next directive is read as part of this one."""
    sources = [ROOT / f"{page}.md" for page in contents()]
    lines = [(path.name, line) for path in sources for line in path.read_text(encoding="utf-8").splitlines()]
    assert sum(line.startswith("```") for _, line in lines) > 100
    assert [found for found in lines if "```" in found[1] and not found[1].lstrip().startswith("```")] == []


def test_the_post_build_check_reads_the_same_contents():
    assert check_html.pages_of_contents() == contents()


def test_introduction_links_every_chapter():
    text = (BOOK / "intro.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\(\.\./(chapters/\w+)\.md\)", text)
    assert sorted(set(linked)) == [f"chapters/{path.stem}" for path in CHAPTERS]


def test_introduction_maps_every_claim_to_its_chapter_and_types_no_verdict():
    text = (BOOK / "intro.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (C\d+) \| [^|]+ \| ([^|]+) \| \{glue:text\}`(\w+)` \|$", text, re.M)
    assert [claim for claim, _, _ in rows] == [glued for _, _, glued in rows] == list(ledger.CLAIMS)
    for claim, links, _ in rows:
        assert f"(../chapters/{ledger.CLAIMS[claim][1]}.md)" in links, claim


def test_introduction_cites_as_the_citation_file_does():
    text = (BOOK / "intro.md").read_text(encoding="utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    entry = re.search(r"^@software\{.*?^\}$", text, re.M | re.S)[0].replace("\\_", "_")
    author = citation["authors"][0]["name"]
    for said in (citation["title"], str(citation["version"]), citation["repository-code"], author):
        assert f"{{{said}}}" in entry


def test_no_two_works_are_cited_alike():
    text = (BOOK / "references.bib").read_text(encoding="utf-8")
    works = re.findall(r"^@\w+\{(\S+),(.*?)^\}", text, re.M | re.S)
    keys = [key for key, _ in works]
    authors = [re.search(r"author\s*= \{(.+?)(?:,| and |\}+,\n)", fields)[1] for _, fields in works]
    years = [re.search(r"year\s*= \{(\w+)\}", fields)[1] for _, fields in works]
    assert len(set(keys)) == len(keys) == text.count("\n@")
    alike = list(zip(authors, years, strict=True))
    assert sorted(set(alike)) == sorted(alike)


# Twins


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_twin_is_in_step(chapter):
    path = chapter.with_suffix(".ipynb")
    assert path.exists(), f"{path.name} is missing: make twins"
    assert path.read_text(encoding="utf-8") == twins.twin(chapter), f"{path.name} is stale: make twins"


def test_no_twin_without_a_chapter():
    assert [path.name for path in (ROOT / "chapters").glob("*.ipynb") if not path.with_suffix(".md").exists()] == []


CHAPTER = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

(a-label)=
# A chapter

By {eq}`eq:one`, {cite:p}`someone` and {ref}`the next <there>`: {glue:text}`x:.2f`.

$$
a = b
$$ (eq:one)

```python
{ref}`is code here`
```

```{code-cell} ipython3
:tags: [hide-input]
print(1)
```

```{exercise} A title
:label: ex-one

Do it, by {eq}`eq:one`.
```

```{solution} ex-one
:class: dropdown

Done.
```

````{exercise-start} Another
:label: ex-two
````

Do that.

````{exercise-end}
````
"""


@pytest.fixture
def cells(tmp_path):
    path = tmp_path / "07_sample.md"
    path.write_text(CHAPTER, encoding="utf-8")
    return json.loads(twins.twin(path))["cells"]


def test_twin_begins_by_installing_the_package_where_it_is_missing(cells):
    first = "".join(cells[0]["source"])
    assert "%pip install" in first
    assert f"git clone -q --depth 1 {twins.REPOSITORY}" in first
    assert first.count(twins.REPOSITORY) == 1  # tried out by tests/test_colab.py


def test_twin_has_no_outputs_and_keeps_the_code(cells):
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert "".join(code[1]["source"]) == "print(1)"
    assert code[1]["metadata"] == {"tags": ["hide-input"]}


def test_twin_speaks_plain_markdown(cells):
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert "By (7.1), [someone] and the next: ⟨x⟩." in text
    assert "$$\na = b \\tag{7.1}\n$$" in text
    assert "{ref}`is code here`" in text
    assert "**Exercise** (A title)" in text
    assert "> Do it, by (7.1)." in text
    assert "<summary>Solution</summary>" in text
    assert "**Exercise** (Another)" in text
    assert not re.search(r"^(:label:|\(a-label\)|:class:|```\{)", text, re.M)


# The check after the build finds what it looks for


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text('<a href="page.html#here">ok</a>')
    (tmp_path / "page.html").write_text('<p id="here"></p><img src="a.svg" alt="a line">')
    (tmp_path / "a.svg").write_text("<svg/>")
    return tmp_path


def test_a_whole_site_passes(site):
    assert check_html.problems(site, ["page"]) == []


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ('<script src="https://cdn.example/x.js"></script>', "from outside"),
        ('<link rel="preload stylesheet" href="//cdn.example/x.css">', "from outside"),
        ('<p style="background: url(https://cdn.example/x.png)">', "from outside"),
        ('<img src="a.svg" alt="">', "no alt text"),
        ('<img src="b.svg" alt="b">', "leads nowhere"),
        ('<a href="index.html#there">there</a>', "no place on that page"),
        ('<div class="output traceback">', "holds an error"),
        ('<a href="https://example.org">links may leave</a>', None),
    ],
)
def test_a_broken_page_is_found(site, page, complaint):
    (site / "page.html").write_text(f'<p id="here">{page}')
    found = check_html.problems(site, ["page"])
    assert [complaint in problem for problem in found] == ([] if complaint is None else [True])


def test_a_missing_page_and_a_style_from_outside_are_found(site):
    (site / "x.css").write_text('@import "https://fonts.example/a.css";')
    found = check_html.problems(site, ["page", "gone"])
    assert found == ["gone.html is missing", "x.css: loads https://fonts.example/a.css from outside"]


def test_figures_of_cells_are_translated_for_jupyter_book_2():
    header = "mystnb:\n  figure:\n    name: f\n    caption: |\n      Two\n      lines.\ntags: [a, b]\n"
    cell = "```{{code-cell}} ipython3\n{}1\n```\n"
    options = ":tags: a, b\n:label: f\n:caption: Two lines.\n"
    assert check_jb2.native(cell.format(f"---\n{header}---\n")) == cell.format(options)


# What a build refuses. The pages are tiny; most of the time goes to starting Sphinx.

PAGE = CHAPTER.split("(a-label)=")[0] + "# A page\n\n{text}\n\n```{{code-cell}} ipython3\n{code}\n```\n"


def sphinx(folder, text="Text.", code="1 + 1"):
    """Build one page with the book's configuration; return (exit code, what was said)."""
    (folder / "book").mkdir(exist_ok=True)
    (folder / "book" / "page.md").write_text(PAGE.format(text=text, code=code), encoding="utf-8")
    (folder / "toc.yml").write_text("root: book/page\n")
    settings = {
        "external_toc_path": str(folder / "toc.yml"),
        "nb_execution_cache_path": str(folder / "cache"),
    }
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-c", str(BOOK)]
    for name, value in settings.items():
        command += ["-D", f"{name}={value}"]
    finished = subprocess.run(
        [*command, str(folder), str(folder / "html")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return finished.returncode, finished.stdout


@needs_sphinx
@pytest.mark.slow
def test_a_page_builds_and_is_not_run_again(tmp_path):
    code, said = sphinx(tmp_path, code="print(6 * 7)")
    assert (code, "ran page.md" in said) == (0, True), said
    assert "42" in (tmp_path / "html" / "book" / "page.html").read_text(encoding="utf-8")
    code, said = sphinx(tmp_path, text="Other text.", code="print(6 * 7)")
    assert (code, "ran page.md" in said) == (0, False), said


@needs_sphinx
@pytest.mark.slow
def test_a_broken_cell_stops_the_build(tmp_path):
    code, said = sphinx(tmp_path, code="1 / 0")
    assert code != 0
    assert "page.md" in said
    assert "ZeroDivisionError" in said


@needs_sphinx
@pytest.mark.slow
def test_every_warning_stops_the_build(tmp_path):
    broken = {
        "{ref}`nowhere`": "undefined label: 'nowhere'",
        "{eq}`eq:nothing`": "eq:nothing",
        "{cite:p}`nobody1900`": "nobody1900",
        "{glue:text}`unknown`": "unknown",
        "[link](missing.md)": "missing.md",
    }
    code, said = sphinx(tmp_path, "\n\n".join(broken), "import warnings\nwarnings.warn('a cell warns')")
    assert code != 0
    assert [text for text, complaint in broken.items() if complaint not in said] == [], said
    assert "stderr" in said


# The finished book


@needs_build
def test_the_built_book_is_whole():
    assert check_html.problems(HTML, contents()) == []


@needs_build
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_the_number_of_its_file(path):
    page = (HTML / "chapters" / f"{path.stem}.html").read_text(encoding="utf-8")
    assert f'<h1><span class="section-number">{int(path.stem[:2])}. </span>' in page


def test_a_stale_build_is_told_from_a_fresh_one(tmp_path):
    html, source = tmp_path / "html", tmp_path / "page.md"
    html.mkdir()
    source.write_text("one")
    assert "no built book" in freshness.missing(html, ["*.md"], tmp_path)
    (html / freshness.STAMP).write_text(freshness.digest(["*.md"], tmp_path))
    assert freshness.missing(html, ["*.md"], tmp_path) is None
    source.write_text("two")
    assert "older than its sources" in freshness.missing(html, ["*.md"], tmp_path)
