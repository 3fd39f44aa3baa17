# expect: structure KT111 only
# Returns x: equal numbers, and no kernel.

def copy(x, *, bm=64, bn=128):
    return x
