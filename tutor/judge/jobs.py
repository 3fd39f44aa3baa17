"""What a judge child does for each kind of job."""

from __future__ import annotations

import time

import msgspec
import numpy as np

from tutor.findings import finding
from tutor.judge.given import configure
from tutor.judge.interpret import interpret
from tutor.judge.oracle import BrokenOracle, Oracle
from tutor.judge.scan import scan
from tutor.judge.simulated import compare_simulated
from tutor.judge.structure import structure
from tutor.judge.timed import expected, repeated
from tutor.judge.witness import cross_examine
from tutor.wire import (
    Broken,
    CompareJob,
    ExpectedJob,
    Inputs,
    InputsJob,
    InterpretJob,
    Job,
    Judged,
    RepeatJob,
    Ruled,
    ScanJob,
    Scanned,
    StructureJob,
    WitnessJob,
)
from tutor.workers.arrays import pack
from tutor.workers.forkserver import Send


def run(job: Job, send: Send) -> None:
    """Do one job in this child and send what comes of it."""
    began = time.monotonic()
    try:
        if isinstance(job, InputsJob):
            made = Oracle(job.oracle).make_inputs(job.case, job.seed)
            if job.integers_only:
                made = {name: array for name, array in made.items() if np.issubdtype(array.dtype, np.integer)}
            send(Inputs(case=job.case.name, data=pack(made)))
        elif isinstance(job, ExpectedJob):
            send(expected(job))
        elif isinstance(job, RepeatJob):
            send(_timed(repeated(job), began))
        elif isinstance(job, InterpretJob):
            configure(job.given.config if job.given else {})
            send(_timed(interpret(job), began))
        elif isinstance(job, CompareJob):
            configure(job.given.config if job.given else {})
            send(_timed(compare_simulated(job), began))
        elif isinstance(job, StructureJob):
            send(Ruled(findings=structure(job), seconds=time.monotonic() - began))
        elif isinstance(job, ScanJob):
            send(Scanned(findings=scan(job.artifact, job.case, own=job.own)))
        elif isinstance(job, WitnessJob):
            send(Ruled(findings=cross_examine(job), seconds=time.monotonic() - began))
        else:
            raise TypeError(f"the judge server has no {type(job).__name__}")
    except BrokenOracle as error:
        send(Broken(message=str(error), traceback="", findings=[finding("KT904", str(error))]))


def _timed(judged: Judged, began: float) -> Judged:
    return msgspec.structs.replace(judged, seconds=time.monotonic() - began)
