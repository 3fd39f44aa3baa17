"""The UNTRUSTED side: it runs the learner's Python, and emits only records and bytes."""
