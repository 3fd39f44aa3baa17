"""Exercise sets: manifests, finding and loading them, and the learner's workspace."""

from tutor.protocol import Rules
from tutor.sets.errors import (
    ManifestError,
    Problem,
    SetError,
    UnknownName,
    UnknownSet,
    UnknownSlug,
    WorkspaceError,
    did_you_mean,
    nearest,
)
from tutor.sets.exercise import Exercise, Expectation, WrongAnswer
from tutor.sets.finding import enclosing_set, find_set, locate_set, open_set
from tutor.sets.loading import Broken, ExerciseSet, builtin_root, chapter_title, load_set
from tutor.sets.manifest import ExerciseManifest, SetManifest
from tutor.sets.workspace import Opened, Reset, Workspace, workspace_root, write_atomic

__all__ = [
    "Broken",
    "Exercise",
    "ExerciseManifest",
    "ExerciseSet",
    "Expectation",
    "ManifestError",
    "Opened",
    "Problem",
    "Reset",
    "Rules",
    "SetError",
    "SetManifest",
    "UnknownName",
    "UnknownSet",
    "UnknownSlug",
    "Workspace",
    "WorkspaceError",
    "WrongAnswer",
    "builtin_root",
    "chapter_title",
    "did_you_mean",
    "enclosing_set",
    "find_set",
    "load_set",
    "locate_set",
    "nearest",
    "open_set",
    "workspace_root",
    "write_atomic",
]
