"""Whether the built book is that of the present sources: a stale page says nothing about them."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAMP = "sources.txt"  # in the folder of pages, written by engine.py: the digest of what they were made from
PAGES = ("book/*.*", "book/*/*.md", "book/_static/**/*.*", "chapters/*.md")
CELLS_READ = ("mhc_np/**/*.*", "chapters/results/**/*.*", "pyproject.toml")
SOURCES = PAGES + CELLS_READ


def digest(patterns, root=ROOT):
    """Name the state of all files that the patterns match; compiled modules and locks aside."""
    digest = hashlib.sha256()
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            if path.is_file() and path.suffix != ".pyc" and path.name != ".lock":
                digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def missing(html, sources=SOURCES, root=ROOT):
    """Say why the built book cannot be asked, or nothing when it can."""
    path = Path(html) / STAMP
    if not path.exists():
        return "no built book: make book"
    if path.read_text(encoding="utf-8") != digest(sources, root):
        return "the built book is older than its sources: make book"
    return None
