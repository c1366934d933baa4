"""Look beyond the ends of a sweep, where a best rate is the last one that was tried; no verdict reads it.

Chapter: chapters/08_em.md      Tests: tests/test_em_edges.py

A best rate in the middle of its grid is bracketed by worse ones. At an end it is not: the grid may have held the arm
back. So those arms, and the cells of the gain, are run at two more rates, on the seeds of the sweep.
"""

from mhc_np.dynamics.arms import ARMS
from mhc_np.lab.em_arms import pick, run_arm
from mhc_np.lab.em_gain import OPTIMIZERS, pick_rates, run_cell

NUM_BEYOND = 2


def rates_beyond(tried, best):
    """Return the next rates beyond each end of a grid that one of the best rates lies at, in the grid's own ratio.

    >>> rates_beyond((1.0, 10.0, 100.0), [100.0, 10.0]), rates_beyond((1.0, 10.0, 100.0), [10.0])
    ([1000.0, 10000.0], [])
    """
    ratio = (tried[-1] / tried[0]) ** (1 / (len(tried) - 1))
    powers = range(1, NUM_BEYOND + 1)
    below = [tried[0] / ratio**k for k in powers] if tried[0] in best else []
    above = [tried[-1] * ratio**k for k in powers] if tried[-1] in best else []
    return [float(f"{rate:.3g}") for rate in below + above]


def arms_beyond(setting, seed, sweeps):
    """Run the arms whose fastest or lowest rate is the first or last one tried; return {"beyond": {arm: [numbers]}}."""
    found = {}
    for name, best in pick(sweeps).items():
        tried = setting.adamw_rates if ARMS[name].adamw else setting.rates
        runs = [run_arm(setting, seed, name, rate) for rate in rates_beyond(tried, best.values())]
        if runs:
            found[name] = [{key: value for key, value in run.items() if key != "curve"} for run in runs]
    return {"beyond": found}


def gain_beyond(seed, sweeps):
    """Run the cells of depth and gain whose best rate is the first or last one tried; return {"beyond": [cells]}."""
    cells = [
        run_cell(depth, gain, optimizer, rate, seed, with_cosines=False)
        for (optimizer, depth, gain), best in pick_rates(sweeps).items()
        for rate in rates_beyond(OPTIMIZERS[optimizer][0], [best])
    ]
    return {"beyond": [{key: value for key, value in cell.items() if "cosine" not in key} for cell in cells]}
