"""A speed estimate without a TPU: the compiler's own schedule is read, and its scalar program is replayed.

`dump` reads the text, `scalar` makes a Python function of the scalar program, `replay` runs it beside a DMA queue,
`model` says what a cycle and a copy cost on each chip and `estimate`
adds it all up. It is an estimate and is always called one."""
