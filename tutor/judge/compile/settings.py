"""The environment that libtpu needs on a machine without a TPU. It must be set before JAX is imported."""

from __future__ import annotations

from pathlib import Path

ALLOCATIONS = "post-rematerialize-allocations"
SCHEDULE = "packed-bundles-post-ra"
UNITS = "pre-delay_hlo-static-per-bundle-utilization"


def environment(folder: Path) -> dict[str, str]:
    """Variables of the compile server; `folder` takes the few dumps that are read."""
    labels = "|".join((SCHEDULE, UNITS, ALLOCATIONS))
    return {
        "JAX_PLATFORMS": "cpu",
        "OPENBLAS_NUM_THREADS": "1",
        "TPU_SKIP_MDS_QUERY": "1",  # no cloud machine to ask about its chips
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
        "TPU_ACCELERATOR_TYPE": "v5litepod-1",  # only silences warnings: the topology is named for each compile
        "TPU_WORKER_HOSTNAMES": "localhost",
        "LIBTPU_INIT_ARGS": (
            f"--xla_jf_dump_to={folder} --xla_jf_dump_llo_text=true --xla_jf_dump_llo_pass_label_regex=^({labels})$"
        ),
    }
