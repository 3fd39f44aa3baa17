# expect: structure KT111 only
# Leaves it to XLA.

def transpose(x, *, b=128):
    return x.T
