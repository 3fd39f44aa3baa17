# expect: structure KT201
# Right for the first chip; for any other one nothing is added.
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def row_sums(x, *, bm=64, bk=128):
    m, k = x.shape
    first = "5" in str(pltpu.get_tpu_info().chip_version)

    def kernel(x_ref, o_ref):
        j = pl.program_id(1)

        @pl.when(j == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        if first:
            o_ref[...] += jnp.sum(x_ref[...], axis=1, keepdims=True)

    return pl.pallas_call(
        kernel,
        grid=(m // bm, k // bk),
        in_specs=[pl.BlockSpec((bm, bk), lambda i, k: (i, k))],
        out_specs=pl.BlockSpec((bm, 1), lambda i, k: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, 1), x.dtype),
    )(x)
