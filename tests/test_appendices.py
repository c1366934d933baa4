"""Glossary and log: every word has its chapter, and every entry its commit."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = (ROOT / "book" / "glossary.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^(\S.*)\n: (.+)$", GLOSSARY, re.M)
LOG = (ROOT / "book" / "appendix_what_did_not_work.md").read_text(encoding="utf-8")
PAGES = [*sorted((ROOT / "chapters").glob("*.md")), *sorted((ROOT / "book").glob("*.md"))]


def test_words_stand_in_order_and_once():
    words = [word for word, _ in ENTRIES]
    assert words == sorted(words, key=str.lower)
    assert len(words) == len(set(words)) >= 50


@pytest.mark.parametrize(("word", "meaning"), ENTRIES, ids=lambda part: part[:20])
def test_a_word_leads_to_a_chapter_that_uses_it(word, meaning):
    number, path = re.search(r"\[Chapter (\d+)\]\(\.\./(chapters/\w+\.md)\)\.$", meaning).groups()
    assert Path(path).name.startswith(f"{int(number):02}_")
    text = (ROOT / path).read_text(encoding="utf-8").lower()
    assert word.lower() in text or word.lower().split()[0].rstrip("s") in text


def test_terms_that_pages_cite_are_there():
    known = {word for word, _ in ENTRIES}
    cited = {}
    for path in PAGES:
        for role in re.findall(r"\{term\}`([^`]+)`", path.read_text(encoding="utf-8")):
            cited.setdefault(re.sub(r".*<(.+)>", r"\1", role), path.name)
    assert len(cited) >= 8
    assert {word: page for word, page in cited.items() if word not in known} == {}


def git(*words, **options):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, **options).stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="no history here")
def test_the_log_cites_commits_that_exist():
    if git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("a shallow clone has no history")
    cited = sorted(set(re.findall(r"\b[0-9a-f]{7}\b", LOG)))
    assert len(cited) > 25
    kinds = git("cat-file", "--batch-check=%(objecttype)", input="\n".join(cited) + "\n").split("\n")
    assert dict(zip(cited, kinds, strict=True)) == dict.fromkeys(cited, "commit")
