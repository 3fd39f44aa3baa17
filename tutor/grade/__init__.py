"""Grading a class: submissions in, one record a student and exercise out, and what is made of the records."""
