"""The validation of parameters: plain Python values, and errors in one wording.

A *kind* defines the valid values of a parameter.  It is written next to the type of a field or of
an argument, as in ``l1: Annotated[float, Number(least=0)] | None``.  To *settle* a parameter is to
check its value and to convert it to int, float, bool, str or None, so that a narrow NumPy integer
cannot wrap and a half-precision number cannot overflow later.

scikit-learn requires that a constructor stores the given values unchanged.  So estimators, and the
small objects with the parameters of a rule, a schedule or a loss (``ParameterObject``), settle
their parameters in each call that uses them; a frozen dataclass (``SettledFields``) settles its
fields when it is made.
"""

from __future__ import annotations

import copy
import difflib
import math
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import is_dataclass
from functools import cache, partial
from numbers import Real
from types import MappingProxyType, NoneType, SimpleNamespace
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

#: The greatest integer that any parameter takes, well within the 64 bits that kernels count with.
LARGEST_INTEGER = 2**62
#: Features that a model may have: a column is a number of 32 bits in the kernels.
MOST_FEATURES = 2**32


def shown(value: Any) -> str:
    """``repr(value)`` for an error message, or a text if Python refuses to print a huge integer.

    >>> shown("a"), shown(10**5000)
    ("'a'", 'a value of type int that is too long to print')
    """
    try:
        return repr(value)
    except ValueError:
        return f"a value of type {type(value).__name__} that is too long to print"


def as_float(value: Any) -> float:
    """``value`` as a float; infinite if it is too large for a float."""
    try:
        # A long double that is too large becomes infinite, and the caller refuses infinity.
        with np.errstate(over="ignore"):
            return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_number(value: Any) -> bool:
    """Whether ``value`` is a real number: Python's, NumPy's or a fraction, but not a flag.

    >>> is_number(np.float16(0.5)), is_number(True), is_number(1j), is_number("1")
    (True, False, False, False)
    """
    # NumPy counts a span of time as an integer.
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_, np.timedelta64))


def check_number(
    name: str,
    value: Any,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
    infinite: bool = False,
) -> float:
    """``value`` as a float within the bounds; ``infinite`` also allows infinity.

    >>> check_number("l1", np.float32(0.5), least=0)
    0.5
    """
    number = value
    if type(value) is not float:  # by far the most frequent case
        if not is_number(value):
            raise TypeError(f"{name} must be a number, got {shown(value)}")
        number = as_float(value)
    if infinite and number == math.inf:
        return number
    if math.isfinite(number) and above < number < below and least <= number <= most:
        return number
    if most < math.inf:
        requirement = f"lie between {least:g} and {most:g}"
    elif below < math.inf and above > -math.inf:
        requirement = f"lie between {above:g} and {below:g}, both excluded"
    elif below < math.inf:
        requirement = f"lie between {least:g} and {below:g}, {below:g} excluded"
    elif above > -math.inf:
        requirement = (
            "be finite and positive" if above == 0 else f"be finite and greater than {above:g}"
        )
    elif least > -math.inf:
        requirement = (
            "be finite and not negative" if least == 0 else f"be finite and at least {least:g}"
        )
    else:
        requirement = "be finite"
    raise ValueError(f"{name} must {requirement}, got {shown(value)}")


def check_integer(
    name: str, value: Any, least: float, most: float = LARGEST_INTEGER, *, flags: bool = False
) -> int:
    """``value`` as an int from ``least`` to ``most``; arrays and spans of time are refused.

    Flags are refused, too, or with ``flags`` count as 0 and 1.

    >>> check_integer("max_iter", np.int8(100), 1)
    100
    """
    if flags and isinstance(value, (bool, np.bool_)):
        value = int(value)
    try:
        if isinstance(value, (bool, np.bool_, np.ndarray, np.timedelta64)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {shown(value)}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {shown(number)}")
    if number > most:
        raise ValueError(f"{name} must be at most {most}, got {shown(number)}")
    return number


def check_flag(name: str, value: Any) -> bool:
    """``value`` as a bool; anything but True and False is refused."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def check_choice(name: str, value: Any, accepted: Collection[str]) -> str:
    """``value`` as a str; a name that is not among ``accepted`` is refused."""
    if not isinstance(value, str) or value not in accepted:
        meant = did_you_mean(value, accepted)
        raise ValueError(f"{name} must be one of {sorted(accepted)}, got {shown(value)}{meant}")
    return str(value)


def did_you_mean(value: Any, accepted: Collection[str]) -> str:
    """The end of an error about a name that is near an accepted one; or an empty text.

    >>> did_you_mean("log", ["hinge", "log_loss"]), did_you_mean("x", ["hinge", "log_loss"])
    (': did you mean log_loss?', '')
    """
    if not isinstance(value, str):
        return ""
    near = [name for name in accepted if value and name.startswith(value)]
    near = near or difflib.get_close_matches(value, accepted, 1)
    return f": did you mean {near[0]}?" if near else ""


def refuse_masked(name: str, values: Any) -> None:
    """Refuse an array, a list or a sparse matrix with a masked entry, which NumPy would use."""
    parts = values if isinstance(values, (list, tuple)) else (values,)
    if hasattr(values, "tocsr"):
        parts = tuple(vars(values).values())
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise ValueError(f"{name} must not have masked entries: leave their rows out, or fill them")


def as_array(name: str, requirement: str, values: Any) -> NDArray[Any]:
    """``values`` as an array of any type; an error names the argument.

    ``name`` and ``requirement`` make the sentence of the error: "y" and "must hold real numbers".
    """
    refuse_masked(name, values)
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} {requirement}: {error}") from None


def check_array(
    name: str, requirement: str, values: Any, *, masks: bool = False
) -> NDArray[np.float64]:
    """``values`` as an array of float64 of any shape; an array of float64 is not copied.

    ``name`` and ``requirement`` make the sentence of an error: "y" and "must hold real numbers".
    ``masks`` allows an array of flags, which count as 0 and 1.
    Fractions and other real numbers of Python are converted; complex numbers and words are refused.
    """
    array = as_array(name, requirement, values)
    if array.dtype == object and array.size and all(map(is_number, array.flat)):
        numbers = [as_float(number) for number in array.flat]
        array = np.array(numbers).reshape(array.shape)
    if array.size and array.dtype.kind not in ("fiub" if masks else "fiu"):
        raise TypeError(f"{name} {requirement}, got {array.dtype}")
    # A long double that is too large becomes infinite, and the caller refuses infinity.
    with np.errstate(over="ignore"):
        return np.asarray(array, dtype=np.float64)


class Kind:
    """The valid values of a parameter: ``check`` converts a value, within ``bounds``.

    ``objects`` are the classes of the objects that the parameter takes.

    >>> Kind(check_number, least=0).settled("l1", np.float32(0.5))
    0.5
    """

    #: whether the parameter may be None, as its type says
    optional = False

    def __init__(
        self, check: Callable[..., Any], *, objects: tuple[type[Any], ...] = (), **bounds: Any
    ) -> None:
        self.check, self.objects, self.bounds = check, objects, bounds

    def settled(self, name: str, value: Any) -> Any:
        """``value`` as a plain Python value; None stays None if the parameter is optional."""
        if value is None and self.optional:
            return None
        return self.check(name, value, **self.bounds)


#: The kinds of an integer, a number and one of several names; bounds as in the checks.
Integer = partial(Kind, check_integer)
Number = partial(Kind, check_number)
Choice = partial(Kind, check_choice)


def _find_kinds(parameters: Any) -> Mapping[str, Kind]:
    """The kinds of the fields of a dataclass or of the arguments of a call, by name.

    >>> def train(max_iter: PositiveInt, tol: NonNegative | None, name: str) -> None: ...
    >>> {name: kind.optional for name, kind in kinds_of(train).items()}
    {'max_iter': False, 'tol': True}
    """
    kinds: dict[str, Kind] = {}
    typed = parameters
    if isinstance(parameters, type) and not is_dataclass(parameters):
        typed = typed.__init__
    for name, of in get_type_hints(typed, include_extras=True).items():
        parts = get_args(of)
        optional = NoneType in parts
        for part_type in parts if optional else (of,):
            note = getattr(part_type, "__metadata__", (None,))[0]
            if isinstance(note, Kind):
                kinds[name] = copy.copy(note)
                kinds[name].optional = optional
    return MappingProxyType(kinds)


#: The same kinds, found once for every class and function.
kinds_of: Callable[[Any], Mapping[str, Kind]] = cache(_find_kinds)


def settle(parameters: Any, values: Mapping[str, Any], owner: str = "") -> SimpleNamespace:
    """Every parameter of a class or a function as a plain Python value, by name.

    Errors call a parameter by its name and the ``owner``, such as " of AdaGrad".

    >>> def train(max_iter: PositiveInt) -> None: ...
    >>> settle(train, {"max_iter": np.int8(100)}).max_iter * 200
    20000
    """
    kinds = kinds_of(parameters).items()
    return SimpleNamespace(
        **{name: kind.settled(name + owner, values[name]) for name, kind in kinds}
    )


class SettledFields:
    """A dataclass whose fields are settled when it is made.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Rate(SettledFields):
    ...     eta0: Positive
    >>> Rate(np.float16(0.5))
    Rate(eta0=0.5)
    """

    def __post_init__(self) -> None:
        self.__dict__.update(vars(settle(type(self), self.__dict__)))


class ParameterObject(BaseEstimator):
    """A small object with the parameters of a rule, a schedule, an average or a loss.

    Subclasses are dataclasses.  They can be cloned, pickled and compared, and ``GridSearchCV`` can
    search their parameters; ``repr`` shows the values that differ from the defaults.  The
    parameters are checked when a model uses them.

    >>> from dataclasses import dataclass
    >>> @dataclass(repr=False)
    ... class Rate(ParameterObject):
    ...     eta0: Positive = 0.1
    >>> Rate(0.5).set_params(eta0=0.25), Rate() == Rate(0.1)
    (Rate(eta0=0.25), True)
    >>> Rate(np.float16(0.5)).settled().eta0
    0.5
    """

    #: the name of an object of this class with default parameters
    name: ClassVar[str]
    #: the object from which ``settled`` made this object; None: this object is not settled
    _origin: ClassVar[ParameterObject | None] = None

    def settled(self) -> Self:
        """A copy whose parameters are plain Python values; an error names the parameter."""
        if self._origin is not None:
            return self
        # The constructor would take longer.
        settled, values = object.__new__(type(self)), self.__dict__
        checked = settle(type(self), values, f" of {type(self).__name__}")
        settled.__dict__.update(values, _origin=self, **vars(checked))
        return settled

    def __repr__(self) -> str:
        # As the user wrote it.
        return super().__repr__() if self._origin is None else repr(self._origin)

    def __getstate__(self) -> dict[str, Any]:
        # Without ``_origin``: a copy can be changed, and must be settled again.
        return {key: value for key, value in vars(self).items() if key != "_origin"}


def refuse_class(name: str, value: Any, arguments: str = "") -> None:
    """Refuse a class in place of an object; the error names the call, with these ``arguments``."""
    if isinstance(value, type):
        call = f"{value.__name__}({arguments})"
        raise TypeError(f"{name} must be an object, got the class {value.__name__}: write {call}")


Object = TypeVar("Object", bound=ParameterObject)


def named_or_given(
    name: str, value: Any, base: type[Object], by_name: Mapping[str, type[Object]]
) -> Object:
    """The object called ``value``, with its defaults, or ``value`` itself, settled.

    ``name`` is the name of the parameter, for errors.
    """
    if isinstance(value, base):
        return value.settled()
    if isinstance(value, str):
        kind = by_name.get(value) or by_name[check_choice(name, value, by_name)]
        return kind().settled()
    kinds = ", ".join(sorted({kind.__name__ for kind in by_name.values()}))
    refuse_class(name, value)
    raise TypeError(
        f"{name} must be one of {sorted(by_name)} or one of the objects {kinds}, got {shown(value)}"
    )


def _check_threads(name: str, value: Any) -> int:
    number = check_integer(name, value, -(2**31), 2**31 - 1)
    if number == 0:
        raise ValueError(f"{name} must not be 0: give a number of threads, or -1")
    return number


#: Types of parameters that several classes share.
NonNegative = Annotated[float, Number(least=0)]
Positive = Annotated[float, Number(above=0)]
PositiveInt = Annotated[int, Integer(least=1)]
Flag = Annotated[bool, Kind(check_flag)]
Verbosity = Annotated[int, Integer(least=0, flags=True)]
Threads = Annotated[int, Kind(_check_threads)]


def check_n_steps(name: str, epochs: int, steps_of_an_epoch: int) -> int:
    """The number of steps in all epochs; refuses more than ``LARGEST_INTEGER`` steps."""
    if epochs * steps_of_an_epoch > LARGEST_INTEGER:
        raise ValueError(
            f"{name} must be at most {LARGEST_INTEGER // steps_of_an_epoch} if an epoch has "
            f"{steps_of_an_epoch} steps, since no more than {LARGEST_INTEGER} steps can be "
            f"counted; got {epochs}"
        )
    return epochs * steps_of_an_epoch
