"""Every decay that is broken on purpose fails the comparison with the dense rows."""

import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-torch runs these tests")

import torch
from hypothesis import given
from support.caught import caught

from lazynet.torch import decay, table, weight
from lazynet.torch.table import Table
from on_torch.twins import Plan, Step, Training, plans


class PresentRate(Table):
    """All missed steps take the present rate, as in libraries of recommenders."""

    def advance(self, a, log_a, b):
        super().advance(a, log_a, b)
        part = 0.0
        for k in range(1, self.t + 1):
            part = a * part + b
            self.steps[k, 0], self.steps[k, 1] = k * log_a, part
        if self.t:
            self.log, self.b = self.steps[self.t].tolist()


class OneStepTooMany(Table):
    """A row that is late takes one step twice."""

    def _stepped(self, values, since):
        return super()._stepped(values, (since - 1).clamp(min=0))


class TouchedRowsAlone(Table):
    """A row takes the last step, however many it has missed."""

    def _stepped(self, values, since):
        return super()._stepped(values, since.clamp(min=self.t - 1))


class PaddingDecays(Table):
    """The row of the padding takes every step."""

    def __init__(self, weight, padding, budget, by_row):
        super().__init__(weight, (), budget, by_row)


class RestartDropsTheSteps(Table):
    """When the tables are full, they restart, and late rows stay as they are."""

    def advance(self, a, log_a, b):
        if self.t == self.budget - 1:
            self.t, self.log, self.b = 0, 0.0, 0.0
            self.last.masked_fill_(self.last < table.NEVER, 0)
        super().advance(a, log_a, b)


class RestartForgetsTheRows(Table):
    """After a pass over the table the rows keep their old counters."""

    def flush(self):
        last = self.last.clone()
        super().flush()
        self.last.copy_(last)


class OldProduct(Table):
    """B grows by the part of a step before its factor, not after it."""

    def advance(self, a, log_a, b):
        super().advance(a, log_a, b / a)


BROKEN = [PresentRate, OneStepTooMany, TouchedRowsAlone, PaddingDecays, RestartDropsTheSteps,
          RestartForgetsTheRows, OldProduct]  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_tables(broken, monkeypatch):
    monkeypatch.setattr(decay, "Table", broken)
    caught(300)(given(plans())(lambda plan: Training(plan).run()))


def test_an_update_of_rows_that_are_late(monkeypatch):
    """An optimizer writes rows of earlier batches where gradients accumulate."""
    make_current = weight.make_current

    def careless(func, args, kwargs):
        if func is not torch.Tensor.add_:
            make_current(func, args, kwargs)

    monkeypatch.setattr(weight, "make_current", careless)
    caught(300)(given(plans())(lambda plan: Training(plan).run()))


def test_a_proximal_step_before_the_update(monkeypatch):
    before = decay.LazyDecay._before

    def early(self, *arguments):
        before(self, *arguments)
        self._advance()

    monkeypatch.setattr(decay.LazyDecay, "_before", early)
    monkeypatch.setattr(decay.LazyDecay, "_after", lambda self, *arguments: None)
    caught(300)(given(plans())(lambda plan: Training(plan).run()))


#: Past 2^24, where float32 has no odd numbers.
LONG = Plan(
    steps=tuple(Step(1e-3, 0.1, (0.1,), ((k % 6,),)) for k in range(40)),
    budget=2**24 + 100,
    begin=2**24 - 3,
)


def test_steps_past_two_to_the_24_are_counted():
    Training(LONG).run()


def test_a_counter_in_float32_is_caught(monkeypatch):
    class Float32Counter(Table):
        def catch_up(self, rows):
            super().catch_up(rows)
            self.last.copy_(self.last.float())

    monkeypatch.setattr(decay, "Table", Float32Counter)
    with pytest.raises(AssertionError, match="differ"):
        Training(LONG).run()
