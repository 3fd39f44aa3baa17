"""Plain words for what Python, JAX, Pallas, the simulator and Mosaic say: exceptions in, findings out."""
