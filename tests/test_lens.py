"""The lens and the probe on a network set by hand: the belief appears where it is made, and not before."""

import numpy as np
import pytest
from planted import TASK, counting, everything, prior_bits

from mhc_np.lab.lens import logit_lens, normalized, probe_beliefs, readable, sites, states, through_depth
from mhc_np.measure.calibration import kl_bits
from mhc_np.models import logits
from mhc_np.tasks import bijection

BATCH, EXACT = everything()


def many(count=60):
    batch = bijection.sample(TASK, np.random.default_rng(0), count)
    return batch.inputs, bijection.posterior(TASK, batch)


def test_the_lens_sees_the_belief_from_the_sub_layer_on_that_makes_it():
    config, params = counting(num_layers=2)
    beliefs = logit_lens(params, config, inputs=BATCH.inputs)
    kl = np.nanmean([kl_bits(EXACT, belief) for belief in beliefs], axis=(1, 2))
    assert kl == pytest.approx([prior_bits(), 0, 0, 0, 0], abs=1e-9)
    assert len(sites(config)) == 5


def test_the_lens_at_the_last_site_is_the_networks_answer():
    config, params = counting(num_layers=1)
    z = logits(params, config, inputs=BATCH.inputs)
    probs = np.exp(z - z.max(axis=-1, keepdims=True))
    last = logit_lens(params, config, inputs=BATCH.inputs)[-1]
    np.testing.assert_allclose(last, probs / probs.sum(axis=-1, keepdims=True), atol=1e-12)


def test_the_probe_reads_a_belief_that_the_head_cannot_and_none_that_is_not_there():
    """Turn the stream after the first layer: the lens is lost, the probe is not. Before it, neither reads anything."""
    inputs, exact = many()
    config, params = counting(num_layers=1)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]
    found = states(params, config, inputs=inputs)
    turned = {site: state @ turn if site != ("embedding", 0) else state for site, state in found.items()}
    lens = logit_lens(params, config, inputs=inputs, found=turned)
    probe = probe_beliefs(turned, exact)
    lens_kl = [np.nanmean(kl_bits(exact, belief)) for belief in lens]
    probe_kl = [np.nanmean(kl_bits(exact[len(exact) // 2 :], belief)) for belief in probe]
    assert lens_kl[1] > 0.5
    assert probe_kl[1] < 0.03
    assert probe_kl[0] > 0.9 * prior_bits()


def test_the_entropy_is_readable_where_counts_are():
    config, params = counting(num_layers=1)
    inputs, exact = many()
    labelled = ~np.isnan(exact[..., 0])
    noise = np.random.default_rng(3).standard_normal(labelled.shape)
    found = states(params, config, inputs=inputs)
    assert readable(found, noise, labelled)[-1] < 0.1
    seen = np.cumsum(inputs >= 3, axis=1).astype(float)  # values read so far
    before, *_, after = readable(found, (seen > 0).astype(float), labelled)
    assert before < 0.1
    assert after > 0.5


def test_through_depth_counts_one_fall_and_no_rise():
    config, params = counting(num_layers=2)
    inputs, exact = many()
    found = through_depth(params, config, inputs=inputs, exact=exact)
    assert found["prior_bits"] == pytest.approx(prior_bits(), rel=0.1)
    # one of four steps falls, at the two of three positions where there is something to know; the probe of the
    # embedding is off at the first position too, by what it took from its few sequences
    for reader, share in (("lens", 2 / 3), ("probe", 0.85)):
        counted = found[reader]["sub_layers"]
        assert counted["rose"] == 0
        assert counted["fell"] == pytest.approx(share / 4, abs=0.03)
        assert found[reader]["blocks"]["fell"] == pytest.approx(share / 2, abs=0.06)
        assert np.shape(found[reader]["by_position"]) == (5, 3)
    assert found["sites"][1] == "after attention 0"


def test_paths_are_the_beliefs_of_a_few_questions():
    config, params = counting(num_layers=1)
    inputs, exact = many()
    kept = through_depth(params, config, inputs=inputs, exact=exact)["paths"]
    assert kept["positions"].tolist() == sorted(kept["positions"])
    assert set(kept["positions"]) == set(np.flatnonzero(~np.isnan(exact[0, :, 0])))
    judged = exact[30:]
    np.testing.assert_array_equal(kept["exact"], [judged[k, at] for k, at in enumerate(kept["positions"])])
    assert np.shape(kept["lens"]) == np.shape(kept["probe"]) == (3, len(kept["positions"]), 3)
    np.testing.assert_allclose(kept["lens"][-1], kept["exact"], atol=1e-9)
    assert np.abs(kept["lens"][0] - kept["exact"]).max() > 0.3


def test_normalized_rows_have_size_one_and_a_zero_row_stays_zero():
    rows = normalized(np.array([[[[3.0, 4.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]]]))
    np.testing.assert_allclose((rows**2).mean(axis=-1), [[1, 0]], atol=1e-9)
