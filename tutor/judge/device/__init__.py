"""The device runner: a process that holds the TPU only while it times one attempt beside its reference."""
