"""A lexer for jaxprs: the tutor's marked text and what JAX itself prints."""

from __future__ import annotations

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

# A second `sem` is `sem#2`; in a name that was cut or cleaned stand `…` and `·`.
_NAME = r"[^\W\d][\w·…]*(?:#\d+)?"
_MEMORY = (
    "get", "swap", "addupdate", "masked_load", "masked_swap", "dma_start", "dma_wait", "semaphore_signal",
    "semaphore_wait", "semaphore_read", "get_barrier_semaphore",
)  # fmt: skip
_HEADS = ("branch", "body", "while", "with", "inside", "kernel", "program", "index_map")


class JaxprLexer(RegexLexer):
    """Jaxprs. Primitives are functions, primitives that touch memory built-ins, memory spaces namespaces."""

    name = "jaxpr"
    url = "https://docs.jax.dev/en/latest/jaxpr.html"
    aliases = ["jaxpr"]
    filenames = ["*.jaxpr"]
    version_added = ""

    tokens = {
        "root": [
            (r"\n", Whitespace),
            (r"^([ \t]*)(#.*)", bygroups(Whitespace, Comment.Single)),
            (rf"^([ \t]+)({'|'.join(_MEMORY)})\b", bygroups(Whitespace, Name.Builtin)),
            # An equation without results: a word that begins a line and is neither assigned, stored to nor bound.
            (
                rf"^([ \t]+)(?!(?:let|in|const|{'|'.join(_HEADS)})\b)([a-z_]\w*)"
                r"(?=\[[ \t]*$|\[[a-z_]+=|\(p\d|[ \t]+[^\s<=+,])",
                bygroups(Whitespace, Name.Function),
            ),
            (r"(=)([ \t]+)([a-z_][\w-]*)(?=[\[ (\n]|$)", bygroups(Operator, Whitespace, Name.Function)),
            (r"[ \t]+", Whitespace),
            (r"(Ref)(<)([\w.]+)(>)(\{)", bygroups(Keyword.Type, Punctuation, Name.Namespace, Punctuation, Punctuation)),
            (r"(?<=[:{<])[A-Za-z]\w*(?:<\w+>)?(?=\[[\d,]*\])", Keyword.Type),
            (r"<lambda>", Name.Function),
            (r"<-|->|\+=|[=+*/%-](?!\d)", Operator),
            (words(_MEMORY, prefix=r"\b", suffix=r"\b"), Name.Builtin),
            (rf"\b(?:let|in|lambda|const|times|{'|'.join(_HEADS)})\b(?![\w#:\[=])", Keyword),
            (r"\b(?:True|False|None)\b", Keyword.Constant),
            (r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf\b|nan\b)", Number),
            (rf"({_NAME})(=)", bygroups(Name.Attribute, Operator)),
            (rf"{_NAME}(?=:[A-Za-z]\w*[\[<])", Name.Variable),
            (_NAME, Name),
            (r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"", String),
            (r"[\[\](){}<>,;:.|?!@&~^$…·'\"\\`#]", Punctuation),
        ]
    }
