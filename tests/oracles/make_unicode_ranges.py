"""Writes lib/tokenizer/unicode_ranges.inc: code points that the `tokenizers` package has in a class and Unicode 14 has not.

The package's own tables are asked, one code point at a time. Run by a Python whose unicodedata is Unicode 14 (3.11):
    python3 make_unicode_ranges.py > lib/tokenizer/unicode_ranges.inc
"""
import unicodedata

from tokenizers import Regex
from tokenizers.pre_tokenizers import Digits, Punctuation, Split, Whitespace

assert unicodedata.unidata_version == "14.0.0"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def matched(pattern):
    """The code points that `pattern` matches."""
    out = set()
    splitter = Split(Regex(pattern), "removed")
    for i in range(0, len(CODE_POINTS), 4096):
        text = "".join(map(chr, CODE_POINTS[i : i + 4096]))
        kept = set("".join(piece for piece, _ in splitter.pre_tokenize_str(text)))
        out |= {ord(c) for c in text if c not in kept}
    return out


def isolated(splitter):
    """The code points that `splitter` splits from a letter before them."""
    return {c for c in CODE_POINTS if len(splitter.pre_tokenize_str("a" + chr(c))) == 2}


def category(prefix):
    return {c for c in CODE_POINTS if unicodedata.category(chr(c)).startswith(prefix)}


def emit(name, code_points, comment):
    ranges = []
    for c in sorted(code_points):
        if ranges and ranges[-1][1] == c - 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    print(f"/// {comment}")
    print(f"inline constexpr Range k{name}[] = {{")
    line = "   "
    for a, b in ranges:
        item = f" {{{a:#x}, {b:#x}}},"
        if len(line) + len(item) > 110:
            print(line)
            line = "   "
        line += item
    print(line)
    print("};\n")


print("// Made by tests/oracles/make_unicode_ranges.py. Do not edit.\n// clang-format off\n")
sets = {}
for prefix in ["L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "N", "Nd", "P", "S"]:
    sets[prefix] = matched(rf"\p{{{prefix}}}")
    if sets[prefix] != category(prefix):
        emit(f"New{prefix}", sets[prefix] - category(prefix), f"\\p{{{prefix}}} beyond Unicode 14")
emit("NewHan", {c for c in matched(r"\p{Han}") if unicodedata.category(chr(c)) == "Cn"}, "\\p{Han} beyond Unicode 14")
emit("WordMore", matched(r"\w") - sets["L"] - sets["M"] - sets["N"] - category("Pc"), "\\w beyond L, M, N and Pc")
emit("NumericMore", isolated(Digits(individual_digits=True)) - sets["N"], "numeric to Digits beyond \\p{N}")
emit("Punctuation", isolated(Punctuation()), "what Punctuation splits off")
word = {c for c in CODE_POINTS if Whitespace().pre_tokenize_str("a" + chr(c))[0][0] == "a" + chr(c)}
common = sets["L"] | sets["M"] | sets["Nd"] | category("Pc")
emit("AddedWordMore", word - common, "word characters beside single_word tokens beyond L, M, Nd and Pc")
assert not common - word, common - word
