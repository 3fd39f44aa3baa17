"""The same function in jnp, for comparing speed."""


def batched_scale(x, s):
    return x * s
