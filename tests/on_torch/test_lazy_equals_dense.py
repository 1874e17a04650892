"""Lazy tables equal dense ones after every step."""

from collections import Counter

import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-torch runs these tests")

from hypothesis import given, settings

from on_torch.twins import ACTIONS, Training, plans


@given(plans())
def test_lazy_equals_dense_after_every_step(plan):
    Training(plan).run()


def test_every_regime_is_met():
    met = Counter()

    @settings(max_examples=200, derandomize=True, database=None)
    @given(plans())
    def run(plan):
        training = Training(plan)
        training.run()
        met.update(training.met)

    run()
    regimes = {"missed steps", "repeated ids", "two passes", "skipped", "became zero", "rate 0"}
    for regime in regimes | {"budget"} | set(ACTIONS) - {"nothing"}:
        assert met[regime] >= 5, (regime, met)
