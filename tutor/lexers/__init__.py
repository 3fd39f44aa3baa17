"""Pygments lexers for what the tutor prints: `pygmentize -l jaxpr`, `pygmentize -l mosaic`."""
