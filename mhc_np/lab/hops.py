"""How deep a plain network must be for k hops: L*(k), measured.

Chapter: chapters/15_the_question.md      Tests: tests/test_question.py
"""

from mhc_np.lab.question import FEWEST, median

SOLVED = 0.9  # accuracy


def accuracies(results):
    """Return {(hops, layers): the median accuracy over seeds at the best rate}.

    Rates with fewer than three seeds are left out. A run that broke has accuracy 0.
    """
    found = {}
    for result in results:
        cell = result["cell"]
        key = cell["task_settings"]["num_hops"], cell["depth"]
        broken = result["train"]["diverged_at"] is not None
        found.setdefault(key, {}).setdefault(cell["rate"], []).append(0.0 if broken else result["final"]["accuracy"])
    enough = {key: [some for some in rates.values() if len(some) >= FEWEST] for key, rates in found.items()}
    return {key: max(map(median, rates)) for key, rates in sorted(enough.items()) if rates}


def depth_needed(results):
    """Return {hops: the smallest number of layers that solves them}; None where no depth that was tried does.

    Solved: a median accuracy of .9 over three seeds, at the best rate.
    """
    table = accuracies(results)
    hops = sorted({key[0] for key in table})
    return {k: min((L for (j, L), right in table.items() if j == k and right >= SOLVED), default=None) for k in hops}
