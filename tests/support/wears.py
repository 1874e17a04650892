"""Limits of wear that Hypothesis draws."""

from hypothesis import strategies as st

from lazynet.engines.wear import Wear


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
