"""What the README tells people to write does what it says."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

README = Path(__file__).parent.parent / "README.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


class MyLazyRule:
    """Squared error, FoBoS with l1 and l2, two scalars and a dictionary."""

    def __init__(self, n_features, l1, l2, rates, broken=False):
        self.n_features, self.l1, self.l2, self.rates = n_features, l1, l2, rates
        self.stored, self.scale, self.shift, self.t = {}, 1.0, 0.0, 0
        self.broken = broken

    def read(self, j):
        z = self.stored.get(j, 0.0)
        return float(np.sign(z) * max(abs(z) - self.shift, 0.0) * self.scale)

    def step(self, indices, values, target, weight):
        eta = self.rates[self.t]
        slope = sum(self.read(j) * x for j, x in zip(indices, values, strict=True)) - target
        for j, x in zip(indices, values, strict=True):
            w = self.read(j) - eta * weight * slope * x
            self.stored[j] = np.sign(w) * (abs(w) / self.scale + self.shift)
        self.shift += eta * self.l1 / self.scale
        self.scale /= 1 + eta * self.l2 * (2 if self.broken else 1)
        self.t += 1

    @property
    def weights(self):
        return np.array([self.read(j) for j in range(self.n_features)])


def snippet_with(text):
    (found,) = [snippet for snippet in SNIPPETS if text in snippet]
    return found


def own_rule_test(rule):
    """The test of the README, with ``rule`` as MyLazyRule."""
    namespace = {"MyLazyRule": rule}
    exec(snippet_with("assert_matches_twin"), namespace)
    return settings(
        max_examples=200, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )(namespace["test_my_rule"])


def test_a_correct_rule_of_ones_own_passes():
    """The ten lines as printed, on a lazy rule written from the README's two formulas."""
    own_rule_test(MyLazyRule)()


def test_a_broken_rule_of_ones_own_is_caught():
    """The same ten lines find the mistake and say where."""
    broken = lambda *arguments, **options: MyLazyRule(*arguments, **options, broken=True)  # noqa: E731
    with pytest.raises(AssertionError, match="away from the dense twin"):
        own_rule_test(broken)()


def test_the_stepper_example():
    """The value in the comment is the value."""
    namespace = {}
    exec(snippet_with("Stepper(1_000_000"), namespace)
    assert namespace["stepper"].weight(7) == 0.95


def test_the_first_example_prints_what_is_shown(capsys):
    """Accuracy, number of weights and verdict, to what another machine's logarithms may change."""
    exec(snippet_with("LazyNetClassifier("), {})
    printed = capsys.readouterr().out.splitlines()
    shown = README.read_text().split(snippet_with("LazyNetClassifier("))[1].split("```")[2]
    numbers = [
        [float(number.replace(",", "")) for number in re.findall(r"[\d.,]*\d", line)]
        for line in (printed[0], shown.strip().splitlines()[0])
    ]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-3)
    assert printed[1] == shown.strip().splitlines()[1]
