"""What to write instead of an operation that has no TPU lowering."""

_INSTEAD = {
    "dynamic_slice": "Slice the ref, not the value: `ref[pl.ds(start, size), :]` is one load of just that part.",
    "dynamic_update_slice": "Store into the part of the ref: `ref[pl.ds(start, size), :] = value`.",
    "cumsum": "Add up in a loop over rows, or multiply with a triangular matrix of ones.",
    "cumprod": "Multiply in a loop over rows.",
    "cummax": "Take the maximum in a loop over rows.",
    "cummin": "Take the minimum in a loop over rows.",
    "cumlogsumexp": "Keep a running maximum and sum in a loop over rows.",
    "sort": "Sort outside the kernel; inside, find single values with `jnp.max` and a mask.",
    "gather": "Index the ref with scalars in a loop, or let an index map with scalar prefetch choose the blocks.",
    "scatter": "Store to the ref at scalar indices in a loop, or choose with `jnp.where` and an iota.",
    "scatter-add": "Loop over the indices and add to single rows of the ref, or multiply with a one-hot matrix.",
    "scatter_add": "Loop over the indices and add to single rows of the ref, or multiply with a one-hot matrix.",
    "rev": "Reverse outside the kernel, or let the index map count down.",
    "conv_general_dilated": "Write the convolution as shifted products, or as a matrix product.",
    "fft": "Multiply with a matrix of cosines and sines, or transform outside the kernel.",
    "random_bits": "Use `pltpu.prng_seed` and `pltpu.prng_random_bits`.",
    "threefry2x32": "Use `pltpu.prng_seed` and `pltpu.prng_random_bits`.",
    "top_k": "Find the largest value with `jnp.max`, mask it, and repeat.",
    "triangular_solve": "Substitute row by row in a loop.",
    "cholesky": "Compute column by column in a loop.",
    "eigh": "Do this outside the kernel.",
    "pallas_call": "A kernel cannot launch another `pallas_call`; use `pltpu.emit_pipeline` for an inner loop.",
    "erf_inv": "Do this outside the kernel, or use a polynomial.",
    "lgamma": "Do this outside the kernel, or use a polynomial.",
    "digamma": "Do this outside the kernel, or use a polynomial.",
    "psum": "Collectives belong outside the kernel; inside, use remote copies.",
    "all_gather": "Collectives belong outside the kernel; inside, use remote copies.",
}


def instead_of(primitive: str) -> str:
    """Advice for one primitive; general words where there is none of its own."""
    return _INSTEAD.get(primitive, "Write it with other operations, or do it outside the kernel.")


_WRITTEN = {
    "gather": ("take", "take_along_axis"),
    "rev": ("flip", "flipud", "fliplr", "rev", "convolve"),
    "sort": ("sort", "argsort", "median", "unique"),
    "dma_start": ("sync_copy", "async_copy", "make_async_copy", "make_async_remote_copy", "start"),
    "dynamic_slice": ("dynamic_slice", "dynamic_slice_in_dim", "dynamic_index_in_dim"),
    "scatter": ("set",),
    "scatter-add": ("add",),
}


def written_as(primitive: str) -> tuple[str, ...]:
    """The names of calls that become this primitive."""
    return _WRITTEN.get(primitive, (primitive,))
