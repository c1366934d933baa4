"""Scale the stream by a gain after every layer, and ask whether the update still goes where EM would go.

Chapter: chapters/08_em.md      Tests: tests/test_em_runs.py
Symbols: g -> gain, L -> depth, b_ij of the summed loss -> cost, r = α e^(−b) / Σ -> E-step, new α − α -> update

A cell is a depth, a gain and an optimiser, run at the rate that ends lowest on the sweep's seeds. The E-step is the one
with first-order costs, which every layer has: r − α. For small b it is what the gradient does; with b as large as the
composite gain makes it, r goes to the single cheapest source, and gradient and E-step part.
"""

import numpy as np

from mhc_np.autodiff import flatten, tree_map
from mhc_np.dynamics.em import cosine, responsibility
from mhc_np.dynamics.stack import forward_stack, init, stack_loss_and_gradients
from mhc_np.lab.em_setting import as_float64, finite
from mhc_np.learn import AdamW, clip_by_global_norm
from mhc_np.measure import calibration
from mhc_np.tasks import marked_token

CONFIG = marked_token.Config(num_positions=16)
DEPTHS, GAINS = (1, 2, 4, 8), (0.7, 1.0, 1.25, 1.5, 2.0)
WIDTH, KEY_WIDTH, BATCH_SIZE, NUM_HELD_OUT, NUM_STEPS = 16, 8, 32, 128, 400
HALF_DECADES = tuple(float(f"{10 ** (k / 2):.3g}") for k in range(-12, 1))  # 1e-6 to 1
OPTIMIZERS = {  # name: rates to try, length at which the gradient is clipped
    "sgd": (HALF_DECADES, None),
    "sgd_clip": (HALF_DECADES[7:], 1.0),
    "adamw": (tuple(float(f"{10 ** (k / 2):.3g}") for k in range(-6, -1)), None),
}
LOOK_STEPS = (0, 1, 3, 10, 30, 100, 200, 300, 399)
LAST = 5  # looks ten steps apart whose mean is the calibration


def run_cell(depth, gain, optimizer, rate, seed, *, num_steps=NUM_STEPS, with_cosines=True):
    """Train one stack; return its calibration and how its updates compare with EM.

    Returns
    -------
    dict
        ``kl_bits``, ``entropy_mae_bits``: held-out, None if the run diverged. ``update_cosine``: the change of the
        weights by the real update against r − α, mean over layers and looks; ``score_cosine``: the same for −dL/ds.
        ``alignment_range``: median over queries of max_j b_ij − min_j b_ij.
    """
    init_rng, data_rng, held_out_rng = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(3))
    params = init(
        init_rng,
        num_inputs=CONFIG.num_features,
        num_outputs=CONFIG.num_outputs,
        num_layers=depth,
        width=WIDTH,
        key_width=KEY_WIDTH,
    )
    held_out = as_float64(marked_token.sample(CONFIG, held_out_rng, NUM_HELD_OUT))
    exact = marked_token.posterior(CONFIG, held_out)[held_out.mask]
    adamw, clip = AdamW(rate), OPTIMIZERS[optimizer][1]
    state, looks, ends = adamw.init(params), [], []
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(num_steps):
            batch = as_float64(marked_token.sample(CONFIG, data_rng, BATCH_SIZE))
            loss, stack, by_layer, grads = stack_loss_and_gradients(
                params, batch.inputs, targets=batch.targets, mask=batch.mask, gain=gain
            )
            if not np.isfinite(loss) or not all(np.isfinite(d).all() for d in flatten(grads).values()):
                ends = [{"kl_bits": None, "entropy_mae_bits": None}]
                break
            if clip is not None:
                grads, _ = clip_by_global_norm(grads, clip)
            if optimizer == "adamw":
                moved, state = adamw.update(params, grads, state)
            else:
                moved = tree_map(lambda p, d: p - rate * d, params, grads)
            if with_cosines and step in LOOK_STEPS:
                looks.append(_against_em(stack, by_layer, moved, batch, gain))
            params = moved
            if num_steps - step in range(1, 10 * LAST, 10):
                ends.append(_calibration(params, held_out, exact, gain))
    lost = any(end["kl_bits"] is None for end in ends)
    mean = {key: None if lost else float(np.mean([end[key] for end in ends])) for key in ends[0]}
    return {
        "depth": depth,
        "gain": gain,
        "optimizer": optimizer,
        "rate": rate,
        **mean,
        **{
            key: _mean_of([look[key] for look in looks]) for key in ("update_cosine", "score_cosine", "alignment_range")
        },
    }


def _against_em(stack, by_layer, moved, batch, gain):
    """Compare, layer by layer, the real update of the weights with the E-step."""
    after = forward_stack(moved, batch.inputs, gain=gain)
    found = {"update_cosine": [], "score_cosine": [], "alignment_range": []}
    for head, new, gradients in zip(stack.heads, after.heads, by_layer, strict=True):
        weights, cost = head.weights[:, 0], batch.mask.sum() * gradients.alignment[:, 0]
        e_step = responsibility(weights, cost) - weights
        found["update_cosine"].append(cosine(new.weights[:, 0] - weights, e_step))
        found["score_cosine"].append(cosine(-gradients.d_scores[:, 0], e_step))
        seen = np.where(np.isfinite(head.scores[:, 0]), cost, np.nan)[:, 1:]  # the first query has no choice
        found["alignment_range"].append(np.median(np.nanmax(seen, axis=-1) - np.nanmin(seen, axis=-1)))
    return {key: _mean_of(values) for key, values in found.items()}


def _calibration(params, held_out, exact, gain):
    logits = forward_stack(params, held_out.inputs, gain=gain).logits[held_out.mask]
    if not np.isfinite(logits).all():
        return {"kl_bits": None, "entropy_mae_bits": None}
    predicted = calibration.probabilities(logits)
    kl = finite(calibration.kl_bits(exact, predicted).mean())
    return {"kl_bits": kl, "entropy_mae_bits": calibration.entropy_mae_bits(exact, predicted)}


def _mean_of(values):
    """Mean of the finite values, None if there are none."""
    kept = [value for value in values if value is not None and np.isfinite(value)]
    return float(np.mean(kept)) if kept else None


def sweep_gain(seed):
    """Run every cell at every rate; return {"sweep": [cells]}, without the comparison with EM."""
    cells = [
        run_cell(depth, gain, optimizer, rate, seed, with_cosines=False)
        for optimizer, (rates, _) in OPTIMIZERS.items()
        for depth in DEPTHS
        for gain in GAINS
        for rate in rates
    ]
    return {"sweep": [{key: value for key, value in cell.items() if "cosine" not in key} for cell in cells]}


def pick_rates(sweeps):
    """Choose the rate of each (optimizer, depth, gain) by the mean KL over the sweeps' seeds, a lost run infinite."""
    totals = {}
    for sweep in sweeps:
        for cell in sweep["sweep"]:
            key = (cell["optimizer"], cell["depth"], cell["gain"])
            by_rate = totals.setdefault(key, {})
            kl = np.inf if cell["kl_bits"] is None else cell["kl_bits"]
            by_rate[cell["rate"]] = by_rate.get(cell["rate"], 0.0) + kl
    return {key: min(by_rate, key=by_rate.get) for key, by_rate in totals.items()}


def gain_cells(seed, rates):
    """Run every cell at its best rate; return {"cells": [...]}."""
    return {"cells": [run_cell(depth, gain, optimizer, rate, seed) for (optimizer, depth, gain), rate in rates.items()]}
