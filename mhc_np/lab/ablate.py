"""Ablations: take a part of a trained network away, and say in bits what the answers lose.

Chapter: chapters/05_who_does_what.md      Tests: tests/test_ablate.py
Symbols: KL(exact || answer) with the part taken away, minus that of the whole network -> cost in bits a label

Two ways to take away what a head or a sub-layer writes. *Zero*: write nothing. *Mean*: write, at each position, what it
writes there on average over other sequences. Only the second takes the sequence's information and nothing else: a zero
also takes a constant away that the rest has learned to count on.

Two more. Without a *skip* a sub-layer overwrites the stream. With *fixed routing* a layer keeps its values and gets,
for every sequence, the average attention map: what this costs is what the choice of sources is worth.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.measure.calibration import kl_bits, probabilities
from mhc_np.measure.rows import has_posterior, mean_where
from mhc_np.models import logits, replace, trace
from mhc_np.models.no_skip import without_skips
from mhc_np.ops.attention import merge_heads, split_heads

WRITERS = ("heads", "attention", "mlp")


class Part(NamedTuple):
    """What is taken away: a ``kind``, and the places (site, layer, columns) where it writes."""

    kind: str
    places: tuple


def parts(config):
    """Name every part of a network that can be taken away.

    Returns
    -------
    dict
        Name -> `Part`, of the kinds "head", "attention", "mlp", "block", "all attention", "all mlp", "skip", "routing",
        "all routing". Layers are applied blocks, loops counted.

    Examples
    --------
    >>> from mhc_np.models import ModelConfig
    >>> list(parts(ModelConfig(num_inputs=3, num_outputs=2, num_positions=4, width=8, num_heads=2)))
    ['head 0.0', 'head 0.1', 'attention 0', 'mlp 0', 'block 0', 'routing 0', 'skip at attention 0', 'skip at mlp 0',
     'all attention', 'all mlp', 'all routing']
    """
    K, whole, layers, found = config.width // config.num_heads, slice(None), range(config.num_applied), {}
    for layer in layers:
        for head in range(config.num_heads):
            found[f"head {layer}.{head}"] = Part("head", (("heads", layer, slice(head * K, (head + 1) * K)),))
        pair = tuple((site, layer, whole) for site in ("attention", "mlp"))
        found |= {f"{place[0]} {layer}": Part(place[0], (place,)) for place in pair}
        found[f"block {layer}"] = Part("block", pair)
        found[f"routing {layer}"] = Part("routing", (("weights", layer, whole),))
        for site in ("attention", "mlp"):
            found[f"skip at {site} {layer}"] = Part("skip", ((f"after {site}", layer, whole),))
    for site, name in (("attention", "attention"), ("mlp", "mlp"), ("weights", "routing")):
        found[f"all {name}"] = Part(f"all {name}", tuple((site, layer, whole) for layer in layers))
    return found


def averages(params, config, *, inputs):
    """Return what every part does on average over sequences: {(site, layer): (T, D), or (H, T, T) for "weights"}."""
    seen = trace(params, config, inputs=inputs)[1]
    return {place: value.mean(axis=0) for place, value in seen.items() if place[0] in (*WRITERS, "weights")}


def remove(part, config, average=None):
    """Make the hook that takes a part away.

    Parameters
    ----------
    part : Part
        One of `parts`.
    config : ModelConfig
    average : dict, optional
        As from `averages`, on other sequences. Without it parts write zero; routing needs it.

    Returns
    -------
    callable
        For ``logits(..., hook=...)``.

    Raises
    ------
    ValueError
        If the routing is to be fixed and there is no average to fix it to.
    """
    if part.kind == "skip":
        return without_skips({place[:2] for place in part.places})
    if "routing" in part.kind:
        if average is None:
            raise ValueError("remove: routing is fixed to an average, want average=averages(...), got none")
        return _fix_routing({layer: average["weights", layer] for _, layer, _ in part.places}, config.num_heads)

    def write_otherwise(place):
        site, layer, columns = place

        def change(value):
            changed = np.array(value)
            changed[..., columns] = 0 if average is None else average[site, layer][..., columns]
            return changed

        return change

    return replace({place[:2]: write_otherwise(place) for place in part.places})


def _fix_routing(maps, num_heads):
    """Let the values of each sequence be averaged by the same maps, {layer: (H, T, T)}."""
    values = {}

    def hook(site, layer, value):
        if site == "values":
            values[layer] = value
        if site == "heads" and layer in maps:
            return merge_heads(maps[layer] @ split_heads(values[layer], num_heads)).astype(value.dtype)
        return value

    return hook


def answer(params, config, *, inputs, hook=None):
    """Return the network's probabilities, (B, T, num_outputs) float64."""
    return probabilities(logits(params, config, inputs=inputs, hook=hook))


def mean_kl_bits(exact, predicted):
    """Return the mean KL over all rows that have a posterior; a broken answer makes it NaN."""
    return mean_where("mean_kl_bits", has_posterior(exact), kl_bits(exact, predicted))


def costs(params, config, *, inputs, exact, average=None, chosen=None):
    """Take every part away in turn; return what each costs.

    Parameters
    ----------
    params : nested dict of arrays
    config : ModelConfig
    inputs : (B, T) ints, or (B, T, F) floats
    exact : (B, T, num_outputs) floats
        The posterior of these sequences.
    average : dict, optional
        As from `averages`: mean ablation. Without it: zero ablation, and no fixed routing.
    chosen : dict, optional
        Name -> `Part`; all `parts` by default.

    Returns
    -------
    dict
        Name -> bits a label above the whole network; negative if the network is better off without.
    """
    whole = mean_kl_bits(exact, answer(params, config, inputs=inputs))
    chosen = parts(config) if chosen is None else chosen
    return {
        name: mean_kl_bits(exact, answer(params, config, inputs=inputs, hook=remove(part, config, average))) - whole
        for name, part in chosen.items()
        if average is not None or "routing" not in part.kind
    }


def concentration(costs):
    """Say whether one head is critical: shares of the damage, largest over second, and how many carry half of it.

    Parameters
    ----------
    costs : dict
        Name -> bits. Gains (negative costs) count as nothing.

    Returns
    -------
    dict
        ``largest`` (a name), ``largest_share``, ``over_second`` (None if the second costs nothing), ``carry_half``.

    Examples
    --------
    >>> concentration({"a": 3.0, "b": 1.0, "c": -1.0})
    {'largest': 'a', 'largest_share': 0.75, 'over_second': 3.0, 'carry_half': 1}
    """
    damage = {name: max(0.0, bits) for name, bits in costs.items()}
    order = sorted(damage, key=damage.get, reverse=True)
    sizes, total = [damage[name] for name in order], sum(damage.values())
    if not total > 0:
        return {"largest": None, "largest_share": None, "over_second": None, "carry_half": None}
    second = sizes[1] if len(sizes) > 1 else 0.0
    return {
        "largest": order[0],
        "largest_share": sizes[0] / total,
        "over_second": sizes[0] / second if second > 0 else None,
        "carry_half": int(np.searchsorted(np.cumsum(sizes), total / 2) + 1),
    }
