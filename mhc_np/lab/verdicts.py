"""Verdict rules for C1 and C2, written before the runs: is the posterior reached, is anything learned by heart.

Chapter: chapters/17_ledger.md      Tests: tests/test_verdicts.py

A rule is a pure function of saved results, ``{run name: [one result a seed]}``, and gives a `Verdict`. It reads numbers
alone. A result that is missing never helps a claim: the verdict is *not seen here* and *waits*, and the words say for
what (`waiting`).
"""

from typing import NamedTuple

import numpy as np

VERDICTS = ("holds", "holds in part", "not seen here", "false")
TUNNELS = ("bijection-v20-hard", "bijection-v20-soft", "hmm-soft")  # the first decides: labels alone
MLPS = ("mlp", "context_mlp")
SEEDS = {"": 3, "lstm": 3, "mlp": 1, "context_mlp": 3}  # the position-wise MLP has nothing to be lucky with

PRECISE = 1e-3  # bits: the weaker end of what the paper's abstract states (1e-3 to 1e-4)
FOLLOWS = 0.02  # bits: below what the exact filter of the last two observations scores
ORDERS = 100.0  # "orders of magnitude": two at least
ORDER = 10.0
AS_GOOD = 2.0  # within this factor two models count as equals

BY_HEART = 0.1  # bits a label: what the control, which can learn by heart, must show for the test to see anything
NOTHING = 2e-3  # bits a label: five standard errors of the difference on two thousand sequences
SOMETHING = 0.02


class Verdict(NamedTuple):
    """One of `VERDICTS`, the numbers that it was read from, a sentence, and whether the claim still waits for runs."""

    verdict: str
    numbers: dict
    words: str
    waits: bool = False


def waiting(words, numbers):
    """Return the verdict of a claim that is open, because results that its rule asks for are missing.

    >>> waiting("missing seeds of hmm-soft", {})
    Verdict(verdict='not seen here', numbers={}, words='missing seeds of hmm-soft', waits=True)
    """
    return Verdict("not seen here", numbers, words, waits=True)


def c1(results):
    """Judge: a small Transformer reproduces the posterior almost exactly, an MLP of equal size is far off.

    The error of a run is the per-sample entropy error in bits, median over seeds; that of "the MLP" is the better of
    the two MLPs'. *holds*: in all three tunnels the Transformer's error is 1e-3 bits or less, and the MLP's at least
    100 times it. *holds in part*: in one tunnel at least, the Transformer's is 0.02 bits or less and the MLP's 10 times
    it. *false*: in no tunnel is the MLP's error more than twice the Transformer's. Else *not seen here*.
    """
    wanted = {(tunnel, model): f"{tunnel}-{model}" if model else tunnel for tunnel in TUNNELS for model in SEEDS}
    missing = [name for (_, model), name in wanted.items() if len(results.get(name, [])) < SEEDS[model]]
    numbers = {}
    for name in wanted.values():
        errors = [result["metrics"]["entropy_mae_bits"] for result in results.get(name, [])]
        if errors:
            numbers[name] = {"median": _median(errors), "least": min(errors), "most": max(errors), "seeds": len(errors)}
    if missing:
        return waiting(f"missing seeds of {', '.join(missing)}", numbers)
    own, ratio = {}, {}
    for tunnel in TUNNELS:
        own[tunnel] = numbers[tunnel]["median"]
        rivals = {model: numbers[f"{tunnel}-{model}"]["median"] for model in ("lstm", *MLPS)}
        ratio[tunnel] = min(rivals[model] for model in MLPS) / own[tunnel]
        numbers[tunnel] |= {"mlp_ratio": ratio[tunnel], "lstm_ratio": rivals["lstm"] / own[tunnel]}
    if all(own[t] <= PRECISE and ratio[t] >= ORDERS for t in TUNNELS):
        return Verdict("holds", numbers, "precise in every tunnel, and the better MLP a hundred times off")
    partly = [t for t in TUNNELS if own[t] <= FOLLOWS and ratio[t] >= ORDER]
    if partly:
        precise = [t for t in TUNNELS if own[t] <= PRECISE]
        return Verdict(
            "holds in part",
            numbers,
            f"follows the posterior, with the better MLP ten times off, in {', '.join(partly)}; "
            f"at {PRECISE:g} bits or less in {', '.join(precise) or 'none'}",
        )
    if all(ratio[t] <= AS_GOOD for t in TUNNELS):
        return Verdict("false", numbers, "the better MLP is as good everywhere")
    return Verdict("not seen here", numbers, "the Transformer does not follow the posterior where the MLP fails")


FRESH, SMALLER = "bijection-v20-hard", "bijection-v8-hard"
CONTROL, REUSED = "bijection-v8-hard-reused-32", "bijection-v8-hard-reused-4096"


def c2(results):
    """Judge: memorisation cannot succeed, so bijections of training get no better answers than fresh ones.

    ``remembered_bits`` of a run is by how much a label of a bijection seen in training is cheaper than one of a fresh
    bijection; here its largest absolute value over seeds for runs on fresh sequences, its median for the others. The
    control trains on 32 bijections again and again, and *must* remember (0.1 bits), or the test is blind. *holds*: the
    runs on fresh sequences, with twenty symbols and with eight, remember less than 0.002 bits. *holds in part*: only
    the one with twenty does. *false*: the one with twenty remembers 0.02 bits or more. Else *not seen here*.
    """
    runs = (FRESH, SMALLER, CONTROL, REUSED)
    found = {name: [r["memorisation"]["remembered_bits"] for r in results.get(name, [])] for name in runs}
    numbers = {
        name: {"median": _median(bits), "largest": max(map(abs, bits)), "seeds": len(bits)}
        for name, bits in found.items()
        if bits
    }
    missing = [name for name in runs if len(found[name]) < 3]
    if missing:
        return waiting(f"missing seeds of {', '.join(missing)}", numbers)
    if numbers[CONTROL]["median"] < BY_HEART:
        return Verdict("not seen here", numbers, "the control remembers nothing, so the test is blind")
    fresh, smaller = numbers[FRESH]["largest"], numbers[SMALLER]["largest"]
    aside = f"with 4096 re-used: {numbers[REUSED]['median']:.2g} bits remembered"
    if fresh < NOTHING and smaller < NOTHING:
        return Verdict("holds", numbers, f"nothing is remembered of fresh bijections; {aside}")
    if fresh < NOTHING:
        return Verdict("holds in part", numbers, f"nothing remembered of twenty symbols, something of eight; {aside}")
    return Verdict("false" if fresh >= SOMETHING else "not seen here", numbers, f"something is remembered; {aside}")


RULES = {"C1": c1, "C2": c2}


def _median(values):
    """Median as a Python float; a run that blew up (None, NaN) counts as infinitely wrong."""
    broken = [value is None or np.isnan(value) for value in values]
    return float(np.median(np.where(broken, np.inf, np.array(values, dtype=float))))
