"""The test of a user rule on the page "Exactness" passes and fails as it should."""

import re
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from support import ROOT

PAGE = ROOT / "docs" / "exactness.md"


class MyLazyRule:
    """A lazy rule: squared error, FoBoS with l1 and l2, kept in two scalars and a dictionary."""

    def __init__(self, n_features, l1, l2, rates, broken=False):
        self.n_features, self.l1, self.l2, self.rates = n_features, l1, l2, rates
        self.stored, self.scale, self.shift, self.t = {}, 1.0, 0.0, 0
        self.broken = broken

    def read(self, j):
        z = self.stored.get(j, 0.0)
        return float(np.sign(z) * max(abs(z) - self.shift, 0.0) * self.scale)

    def step(self, indices, values, target, importance):
        eta = self.rates[self.t]
        slope = sum(self.read(j) * x for j, x in zip(indices, values, strict=True)) - target
        for j, x in zip(indices, values, strict=True):
            w = self.read(j) - eta * importance * slope * x
            self.stored[j] = np.sign(w) * (abs(w) / self.scale + self.shift)
        self.shift += eta * self.l1 / self.scale
        self.scale /= 1 + eta * self.l2 * (2 if self.broken else 1)
        self.t += 1

    @property
    def weights(self):
        return np.array([self.read(j) for j in range(self.n_features)])


def own_rule_test(rule):
    """The test of the page, with ``rule`` as MyLazyRule."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [block for block in blocks if "assert_matches_reference" in block]
    namespace = {"MyLazyRule": rule}
    exec(found, namespace)
    return settings(
        max_examples=60, phases=[Phase.generate], database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )(namespace["test_my_rule"])  # fmt: skip


def test_a_rule_of_ones_own():
    """The page's test passes on the two formulas of the clock, and says where a mistake shows."""
    own_rule_test(MyLazyRule)()
    with pytest.raises(AssertionError, match=r"after step .* away from the dense reference"):
        own_rule_test(partial(MyLazyRule, broken=True))()
