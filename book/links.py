"""List every link that leaves the book or the README: ``python book/links.py`` (``--check``: ask each address).

One line a link, ``file:line address``, so that an editor can jump there. Asking needs the network and depends on
other people's servers: it is for now and then, by hand, and refuses to be part of an automatic run.
"""

import os
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("*.md", "CITATION.cff", "myst.yml", "pyproject.toml", "book/*.md", "chapters/*.md", "book/references.bib")
ADDRESS = re.compile(r"https?://[^\s<>\"'`{}\[\]()|\\]+(?:\([^\s()]*\)[^\s<>\"'`{}\[\]()|\\]*)*")
DOI = re.compile(r"\bdoi\s*=\s*\{([^}]+)\}")
BROWSER = {"User-Agent": "Mozilla/5.0 (the link check of a book)"}  # some servers turn other clients away


def in_line(text):
    """Return the addresses in a line of text, a ``doi`` of a bibliography among them.

    >>> in_line("See [this](https://example.org/a_(b)), or https://example.org/c.")
    ['https://example.org/a_(b)', 'https://example.org/c']
    >>> in_line("  doi = {10.1000/182},")
    ['https://doi.org/10.1000/182']
    """
    found = [address.rstrip(".,;:!?") for address in ADDRESS.findall(text)]
    return found + [f"https://doi.org/{name}" for name in DOI.findall(text)]


def links(root=ROOT):
    """Yield (path below the root, line, address) for every link that leaves, in the order of the files."""
    for pattern in SOURCES:
        for path in sorted(root.glob(pattern)):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for address in in_line(line):
                    yield path.relative_to(root).as_posix(), number, address


def complaint(address, seconds=20):
    """Ask for an address; return what is wrong with the answer, or nothing."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=BROWSER), timeout=seconds):
            return None
    except urllib.error.HTTPError as error:
        return f"answers {error.code} {error.reason}"
    except OSError as error:  # no such host, no network, no answer in time
        return f"gives no answer ({getattr(error, 'reason', error)})"


def main():
    """Print the links; with ``--check`` only those that fail, each address asked once; exit code 1 if any does."""
    found = list(links())
    if "--check" not in sys.argv:
        print("\n".join(f"{path}:{line} {address}" for path, line, address in found))
        return 0
    if os.environ.get("CI"):
        sys.exit("links: --check asks other people's servers and is not for automatic runs")
    answers = {address: complaint(address) for address in dict.fromkeys(address for _, _, address in found)}
    failed = [(place, line, address) for place, line, address in found if answers[address]]
    for place, line, address in failed:
        print(f"{place}:{line} {address} {answers[address]}")
    print(f"{len(answers)} addresses asked, {sum(map(bool, answers.values()))} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
