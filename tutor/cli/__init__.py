"""The command line: verbs only. Parse, call, print, exit code."""
