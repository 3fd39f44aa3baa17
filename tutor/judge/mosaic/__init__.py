"""A small interpreter of Mosaic kernels in NumPy: what the TPU artifact computes, worked out on the trusted side.

`reading` turns a parsed module into records of our own, `types` says what a type's memory is, `table` holds what each
operation means (`arithmetic`, `vectors`, `memory` and `control` fill it), `machine` counts and runs blocks, `grid`
walks the grid with its windows, and `program` runs the whole artifact."""
