"""The files of a tiny exercise set, for tests to load and to break."""

from __future__ import annotations

from pathlib import Path

SET = """\
format = 1
id = "tiny"
title = "A tiny set"
jax = ">=0.12,<0.13"
chapters = ["01_refs", "02_blocks"]
chips = ["v5e"]
"""

SCALE = """\
format = 1
kind = "kernel"
slug = "scale"
title = "Scale"
summary = "Multiply by a number."
entry = "scale"
hints = ["first", "second", "third"]
starter = "interpret KT201"

[[input]]
name = "x"
shape = ["m", "2*n"]
dtype = "float32"

[[output]]
name = "out"
shape = ["m", "2*n"]
dtype = "float32"

[static]
bm = "b"

[[case]]
name = "small"
sizes = { m = 8, n = 64, b = 8 }
hazard = true

[[case]]
name = "wide"
sizes = { m = 16, n = 128, b = 8 }
static = { bm = 4, flag = true }
seeds = 3

[rules]
kernels = 1
space = { x = "vmem" }
alias = [{ from = "fresh", to = "out" }]

[[diagnosis]]
when = "KT201"
say = "Look at the factor."
"""

PREDICT = """\
format = 1
kind = "predict"
slug = "guess"
title = "Guess"
requires = ["scale"]
hints = ["one"]

[[question]]
id = "loads_x"
kernel = "twice"
ask = "How many loads of x?"
quantity = "loads.x_ref"
"""

HIDDEN = """\
[[case]]
name = "secret"
sizes = { m = 24, n = 64, b = 8 }
"""


def write_tiny(root: Path) -> Path:
    """Write the tiny set below `root`."""
    files = {
        "exercises/set.toml": SET,
        "exercises/01_refs/01_scale/exercise.toml": SCALE,
        "exercises/01_refs/01_scale/lesson.md": "# Scale\n\nRead, multiply, write.\n",
        "exercises/01_refs/01_scale/starter.py": "def scale(x, *, bm):\n    return x\n",
        "exercises/01_refs/01_scale/oracle.py": "def expected(inputs, case):\n    return inputs['x'] * 2\n",
        "exercises/02_blocks/01_guess/exercise.toml": PREDICT,
        "exercises/02_blocks/01_guess/lesson.md": "# Guess\n",
        "exercises/02_blocks/01_guess/starter.py": "loads_x = 0\n",
        "exercises/02_blocks/01_guess/kernels.py": "def twice(x):\n    return x\n",
        "solutions/01_refs/01_scale/reference.py": "def scale(x, *, bm):\n    return x * 2\n",
        "solutions/01_refs/01_scale/right_loop.py": "def scale(x, *, bm):\n    return x + x\n",
        "solutions/01_refs/01_scale/wrong_three.py": "# expect: interpret KT201 only\n# multiplies by three\n",
        "solutions/01_refs/01_scale/hidden.toml": HIDDEN,
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root
