"""A lexer for Mosaic modules: the MLIR that a TPU kernel is lowered to."""

from __future__ import annotations

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

_TYPES = (
    "memref", "vector", "tensor", "tuple", "complex", "array", "dense", "dense_resource", "index", "none", "strided",
    "affine_map", "affine_set",
)  # fmt: skip
_WORDS = ("module", "attributes", "loc", "callsite", "fused", "at", "to", "offset", "func", "private", "public")


class MosaicLexer(RegexLexer):
    """Mosaic MLIR, in the generic form (`"stable_mosaic.arith.addi"(…)`) and in the short one (`arith.addi …`)."""

    name = "Mosaic MLIR"
    url = "https://mlir.llvm.org/docs/LangRef/"
    aliases = ["mosaic"]
    filenames = ["*.mosaic", "*.mlir"]
    version_added = ""

    tokens = {
        "root": [
            (r"\s+", Whitespace),
            (r"//.*", Comment.Single),
            # Places are in brackets, `loc("kernel"(#loc7))`; a quoted operation never is.
            (r'(?<!\()"[a-zA-Z_]\w*(?:\.\w+)+"(?=\()', Name.Function),
            (r'"(?:\\.|[^"\\\n])*"', String),
            (r'(@)("(?:\\.|[^"\\\n])*"|[\w.$-]+)', bygroups(Punctuation, Name.Class)),
            (r"(%)([\w.$-]+)", bygroups(Punctuation, Name.Variable)),
            (r"(\^)([\w.$-]+)", bygroups(Punctuation, Name.Label)),
            (r"(![a-zA-Z_][\w.$]*)", Keyword.Type),
            (r"(#\w+\.memory_space)(<)(\w+)(>)", bygroups(Name.Attribute, Punctuation, Name.Namespace, Punctuation)),
            (r"#[a-zA-Z_][\w.$]*", Name.Attribute),
            (r"-?0x[0-9A-F]{4,}\b", Number.Hex),
            (r"(\d+|\?)(x)(?=[\d?a-z!])", bygroups(Number.Integer, Punctuation)),
            (r"-?\d+\.\d*(?:[eE][-+]?\d+)?", Number.Float),
            (r"-?\d+", Number.Integer),
            (r"(?:bf16|tf32|f\d+\w*|[su]?i\d+)\b", Keyword.Type),
            (words(_TYPES, prefix=r"\b", suffix=r"\b(?![.\w])"), Keyword.Type),
            (r"\b(?:true|false|unit|unknown)\b(?!\.)", Keyword.Constant),
            (words(_WORDS, prefix=r"\b", suffix=r"\b(?![.\w])(?! =)"), Keyword),
            (r"[a-zA-Z_][\w.]*(?= = )", Name.Attribute),
            (r"[a-zA-Z_]\w*(?:\.\w+)+", Name.Function),
            (r"[a-zA-Z_][\w$]*", Name),
            (r"->|==|>=|<=|[=+*/-]", Operator),
            (r"[\[\](){}<>,:?|]", Punctuation),
        ]
    }
