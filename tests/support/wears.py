"""Limits of wear that Hypothesis draws."""

import dataclasses

from hypothesis import strategies as st

from lazynet.engines.base import Wear

#: Limits so small that a short run has many sweeps.
RESTLESS = Wear(
    cushion=0.01, largest_cushion=0.01, nonzeros_per_weight=0.0, reach=2.0, largest_reach=4.0
)


def wears():
    """Limits of wear: the default limits, or limits so small that a short run has many sweeps.

    >>> from hypothesis import find
    >>> wear = find(wears(), lambda wear: wear.cushion == 0.0)
    >>> wear.cushion, wear.largest_cushion
    (0.0, 1024.0)
    """
    return st.one_of(
        st.just(Wear()),
        st.builds(
            Wear,
            smallest_scale=st.sampled_from([2.0**-500, 2.0**-60, 2.0**-5, 0.9]),
            cushion=st.sampled_from([1.0, 0.01, 0.0]),
            largest_cushion=st.sampled_from([1024.0, 1.0, 0.01, 0.0]),
            nonzeros_per_weight=st.sampled_from([16.0, 1.0, 0.0]),
        ),
    )


def restless_wears():
    """Every wear, and reaches so short that averages are folded again and again."""
    return st.builds(
        lambda wear, reach, largest: dataclasses.replace(wear, reach=reach, largest_reach=largest),
        wears(),
        st.sampled_from([2.0**6, 2.0, 0.0]),
        st.sampled_from([2.0**10, 4.0, 1.5, 0.0]),
    )
