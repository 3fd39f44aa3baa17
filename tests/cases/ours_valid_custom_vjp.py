# Two kernels, forward and backward, under value_and_grad; arguments are a tree.
# Expected: PASS
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def forward(x_ref, o_ref): o_ref[...] = jnp.tanh(x_ref[...])
def backward(o_ref, g_ref, d_ref): d_ref[...] = g_ref[...] * (1 - o_ref[...] * o_ref[...])
def call(kernel, *xs): return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(xs[0].shape, xs[0].dtype))(*xs)

@jax.custom_vjp
def tanh(x): return call(forward, x)

def tanh_fwd(x):
    y = call(forward, x)
    return y, y

tanh.defvjp(tanh_fwd, lambda y, g: (call(backward, y, g),))

def run(params, x): return jax.value_and_grad(lambda p: jnp.sum(tanh(x * p["w"]) ** 2))(params)

def make_args():
    r = np.random.default_rng(0)
    return {"w": r.standard_normal((8, 128), dtype=np.float32)}, r.standard_normal((8, 128), dtype=np.float32)
def reference(params, x): return jax.value_and_grad(lambda p: jnp.sum(jnp.tanh(x * p["w"]) ** 2))(params)
TOL = dict(rtol=1e-4, atol=1e-4)
