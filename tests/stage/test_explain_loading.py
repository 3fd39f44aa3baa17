"""Why a file does not load, in plain words."""

import pytest

from tutor.stage.explain.loading import EntryMissing, explain_load, signature_finding


def load(source, path="attempt.py", entry="matmul"):
    text = source.decode() if isinstance(source, bytes) else source
    names = {"__name__": "attempt"}
    exec(compile(text, path, "exec"), names)
    if not callable(names.get(entry)):
        raise EntryMissing(entry, [n for n, v in names.items() if callable(v)], names.get(entry))


def explained(source):
    with pytest.raises(BaseException) as caught:
        load(source)
    return explain_load(caught.value, source, "attempt.py", "matmul")


SOURCES = [
    ("def f(:\n    pass\n", "KT101", 1, "Python cannot read"),
    ("x = 1\nif x:\ny = 2\n", "KT101", 3, "indentation"),
    ("def f():\n\tx = 1\n        y = 2\n", "KT101", 3, "tabs"),
    ("x = (1,\ny = 2\n", "KT101", 1, "never closed"),
    ("x = 1\0\n", "KT102", 1, "zero byte"),
    (b"x = 1\n# caf\xe9\n", "KT102", 2, "UTF-8"),
    ("import numpy\nx = jnp.ones(3)\n", "KT103", 2, "`jnp`"),
    ("x = 1\ny = 1 / 0\n", "KT103", 2, "ZeroDivisionError"),
    ("def f(): return f()\nf()\n", "KT103", 1, "without an end"),
    ("def helper(): pass\nmatmull = helper\ndef matmull2(): pass\n", "KT104", None, "`matmul`"),
    ("matmul = 3\n", "KT104", None, "int"),
    ("def outer():\n    def matmul(): pass\n", "KT104", 2, "top level"),
    ("import torchh\n", "KT109", 1, "`torchh`"),
    ("from numpy import onnes\n", "KT109", 1, "onnes"),
    ("import sys\nsys.exit(3)\n", "KT108", 2, "3"),
    ("raise MemoryError\n", "KT107", 1, "memory"),
]


@pytest.mark.parametrize(("source", "code", "line", "word"), SOURCES, ids=[repr(s[0])[:40] for s in SOURCES])
def test_one_finding_with_code_and_line(source, code, line, word):
    found = explained(source)
    assert (found.code, found.line) == (code, line)
    assert word in found.message
    assert (found.raw is None) == (code == "KT104")  # a name that is not there raises nothing


def test_a_near_name_is_offered():
    found = explained("def matmol(a, b): pass\n")
    assert found.hint == "Rename `matmol` to `matmul`."
    assert found.line == 1


def test_the_name_that_is_imported_everywhere_is_offered():
    assert "import jax.numpy as jnp" in explained("x = jnp.ones(3)\n").hint


def test_a_signature_must_fit_the_exercise():
    source = "def matmul(a, *, bm=128): pass\n"
    names = {}
    exec(source, names)
    found = signature_finding(names["matmul"], "matmul", ["a", "b"], {"bm": 64}, source)
    assert (found.code, found.line) == ("KT105", 1)
    assert "matmul(a, b, bm=64)" in found.message
    assert signature_finding(names["matmul"], "matmul", ["a"], {"bm": 64}, source) is None
