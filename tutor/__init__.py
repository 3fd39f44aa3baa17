"""kerneltutor: a terminal tutor for JAX Pallas TPU kernels."""
