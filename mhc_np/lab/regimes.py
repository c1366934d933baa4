"""Where one arm beats another: every setting of norm, depth and rate, in one word and one number.

Chapter: chapters/15_the_question.md      Tests: tests/test_regimes.py
Symbols: median error of one arm over another's, over the seeds that both have -> ratio
"""

from typing import NamedTuple

from mhc_np.lab import question as q
from mhc_np.lab.grids import DEPTHS, NORMS, RATES

WORDS = ("lower", "alike", "higher", "both fail")
SETTINGS = [(norm, depth) for norm in NORMS for depth in sorted(DEPTHS)]


class Setting(NamedTuple):
    """Two arms compared in one setting: which ``word`` of `WORDS`, the ``ratio`` of median errors, common ``seeds``."""

    word: str
    ratio: float
    seeds: int


def compare(found, one, other, stratum):
    """Compare two arms in one (norm, depth, rate), on the seeds that both have; None if there are none.

    *lower*, *higher*: the one's median error is more than 1.5 times lower or higher than the other's. *both fail*: both
    are above half a bit. Else *alike*.
    """
    sides = [{r["cell"]["seed"]: q.error(r) for r in found.get((arm, *stratum), [])} for arm in (one, other)]
    seeds = sorted(sides[0].keys() & sides[1].keys())
    if not seeds:
        return None
    a, b = (q.median([side[seed] for seed in seeds]) for side in sides)
    if min(a, b) > q.FAILED:
        return Setting("both fail", float("nan"), len(seeds))
    word = "higher" if a > q.TIMES * b else "lower" if b > q.TIMES * a else "alike"
    return Setting(word, a / b if b < float("inf") else 0.0, len(seeds))


def survey(found, one, other, *, norms=NORMS, depths=tuple(DEPTHS), rates=RATES):
    """Compare two arms in every setting that is there, {(norm, depth, rate): Setting}."""
    pairs = {
        (norm, depth, rate): compare(found, one, other, (norm, depth, rate))
        for norm in norms
        for depth in sorted(depths)
        for rate in rates
    }
    return {stratum: setting for stratum, setting in pairs.items() if setting is not None}


def counted(settings):
    """Say in words how often which word came.

    >>> counted({1: Setting("lower", 0.1, 1), 2: Setting("alike", 1.0, 1), 3: Setting("lower", 0.2, 1)})
    'lower in 2 and alike in 1 of 3 settings'
    >>> counted({})
    'not known in any setting yet'
    """
    words = [setting.word for setting in settings.values()]
    if not words:
        return "not known in any setting yet"
    plural = {"both fail": "above half a bit for both"}
    told = [f"{plural.get(word, word)} in {words.count(word)}" for word in WORDS if word in words]
    told = " and ".join([*([", ".join(told[:-1])] if told[1:] else []), told[-1]])
    return f"{told} of {len(words)} settings"


def where(settings, word):
    """Say at which norms and rates most depths have this word.

    >>> bad = Setting("higher", 3.0, 1)
    >>> where({(False, 6, 0.04): bad, (False, 12, 0.04): bad, (True, 6, 0.01): Setting("lower", 0.1, 1)}, "higher")
    'without the norm at .04'
    >>> where({}, "higher")
    'nowhere'
    """
    told = []
    for norm in NORMS:
        columns = {rate: [s.word for key, s in settings.items() if key[::2] == (norm, rate)] for rate in RATES}
        most = [rate for rate, words in columns.items() if words.count(word) > len(words) / 2]
        if most:
            rates = " and ".join(f"{rate:g}".lstrip("0") for rate in most)
            told.append(f"{'with' if norm else 'without'} the norm at {rates}")
    return ", and ".join(told) or "nowhere"


def pairs_at_matched(found, one, other, *path):
    """Return the one's number less the other's at the matched KL, for each setting and seed in which both came there.

    Parameters
    ----------
    found : dict
        As from `mhc_np.lab.question.index`.
    one, other : str
    *path : str
        Which number of ``matched``.
    """
    differences = []
    for stratum in q.strata(found, (one, other)):
        sides = [{r["cell"]["seed"]: q.at_matched(r, *path) for r in found[(arm, *stratum)]} for arm in (one, other)]
        for seed in sorted(sides[0].keys() & sides[1].keys()):
            a, b = (side[seed] for side in sides)
            if a is not None and b is not None:
                differences.append(a - b)
    return differences


def table(found, one, other):
    """Return a table of one comparison: a row a norm and depth, a column a rate."""
    there = survey(found, one, other)
    lines = [f"| {one} against {other} | " + " | ".join(f"rate {rate:g}" for rate in RATES) + " |"]
    lines.append("|---" * (len(RATES) + 1) + "|")
    for norm, depth in SETTINGS:
        row = [told(there.get((norm, depth, rate))) for rate in RATES]
        lines.append(f"| {depth} layers, {'norm' if norm else 'bare'} | {' | '.join(row)} |")
    return "\n".join(lines)


def told(setting):
    """Say a setting in a word and a number, a dash if it is not there.

    >>> told(Setting("lower", 0.0789, 2)), told(Setting("higher", float("inf"), 1)), told(None)
    ('lower, ×0.079', 'higher, it broke', '–')
    """
    if setting is None:
        return "–"
    if setting.word == "both fail":
        return setting.word
    return f"{setting.word}, " + ("it broke" if setting.ratio == float("inf") else f"×{setting.ratio:.2g}")
