"""The catalogue of findings: what each code means, and the one way to make a `Finding`."""

from tutor.findings.catalogue import Page, UnknownCode, codes, finding, page

__all__ = ["Page", "UnknownCode", "codes", "finding", "page"]
