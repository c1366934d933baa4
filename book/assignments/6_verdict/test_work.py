"""The checks of assignment 6: made-up experiments of which we know the truth."""

import numpy as np

from book.assignments.grading import want

VERDICTS = ("holds", "holds in part", "not seen here", "false")
RATES = (1e-3, 3e-3, 1e-2)
BROKEN = float("nan")


def experiment(rng, ratio, spread=0.15, seeds=5):
    """Draw errors of both arms, the new arm's `ratio` times the plain one's; the last rate is bad for both."""
    levels = dict(zip(RATES, (0.2, 0.1, 0.5), strict=True))
    arms = {"new": ratio, "plain": 1.0}
    return {
        arm: {rate: list(times * level * np.exp(spread * rng.standard_normal(seeds))) for rate, level in levels.items()}
        for arm, times in arms.items()
    }


def exchanged(errors):
    return {"new": errors["plain"], "plain": errors["new"]}


def share(work, ratio, verdict, draws=400):
    """Return how often the rule gives a verdict when we know the truth."""
    rng = np.random.default_rng(6)
    return np.mean([work.rule(experiment(rng, ratio)) == verdict for _ in range(draws)])


def test_the_words(work):
    verdict = work.rule(experiment(np.random.default_rng(0), 0.3))
    want(verdict in VERDICTS, f"rule: want one of {', '.join(VERDICTS)}, got {verdict!r}")


def test_what_is_missing_helps_no_claim(work):
    errors = experiment(np.random.default_rng(1), 0.3)
    errors["plain"][3e-3] = errors["plain"][3e-3][:2]
    words = "two seeds of the plain arm's best rate are there, three are missing: want 'not seen here'"
    want(work.rule(errors) == "not seen here", words)
    errors = experiment(np.random.default_rng(1), 0.3)
    del errors["plain"][3e-3]
    words = "the plain arm was never run at its best rate, the new arm was: want 'not seen here'"
    want(work.rule(errors) == "not seen here", words)


def test_a_broken_run_is_not_left_out(work):
    errors = experiment(np.random.default_rng(2), 0.3)
    errors["new"] = {rate: [*found[:2], BROKEN, BROKEN, BROKEN] for rate, found in errors["new"].items()}
    words = "three runs of five of the new arm broke at every rate, and the rule says 'holds': broken is infinitely bad"
    want(work.rule(errors) != "holds", words)


def test_each_arm_is_taken_at_its_own_best_rate(work):
    errors = experiment(np.random.default_rng(3), 1.0, spread=0.02)
    errors["new"] = {1e-3: errors["new"][3e-3], 3e-3: errors["new"][1e-3], 1e-2: errors["new"][1e-2]}
    words = "the arms are equal, each at its own best rate; at one common rate they are not"
    want(work.rule(errors) not in ("holds", "false"), f"{words}: the rule says {work.rule(errors)!r}")


def test_the_rule_treats_both_arms_alike(work):
    errors = experiment(np.random.default_rng(4), 0.3)
    want(work.rule(errors) == "holds", f"a third of the error in every seed: want 'holds', got {work.rule(errors)!r}")
    verdict = work.rule(exchanged(errors))
    want(verdict == "false", f"three times the error in every seed: want 'false', got {verdict!r}")


def test_chance_alone_rarely_passes(work):
    found = share(work, 1.0, "holds")
    want(found <= 0.05, f"without a difference {found:.0%} pass: want at most 5%; is the margin too small?")


def test_a_true_claim_mostly_passes(work):
    found = share(work, 0.5, "holds")
    want(found >= 0.9, f"with half the error only {found:.0%} pass: want 90%; is the rule too strict?")
