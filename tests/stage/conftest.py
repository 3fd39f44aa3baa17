"""These tests run kernels here, on the CPU backend, whatever accelerator there may be."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
