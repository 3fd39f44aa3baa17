"""The same function in jnp, for comparing speed. (Optional.) `set check` proves that handing it in does not pass."""


def add(x, y, *, bm=64):
    return x + y
