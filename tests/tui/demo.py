"""The screen with a scripted checker, to look at: `python -m tests.tui.demo [pass|fail] [seconds between events]`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.tui.fakes import FakeChecker, FakeCourse, FakeHistory, events, failing, judged
from tutor.tui.app import run

if __name__ == "__main__":
    wanted = sys.argv[1] if len(sys.argv) > 1 else "fail"
    pace = float(sys.argv[2]) if len(sys.argv) > 2 else 0.15
    script = judged if wanted == "pass" else lambda source: events(failing())
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(run(FakeCourse(Path(folder)), FakeHistory(), FakeChecker(script, pace)))
