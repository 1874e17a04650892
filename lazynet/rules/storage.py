"""The forms in which the rules of the affine family keep their weights.

All forms give the same weights up to rounding; they differ in memory and in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lazynet.parameters import FLAG, Integer, ParameterObject, Special, named_or_given, table

#: Steps that tables hold by default: the million examples of the paper's experiment.
DEFAULT_BUDGET = 2**20


class Form(ParameterObject):
    """How the weights of a rule of the affine family are kept."""

    #: whether the form allows an l1 penalty
    takes_l1: ClassVar[bool] = True
    #: whether the form can average the iterates
    takes_averages: ClassVar[bool] = False


@dataclass(repr=False)
class Clock(Form):
    """One number per weight and two running scalars; the fastest form.

    >>> from lazynet import LazyNetClassifier
    >>> LazyNetClassifier(engine=Clock())
    LazyNetClassifier(engine=Clock())
    """

    name: ClassVar[str] = "clock"
    takes_averages: ClassVar[bool] = True


@dataclass(repr=False)
class Tables(Form):
    """Lipton & Elkan's own form: a step number per weight and two numbers per step.

    After ``budget`` steps all weights are brought current and the tables begin anew.

    >>> from lazynet import LazyNetClassifier
    >>> LazyNetClassifier(engine=Tables(budget=4096))
    LazyNetClassifier(engine=Tables(budget=4096))
    """

    _kinds = table(budget=Integer(least=1, most=2**27))
    name: ClassVar[str] = "tables"
    budget: int = DEFAULT_BUDGET


@dataclass(repr=False)
class Rescaled(Form):
    """A scale times a vector, which handles an l2 penalty and no l1 penalty.

    >>> from lazynet import LazyNetClassifier
    >>> LazyNetClassifier(l1=0.0, engine=Rescaled())
    LazyNetClassifier(engine=Rescaled(), l1=0.0)
    """

    name: ClassVar[str] = "rescaled"
    takes_l1: ClassVar[bool] = False


@dataclass(repr=False)
class Dense(Form):
    """Every step visits every weight: the compiled loop that the lazy forms are compared with.

    With ``predictions`` the prediction and the gradient run over all features too.

    >>> from lazynet import LazyNetClassifier
    >>> LazyNetClassifier(engine=Dense(predictions=True))
    LazyNetClassifier(engine=Dense(predictions=True))
    """

    _kinds = table(predictions=FLAG)
    name: ClassVar[str] = "dense"
    takes_averages: ClassVar[bool] = True
    predictions: bool = False


#: Every form by name.
FORMS: dict[str, type[Form]] = {form.name: form for form in (Clock, Tables, Rescaled, Dense)}

FormLike = str | Form


def check_form(name: str, value: Any) -> Form:
    """The form that ``value`` names or is.

    >>> check_form("engine", "tables")
    Tables()
    """
    return named_or_given(name, value, Form, FORMS)


#: The kind of the parameter ``engine``.
FORM = Special(check=check_form, objects=tuple(FORMS.values()))
