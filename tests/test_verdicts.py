"""The verdict rules of C1 and C2 on made-up results: each verdict can come out, and nothing missing ever passes."""

import pytest

from mhc_np.lab.runs import RUNS
from mhc_np.lab.verdicts import CONTROL, FRESH, REUSED, RULES, SMALLER, TUNNELS, VERDICTS, c1, c2

MODELS = ("", "lstm", "mlp", "context_mlp")


def errors(own, mlp, context, seeds=3):
    """Saved results in which every tunnel has the same errors; the LSTM's is the Transformer's."""
    values = dict(zip(MODELS, (own, own, mlp, context), strict=True))
    names = {f"{tunnel}-{model}" if model else tunnel: value for tunnel in TUNNELS for model, value in values.items()}
    return {name: [{"metrics": {"entropy_mae_bits": value}}] * seeds for name, value in names.items()}


def remembered(fresh, smaller=0.0, control=0.5, reused=0.0, seeds=3):
    bits = {FRESH: fresh, SMALLER: smaller, CONTROL: control, REUSED: reused}
    return {name: [{"memorisation": {"remembered_bits": value}}] * seeds for name, value in bits.items()}


@pytest.mark.parametrize(
    ("results", "wanted"),
    [
        (errors(1e-4, 1.2, 0.3), "holds"),
        (errors(2e-3, 1.2, 0.3), "holds in part"),  # not precise
        (errors(1e-4, 1.2, 2e-3), "holds in part"),  # one order of magnitude, not two
        (errors(1e-4, 1.2, 5e-4), "not seen here"),  # the fair MLP is only five times off
        (errors(0.1, 1.2, 0.5), "not seen here"),  # does not follow
        (errors(0.1, 1.2, 0.15), "false"),
        ({}, "not seen here"),
        (errors(1e-4, 1.2, 0.3, seeds=2), "not seen here"),
    ],
)
def test_c1(results, wanted):
    assert c1(results).verdict == wanted


@pytest.mark.parametrize(
    ("results", "wanted"),
    [
        (remembered(1e-4), "holds"),
        (remembered(-1e-4, smaller=0.01), "holds in part"),
        (remembered(0.005), "not seen here"),
        (remembered(0.05), "false"),
        (remembered(1e-4, control=0.01), "not seen here"),
        (remembered(1e-4, seeds=2), "not seen here"),
        ({}, "not seen here"),
    ],
)
def test_c2(results, wanted):
    assert c2(results).verdict == wanted


@pytest.mark.parametrize("full", [errors(1e-4, 1.2, 0.3), remembered(1e-4)])
def test_without_any_one_run_nothing_holds(full):
    rule = c1 if TUNNELS[2] in full else c2
    assert rule(full).verdict == "holds"
    for name in full:
        verdict = rule({other: found for other, found in full.items() if other != name})
        assert verdict.verdict == "not seen here"
        assert name in verdict.words


def test_a_run_that_blew_up_counts_as_wrong_and_the_worst_seed_is_told():
    results = errors(1e-4, 1.2, 0.3)
    results[TUNNELS[0]] = [{"metrics": {"entropy_mae_bits": float("nan")}}] * 3
    assert c1(results).verdict != "holds"
    spread = {FRESH: [{"memorisation": {"remembered_bits": bits}} for bits in (0.0, 0.0, -0.003)]}
    assert c2({**remembered(0.0), **spread}).verdict == "not seen here"


def test_the_rules_read_runs_that_exist_and_speak_the_four_words():
    names = {f"{tunnel}-{model}" if model else tunnel for tunnel in TUNNELS for model in MODELS}
    assert names | {FRESH, SMALLER, CONTROL, REUSED} <= set(RUNS)
    assert all(rule({}).verdict in VERDICTS for rule in RULES.values())
