"""Progress and attempts, kept in SQLite."""

from tutor.record.exchange import Document, Merged, export_progress, import_progress, merge_progress, read_progress
from tutor.record.history import Attempt, History, Progress, Speed, open_history, speeds_of
from tutor.record.store import HistoryError, NewerHistory, data_folder

__all__ = [
    "Attempt",
    "Document",
    "History",
    "HistoryError",
    "Merged",
    "NewerHistory",
    "Progress",
    "Speed",
    "data_folder",
    "export_progress",
    "import_progress",
    "merge_progress",
    "open_history",
    "read_progress",
    "speeds_of",
]
