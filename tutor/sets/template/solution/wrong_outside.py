# expect: structure KT111 only
# Leaves the work to XLA. (The first line says what must catch the mistake, the second what its author believed.)


def add(x, y, *, bm=64):
    return x + y
