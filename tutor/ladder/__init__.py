"""The front's side of a run: start the workers by command, run the stages, assemble one verdict. No JAX here."""
