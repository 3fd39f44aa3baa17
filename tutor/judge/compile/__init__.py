"""The compile server: libtpu compiles TPU artifacts on a machine without a TPU."""
