"""Arms on equal terms: the same steps, the same time, the same number of parameters.

Chapter: chapters/15_the_question.md      Tests: tests/test_equal_terms.py

Every arm at its own best rate, separately on each of the terms. Errors are those of the looks on the way (32 sequences)
on both terms, so that the plain network's is the same number twice.
"""

from mhc_np.lab import question as q
from mhc_np.lab.bench_arms import WIDER
from mhc_np.lab.grids import ARMS

DEPTH = 12
PAYS = 1.25  # ratio of errors from which one network is better than another


def error_after(result, share, measure="mae_bits"):
    """Return the error at the look nearest to a share of all steps; infinite if the run had broken by then."""
    look = round(share * result["cell"]["num_steps"] / result["cell"]["look_every"])
    curve = result["looks"][measure]
    value = curve[look] if look < len(curve) else None
    return float("inf") if value is None else float(value)


def best(found, arm, norm, share, depth=DEPTH):
    """Return the least median error over rates after a share of the steps, and its rate; (NaN, None) of nothing."""
    rates = sorted(key[3] for key in found if key[:3] == (arm, norm, depth))
    errors = [(q.median([error_after(r, share) for r in found[arm, norm, depth, rate]]), rate) for rate in rates]
    return min(errors, default=(float("nan"), None))


def terms(cells, wider, times, depth=DEPTH):
    """Compare all arms, and the wider plain network, on equal terms.

    Parameters
    ----------
    cells : list of dict
        Of the main grid.
    wider : list of dict
        Of the grid ``equal-size``.
    times : dict
        ``rows`` of `mhc_np.lab.bench_arms.bench_arms`.

    Returns
    -------
    list of dict
        A row for each name and norm that is there: ``name``, ``final_norm``, ``params``, ``over_plain``; ``steps`` and
        ``time``, best errors at equal steps and at the plain network's time, with ``steps_rate`` and ``time_rate``;
        ``seeds`` of the rate with the fewest.
    """
    found = q.index(cells)
    sides = {arm: (found, arm) for arm in ARMS} | {WIDER: (q.index(wider), "residual")}
    rows = []
    for name, (side, arm) in sides.items():
        for norm in (True, False):
            seeds = [len(some) for key, some in side.items() if key[:3] == (arm, norm, depth)]
            if seeds:
                (steps, steps_rate), (time, time_rate) = (
                    best(side, arm, norm, share, depth) for share in (1.0, min(1.0, 1 / times[name]["over_plain"]))
                )
                told = {"params": times[name]["params"], "over_plain": times[name]["over_plain"]}
                told |= {"steps": steps, "steps_rate": steps_rate, "time": time, "time_rate": time_rate}
                rows.append({"name": name, "final_norm": norm, **told, "seeds": min(seeds)})
    return rows


def table(rows):
    """Return the rows as a table."""
    lines = ["| arm | norm | parameters | time of a step | error at equal steps | at equal time | seeds |"]
    lines.append("|---" * 7 + "|")
    for row in rows:
        numbers = [f"{row[term]:.2g} (rate {row[f'{term}_rate']:g})" for term in ("steps", "time")]
        size = f"{row['params']:,} | ×{row['over_plain']:.2f}"
        norm = "yes" if row["final_norm"] else "no"
        lines.append(f"| {row['name']} | {norm} | {size} | {' | '.join(numbers)} | {row['seeds']} |")
    return "\n".join(lines)


def pays(rows, norm, term="steps"):
    """Say what mHC gains over the plain network of equal size: a word, and the ratio of errors; None if not there."""
    errors = {row["name"]: row[term] for row in rows if row["final_norm"] == norm}
    if not {"mhc", WIDER} <= errors.keys():
        return None
    ratio = errors["mhc"] / errors[WIDER]
    return ("pays" if ratio <= 1 / PAYS else "costs" if ratio >= PAYS else "equal"), ratio
