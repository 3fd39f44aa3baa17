"""Plain words for what Python, JAX, Pallas, the simulator and Mosaic say: pure functions from an exception to findings."""
