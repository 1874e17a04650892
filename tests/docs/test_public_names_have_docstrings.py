"""Every public name has a docstring, and an example that uses the name.

That the examples are true is what their doctests say.
"""

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import lazynet.reference

MODULES = [
    "lazynet",
    "lazynet.engines.catalogue",
    "lazynet.verify.tolerance",
    "lazynet.verify.reference",
    "lazynet.plots",
    "lazynet.reference",
    "lazynet.data",
    "lazynet.verify.strategies",
    *(info.name for info in pkgutil.iter_modules(lazynet.reference.__path__, "lazynet.reference.")),
]
IN_EXAMPLES = doctest.DocTestParser()


def public_names():
    """Every public class and function, by where it is found."""
    for name in MODULES:
        module = importlib.import_module(name)
        defined = [key for key, value in vars(module).items() if is_from(name, value)]
        for key in getattr(module, "__all__", defined):
            value = getattr(module, key)
            if not key.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value)):
                yield f"{name}.{key}", value


def is_from(module, value):
    return getattr(value, "__module__", None) == module


def members(kind):
    """The public methods and properties of a class, without those of scikit-learn."""
    for key in dir(kind):
        member = inspect.getattr_static(kind, key)
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        ours = str(getattr(function, "__module__", "")).startswith("lazynet")
        if ours and inspect.isroutine(function) and not key.startswith("_"):
            yield key, member


def examples(*documented):
    """The code of the examples in the docstrings of these objects."""
    docstrings = [one.__doc__ or "" for one in documented]
    return "".join(line.source for text in docstrings for line in IN_EXAMPLES.get_examples(text))


NAMES = dict(public_names())
MEMBERS = {
    f"{name}.{key}": (kind, key)
    for name, kind in NAMES.items()
    if inspect.isclass(kind)
    for key, _ in members(kind)
}


@pytest.mark.parametrize("name", NAMES)
def test_public_names_have_an_example(name):
    """The docstring of every public name has an example; in the reference, or that of its module.

    One table of all losses says more than an example in each of their functions.
    """
    value = NAMES[name]
    assert value.__doc__
    module = [importlib.import_module(value.__module__)] if "reference" in name else []
    assert examples(value, *module)


@pytest.mark.parametrize("name", MEMBERS)
def test_public_members_are_documented_and_shown(name):
    """An example of the class, of a member, or of a base with the member uses it.

    A method without a docstring has the docstring of the base.
    """
    kind, key = MEMBERS[name]
    assert inspect.getdoc(inspect.getattr_static(kind, key))
    bases = [base for base in kind.__mro__ if key in vars(base)]
    inherited = [vars(base)[key] for base in bases]
    shown = examples(kind, *bases, *inherited, *(member for _, member in members(kind)))
    assert re.search(rf"\.{key}\b", shown)


def test_the_names_are_found():
    """The lists above have names of every kind: no test above passes on an empty list."""
    assert len(NAMES) >= 90
    assert len(MEMBERS) >= 170
    assert {"lazynet.verify.strategies.problems", "lazynet.reference.losses.hinge"} < {*NAMES}
    assert {"lazynet.Stepper.weights", "lazynet.LazyNetClassifier.predict_proba"} < {*MEMBERS}
