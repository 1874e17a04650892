"""The Stepper in plain Python gives the numbers of the compiled one, and has the same face."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support.algorithms import AFFINE_RULES

import lazynet
from lazynet.reference import Stepper
from lazynet.reference.stepper import AVERAGED_FORMS, FORMS, SCHEDULES
from lazynet.verify.strategies import assert_matches_twin, problems

BOTH = (False, True)


@pytest.mark.parametrize("engine", FORMS)
@pytest.mark.parametrize("rule", AFFINE_RULES)
@given(data=st.data())
def test_every_step_equals_the_dense_twin(rule, engine, data):
    """Within the bound for rounding that the compiled Stepper is held to."""
    l1 = {"l1": 0.0} if engine == "rescaled" else {}
    problem = data.draw(problems(rules=[rule], intercepts=BOTH, **l1))
    options = problem.plain_options | {"rule": rule, "engine": engine, "schedule": problem.rate}
    options.pop("step_order", None)
    assert_matches_twin(Stepper(problem.n_features, **options), problem)


@pytest.mark.parametrize("engine", AVERAGED_FORMS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_it_stands_in_for_the_compiled_stepper(loss, schedule, engine):
    """With the same words, all that can be read is the same after every step, and averages too."""
    generator = np.random.default_rng(0)
    X = sparse.random(40, 12, density=0.3, format="csr", rng=generator)
    y = np.where(generator.random(40) < 0.5, -1.0, 1.0)
    options = dict(loss=loss, l1=0.01, l2=0.1, schedule=schedule, eta0=0.4, engine=engine)
    options |= dict(fit_intercept=True, average=True)
    plain, compiled = Stepper(12, **options), lazynet.Stepper(12, **options)
    for row in range(40):
        before = [stepper.step_row(X, row, y[row], weight=1.5) for stepper in (plain, compiled)]
        assert before[0] == pytest.approx(before[1], rel=1e-12, abs=1e-14)
        for name in ("t", "weights", "intercept", "averages", "average_intercept"):
            values = np.asarray(getattr(plain, name)), np.asarray(getattr(compiled, name))
            np.testing.assert_allclose(*values, rtol=1e-12, atol=1e-14, err_msg=name)
        for j in range(12):
            assert plain.weight(j) == pytest.approx(compiled.weight(j), rel=1e-12, abs=1e-14)
        example = X[row].indices, X[row].data
        assert plain.predict(*example) == pytest.approx(compiled.predict(*example), rel=1e-12)


def test_the_face_is_the_same():
    """Methods and properties have the names and arguments of the compiled Stepper."""
    names = {name for name in vars(lazynet.Stepper) if not name.startswith("_")}
    assert {name for name in vars(Stepper) if not name.startswith("_")} - {"t"} == names
    for name in names:
        if callable(getattr(Stepper, name)):
            own = inspect.signature(getattr(Stepper, name)).parameters
            assert list(own) == list(inspect.signature(getattr(lazynet.Stepper, name)).parameters)
    own, theirs = (inspect.signature(kind).parameters for kind in (Stepper, lazynet.Stepper))
    assert set(own) - set(theirs) == {"epsilon"}
    assert set(theirs) - set(own) == {"positive", "wear"}
    for name in set(own) & set(theirs):
        assert own[name].default == theirs[name].default


@pytest.mark.parametrize(
    ("options", "example", "named"),
    [
        (dict(rule="adagrad"), None, "rule"),
        (dict(engine="nothing"), None, "engine"),
        (dict(engine="tables", average=True), None, "engine"),
        (dict(schedule="from_data"), None, "schedule"),
        (dict(schedule=lambda t: 0.1, eta0=0.5), None, "eta0"),
        (dict(loss="nothing"), None, "loss"),
        (dict(l1=-1.0), None, "l1"),
        (dict(l2=float("inf")), None, "l2"),
        (dict(eta0=0.0), None, "eta0"),
        (dict(schedule=lambda t: float("nan")), ([0], [1.0], 1), "rate of step 0"),
        ({}, ([0], [1.0], 1, -1.0), "weight"),
        (dict(loss="squared_error"), ([0], [1.0], float("nan")), "target"),
        ({}, ([-1], [1.0], 1), "indices"),
        ({}, ([0, 0], [1.0, 1.0], 1), "indices"),
        ({}, ([0], [1.0, 2.0], 1), "equally long"),
        ({}, ([0], [float("nan")], 1), "values"),
        ({}, ([0], [1.0], 2), "target"),
        (dict(rule="sgd", l2=1.0, schedule="constant", eta0=3.0), ([0], [1.0], 1), "eta"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name(options, example, named):
    """The error names the argument, before any weight has changed."""
    with pytest.raises(ValueError, match=named):
        Stepper(2, **options).step(*example)
