"""Look through the finished book: ``python book/check_html.py book/_build/html``.

Every page of the contents exists, pages load nothing from outside and nothing that is missing, links
inside the book arrive somewhere, pictures say what they show, and no cell left an error.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

BOOK = Path(__file__).resolve().parent
LOADED_ATTRIBUTES = ("src", "srcset", "poster", "data")
LOADING_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch"}
CSS_URL = re.compile(r"""(?:url\(\s*|@import\s+)["']?([^"')\s;]+)""")
ERRORS = ("output traceback", "system-message", "exec_failed")


class Page(HTMLParser):
    """What one page loads, links to, offers as a target, and shows without words."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links, self.ids, self.mute = [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """Sort the addresses of one tag."""
        named = {name: value or "" for name, value in attributes}
        self.ids.update(named[name] for name in ("id", "name") if name in named)
        self.loads += [named[name].split()[0] for name in LOADED_ATTRIBUTES if named.get(name)]
        self.loads += CSS_URL.findall(named.get("style", ""))
        if tag == "link" and LOADING_LINKS & set(named.get("rel", "").split()):
            self.loads.append(named.get("href", ""))
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        if tag == "img" and not named.get("alt", "").strip():
            self.mute.append(named.get("src", "?"))


def pages_of_contents(toc=BOOK / "_toc.yml"):
    """Names of the pages in the contents, as in ``chapters/01_gradients``."""
    return re.findall(r"^\s*(?:- file|root):\s*(\S+)", toc.read_text(encoding="utf-8"), re.M)


def is_outside(address):
    """Whether a browser would ask another machine for this address."""
    return address.startswith("//") or urlsplit(address).scheme in ("http", "https", "ftp")


def problems(html, contents):
    """Say in words what is wrong with the book under ``html``; an empty list when nothing is."""
    html, found = Path(html).resolve(), []
    for name in ["index", *contents]:
        if not (html / f"{name}.html").is_file():
            found.append(f"{name}.html is missing")
    files = [path for path in sorted(html.rglob("*.html")) if html / "_static" not in path.parents]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    pages = {path: Page(text) for path, text in texts.items()}
    for path, page in pages.items():
        here = path.relative_to(html)
        found += [f"{here}: holds an error ({mark})" for mark in ERRORS if mark in texts[path]]
        found += [f"{here}: loads {url} from outside" for url in page.loads if is_outside(url)]
        found += [f"{here}: picture {source} has no alt text" for source in page.mute]
        for url in page.loads + page.links:
            split = urlsplit(url)
            if split.scheme or split.netloc:
                continue
            target = (path.parent / unquote(split.path)).resolve() if split.path else path
            if not target.exists():
                found.append(f"{here}: {url} leads nowhere")
            elif split.fragment and url in page.links and target in pages:
                if unquote(split.fragment) not in pages[target].ids:
                    found.append(f"{here}: {url} names no place on that page")
    for path in sorted(html.rglob("*.css")):
        for url in CSS_URL.findall(path.read_text(encoding="utf-8")):
            if is_outside(url):
                found.append(f"{path.relative_to(html)}: loads {url} from outside")
    return found


def main():
    """Print the problems; exit code 1 when there are any."""
    html = Path(sys.argv[1])
    contents = pages_of_contents()
    found = problems(html, contents)
    print("\n".join(found) or f"The book is whole: {len(contents)} pages, none asks the network.")
    if not found:
        print(f"Read it: {html / 'index.html'}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
