# expect: structure KT111 only
# Leaves it to XLA.

def double(x, *, bm=64):
    return x * 2
