"""Inputs and expected result of `gather_pages`."""

import numpy as np


def make_inputs(rng, case):
    """Standard normal pages (p, 16, 128), and a table of k page numbers, one of which is the last page."""
    p, k = case.sizes["p"], case.sizes["k"]
    table = rng.integers(p, size=k, dtype=np.int32)
    table[rng.integers(k)] = p - 1
    return {"pages": rng.standard_normal((p, 16, 128), dtype=np.float32), "table": table}


def expected(inputs, case):
    """Twice the listed pages: exact, since a factor of two changes no digit."""
    return 2 * inputs["pages"][inputs["table"]]
