"""The two clocks: the wall clock of this machine, and the profiler's times on the device."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from tutor.judge.device.clock import dispatch_us, empty_program, wall_us
from tutor.judge.device.profile import Called, read_calls, times_of


def test_the_wall_clock_waits_and_never_says_zero():
    program = jax.jit(lambda x, n: [jnp.tanh(x) + n.sum()])
    outputs, us = wall_us(program, [jnp.ones((64, 128)), jnp.ones(4, jnp.int32)], now=lambda: 5.0)
    assert us > 0 and outputs[0].is_ready()


def test_the_empty_program_takes_and_gives_as_many():
    inputs, outputs = [jnp.ones((64, 128)), jnp.ones(4, jnp.int32)], [jnp.ones((8, 8)), jnp.ones(3, jnp.int32)]
    program = empty_program(inputs, outputs)
    made = program(*inputs)
    assert [(one.shape, one.dtype) for one in made] == [((1,), jnp.float32), ((1,), jnp.int32)]
    assert dispatch_us(program, inputs, calls=3) > 0


TPU_PROFILE = """
planes { name: "/device:TPU:0 SparseCore 0" lines { name: "XLA Modules"
  events { metadata_id: 1 offset_ps: 0 duration_ps: 66000000 } }
  event_metadata { key: 1 value { id: 1 name: "jit_kt_attempt(1)" } } }
planes { name: "/device:TPU:1" lines { name: "XLA Modules"
  events { metadata_id: 1 offset_ps: 0 duration_ps: 77000000 } }
  event_metadata { key: 1 value { id: 1 name: "jit_kt_attempt(1)" } } }
planes { name: "/device:TPU:0"
  lines { name: "XLA Modules" timestamp_ns: 1000
    events { metadata_id: 2 offset_ps: 900000000 duration_ps: 41000000 }
    events { metadata_id: 1 offset_ps: 100000000 duration_ps: 52500000 }
    events { metadata_id: 3 offset_ps: 500000000 duration_ps: 9000000 } }
  lines { name: "XLA Ops" events { metadata_id: 1 offset_ps: 0 duration_ps: 1000 } }
  event_metadata { key: 1 value { id: 1 name: "jit_kt_attempt(1234567)" } }
  event_metadata { key: 2 value { id: 2 name: "jit_kt_reference(89)" } }
  event_metadata { key: 3 value { id: 3 name: "jit__renewed(5)" } } }
planes { name: "/host:CPU" lines { name: "python" events { metadata_id: 1 duration_ps: 5 } }
  event_metadata { key: 1 value { id: 1 name: "PjitFunction(kt_attempt)" } } }
"""


def test_a_profile_of_a_tpu_is_read_from_the_line_of_programs_of_the_first_chip():
    from jax.profiler import ProfileData

    calls = read_calls(ProfileData.text_proto_to_serialized_xspace(TPU_PROFILE))
    assert [(one.name, one.us) for one in calls] == [("kt_attempt", 52.5), ("_renewed", 9.0), ("kt_reference", 41.0)]
    assert times_of(calls, ["kt_attempt", "kt_reference"]) == [52.5, 41.0]


def test_the_profile_of_a_chip_that_is_not_the_first():
    """Where all chips are open, those that ran nothing may have a plane without programs."""
    from jax.profiler import ProfileData

    text = """
planes { name: "/device:TPU:0" lines { name: "Steps" } }
planes { name: "/device:TPU:10" lines { name: "XLA Modules" events { metadata_id: 1 duration_ps: 7000000 } }
  event_metadata { key: 1 value { id: 1 name: "jit_other(1)" } } }
planes { name: "/device:TPU:2" lines { name: "XLA Modules" events { metadata_id: 1 duration_ps: 9000000 } }
  event_metadata { key: 1 value { id: 1 name: "jit_kt_attempt(1)" } } }
"""
    (only,) = read_calls(ProfileData.text_proto_to_serialized_xspace(text))
    assert only.name == "kt_attempt"


def test_a_profile_without_the_line_of_programs_says_nothing():
    from jax.profiler import ProfileData

    text = 'planes { name: "/device:TPU:0" lines { name: "XLA Ops" events { metadata_id: 1 duration_ps: 5000000 } } }'
    assert read_calls(ProfileData.text_proto_to_serialized_xspace(text)) == []
    assert times_of([], ["kt_attempt"]) is None, "and the wall clock is taken"


@pytest.mark.parametrize(
    "expected", [["kt_reference", "kt_attempt"], ["kt_attempt"], ["kt_attempt", "kt_reference", "kt_reference"]]
)
def test_a_profile_that_dropped_a_call_is_not_used(expected):
    calls = [Called("kt_attempt", 0, 52.5), Called("x", 1, 1.0), Called("kt_reference", 2, 41.0)]
    wanted = expected if expected != ["kt_attempt"] else ["kt_attempt", "kt_attempt"]
    assert times_of(calls, wanted) is None


def test_an_empty_profile():
    assert read_calls(b"") == []
