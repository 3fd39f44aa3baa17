# expect: structure KT111 only
# Leaves it to XLA.

def add_bias(x, bias):
    return x + bias
