"""The ledger: seventeen claims, each with its verdict, computed from the saved results by its rule.

Chapter: chapters/17_ledger.md      Tests: tests/test_ledger.py
"""

from collections import Counter
from typing import NamedTuple

from mhc_np.lab import (
    em_runs,
    geometry_runs,
    results,
    verdicts,
    verdicts_birkhoff,
    verdicts_em,
    verdicts_geometry,
    verdicts_question,
    verdicts_safety,
)
from mhc_np.lab.experiment import UsageError
from mhc_np.lab.geometry import without_nan
from mhc_np.lab.runs import RUNS

CLAIMS = {  # in our words; and the chapter where the claim is put to the test
    "C1": ("a small Transformer reproduces an exact posterior, an MLP of equal size is far off", "04_training"),
    "C2": ("memorisation cannot succeed in a wind tunnel", "04_training"),
    "C3": (
        "the stream carries belief, attention routes evidence, feed-forward parts update numbers",
        "05_who_does_what",
    ),
    "C4": ("each layer refines the belief, none overwrites it", "05_who_does_what"),
    "C5": ("without the identity path belief cannot evolve stably over depth", "05_who_does_what"),
    "C6": ("values gather on a low-dimensional manifold whose coordinate is the posterior's entropy", "06_geometry"),
    "C7": ("keys lie along nearly orthogonal hypothesis axes, queries align as evidence grows", "06_geometry"),
    "C8": ("attention freezes early, values keep refining", "09_frame_precision"),
    "C9": ("scores and values feed each other: E-step and M-step", "07_advantage"),
    "C10": ("routing settles first, content later; EM-like steps train faster", "08_em"),
    "C11": ("EM needs bounded activations; explosion breaks it", "08_em"),
    "C12": ("Hyper-Connections lose the identity: gain explodes with depth, the loss spikes", "15_the_question"),
    "C13": ("unconstrained mixing breaks geometry, specialisation, calibration and EM", "15_the_question"),
    "C14": ("mHC projects onto the Birkhoff polytope, with the identity at its centre", "12_sinkhorn"),
    "C15": ("the projection keeps norms and stays near the identity when stacked", "15_the_question"),
    "C16": ("mHC keeps the wide stream's flexibility and the plain residual's safety", "15_the_question"),
    "C17": ("a broken identity erodes inference before the metrics show it", "16_what_breaks_first"),
}
RULES = {
    **verdicts.RULES,
    **verdicts_geometry.RULES,
    **verdicts_em.RULES,
    **verdicts_birkhoff.RULES,
    **verdicts_safety.RULES,
}
BEGIN, END = "<!-- ledger: made by python -m mhc_np ledger --readme -->", "<!-- end of ledger -->"


class Row(NamedTuple):
    """A claim, and the fields of its `Verdict`."""

    claim: str
    says: str
    chapter: str
    verdict: str
    numbers: dict
    words: str
    waits: bool = False


def load():
    """Return all saved results, {run or grid: [results]}."""
    trained = {
        name: [results.load(path, results.TRAINING) for path in sorted((results.KEPT / name).glob("seed-*.json"))]
        for name in RUNS
    }
    return {**trained, **geometry_runs.load(), **em_runs.load(), **verdicts_question.load()}


def rows(found=None):
    """Judge every claim.

    Parameters
    ----------
    found : dict, optional
        As from `load`, which is called without it.

    Returns
    -------
    list of Row
        In the order of the claims; a claim that lacks results is *not seen here*, and ``waits``.
    """
    found = load() if found is None else found
    made = []
    for claim, (says, chapter) in CLAIMS.items():
        made.append(Row(claim, says, chapter, *RULES[claim](found)))
    return made


def report(made):
    """Return the ledger for a terminal: a claim and its verdict, below it the words."""
    lines = []
    for row in made:
        lines += [f"{row.claim:4} {word(row):14} {row.says}", f"{'':19} {row.words}"]
    return "\n".join([*lines, tally(made)])


def markdown(made):
    """Return the README's table, in which a claim that waits for its runs is *open*, and the count of its words."""
    lines = ["| | the article says | verdict | chapter |", "|---|---|---|---|"]
    for row in made:
        verdict = "open: runs missing" if row.waits else row.verdict
        lines.append(f"| {row.claim} | {row.says} | {verdict} | {int(row.chapter[:2])} |")
    return "\n".join([*lines, "", f"In numbers: {tally(made)}."])


def word(one):
    """Say a `Row`'s or a `Verdict`'s verdict in a word: *open* while results that it asks for are missing.

    >>> word(verdicts.waiting("missing seeds of hmm-soft", {})), word(verdicts.Verdict("false", {}, "why"))
    ('open', 'false')
    """
    return "open" if one.waits else one.verdict


def tally(made):
    """Count the verdicts in words.

    >>> tally([Row("C1", "says", "04_training", "holds", {}, "words")])
    '1 holds, 0 holds in part, 0 not seen here, 0 false, 0 open'
    """
    counts = Counter(map(word, made))
    return ", ".join(f"{counts[name]} {name}" for name in (*verdicts.VERDICTS, "open"))


def by_verdict(made):
    """Return {verdict: names of its claims in words}, "none" where there are none.

    >>> row = Row("C1", "says", "04_training", "holds", {}, "words")
    >>> by_verdict([row, row._replace(claim="C2")])["holds"], by_verdict([row])["false"]
    ('C1, C2', 'none')
    """
    return {
        verdict: ", ".join(row.claim for row in made if row.verdict == verdict) or "none"
        for verdict in verdicts.VERDICTS
    }


def write_readme(made, path):
    """Put the table between its marks in the README.

    Raises
    ------
    UsageError
        If the marks are not there.
    """
    text = path.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise UsageError(f"{path}: want the lines {BEGIN!r} and {END!r}; put them where the table is to stand")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n\n{markdown(made)}\n\n{END}{after}", encoding="utf-8")


def command(arguments):
    """Carry out ``python -m mhc_np ledger``."""
    made = rows()
    print(report(made))
    if arguments.json:
        results.save(arguments.json, {row.claim: without_nan(results.plain(row._asdict())) for row in made})
    if arguments.readme:
        write_readme(made, results.ROOT / "README.md")
