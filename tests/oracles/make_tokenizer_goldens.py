"""Writes tests/golden/tokenizer/: small tokenizers trained here, and what the `tokenizers` package does with them.

    python3 make_tokenizer_goldens.py tests/golden/tokenizer

Each NAME.json is a tokenizer.json; NAME.cases.jsonl has lines {"text", "add_special", "parse_special", "ids"} and
{"ids", "text"} (decoding).
"""
import json
import random
import sys
import unicodedata
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = Path(sys.argv[1])
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = QWEN2.replace(r"\p{N}|", r"\p{N}{1,3}|")
GPT4O = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

TRAINING = [
    "def solve(numbers):\n    total = 0\n    for number in numbers:\n        total += number * 2\n    return total\n",
    "#include <iostream>\nint main() {\n\tstd::cout << \"Hello, world\" << std::endl;\n\treturn 0;\n}\n",
    "The quick brown fox jumps over the lazy dog; it's the dog's day, they're sure we'll see, I'd say you've won.",
    "It was 1984, 2026 and 3.14159; the answer is 42. Costs: $1,000.00 or 50%.",
    "    if x is None:\n        raise ValueError('x must not be None')\n\n\n    return [y for y in x if y > 0]\n",
    "naïve café, Zürich, Ελληνικά, русский текст, 日本語のテキスト, 한국어, emoji 😀😃 and 👩‍👩‍👧",
] * 4

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEXTS = [
    "", " ", "  ", "   a", "a", "a ", "\n", "\n\n", "\r\n", "a\r\n\r\nb", " \n ", "a  \n  b", "\t\tx\t", "x \t\n\r y  ",
    "Hello, world!", "it's they're WE'LL I'D you'VE 's 'S ' '' 'x don't", "'\u017fx 'L \u2019s",
    "def f(x):\n\treturn {'a': x ** 2, \"b\": [1, 22, 333, 4444, 55555]}  # comment\n",
    "int main() { for (int i = 0; i < 10; ++i) printf(\"%d\\n\", i); }",
    "1234567890 0x1F 1e-9 1,000,000.00 \u0663\u0664\u0665 \u00bd \u2167 \u00b2\u00b3 \u096b",
    "😀😃 👩‍👩‍👧 🏳️‍🌈 🇩🇪 ✨✨", "e\u0301 \u00e9 A\u030a \u212b \u1e69 s\u0323\u0307 q\u0307\u0323", "ﬁ ² ① ｶﾞ \uac00 \u1100\u1161",
    "日本語のテキスト。中文字符，한국어 ภาษาไทย हिन्दी العربية עברית",
    "a\u00a0b\u3000c\u2003d\u180ee\u200bf\ufeffg\u0085h\u2028i", "\x00\x01\x1f\x7f a\x00b", "\ufffd\ue000\U0010ffff",
    "\u1c89\ua7cb\U00010d40\U00011de0\U0001e5f1 new letters", " " * 50, " " * 33 + "x", "\n" * 20 + "x", "\t" * 7 + "x",
    "a" * 100, "ab" * 60, "=" * 80, "-----\n*****\n", "http://example.com/a?b=c&d=%20#frag", "path\\to\\file C:\\x",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", "<|endoftext|>", " <|endoftext|> ", "<|endoftext|", "<|im_start|><|im_start|>",
    "x<|im_end|>y <|im_end|>  z", "<|IM_END|> <tool> <tool>x a<tool>", "xword word wordy a word. _word_ WORD", "mask  <mask>  mask\n<mask>\n\n<mask>",
    "snake_case camelCase PascalCase SCREAMING_CASE kebab-case x1y2", "…—–“”‘’«»", "$€£¥₿ %‰ ©®™ ½¼¾", "a+b=c; x!=y && !z || w",
]


def hostile(rng):
    """A random text of pieces that tokenizers disagree about."""
    atoms = [" ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "a", "Word", "über", "12", "3", "٣", "½", ".", "...", "==", "_", "é", "e\u0301", "中", "😀", "\u200d",
             "\u00a0", "\u3000", "<|im_end|>", "<|im_", "word", "<mask>", "\u0300", "ß", "İ", "ǅ", "ʰ", "\u0903", "Ⅷ"]
    return "".join(rng.choice(atoms) for _ in range(rng.randint(1, 30)))


def train(pre_tokenizer, vocab, normalizer=None, special=SPECIAL, texts=TRAINING):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=vocab, special_tokens=special, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False),
    )
    return tokenizer


def byte_level(**options):
    return pre_tokenizers.ByteLevel(**{"add_prefix_space": False, **options})


def edited(tokenizer, edit):
    config = json.loads(tokenizer.to_str())
    edit(config)
    return Tokenizer.from_str(json.dumps(config))


def ignore_merges(config):
    config["model"]["ignore_merges"] = True
    # Tokens that merging alone would never give.
    for token in ["Ġquick", "returnx", "ĠĠĠĠĠĠĠĠx", "日"]:
        config["model"]["vocab"].setdefault(token, len(config["model"]["vocab"]))
    for token in config["added_tokens"]:
        config["model"]["vocab"].setdefault(token["content"], len(config["model"]["vocab"]))


def string_merges(config):
    config["model"]["merges"] = [" ".join(pair) for pair in config["model"]["merges"]]


def some_bytes_missing(config):
    vocab = config["model"]["vocab"]
    for token in ["Z", "q", "Ã", "ð"]:
        vocab.pop(token, None)
    kept = [pair for pair in config["model"]["merges"] if all(t in vocab for t in pair)]
    config["model"]["merges"] = kept
    config["model"]["vocab"] = {t: i for i, t in enumerate(vocab)}
    config["model"]["unk_token"] = "<|endoftext|>"
    config["model"]["fuse_unk"] = True


def build():
    out = {}
    out["gpt2"] = edited(train(byte_level(), 560, special=SPECIAL[:1]), string_merges)
    out["gpt2"].post_processor = processors.ByteLevel(trim_offsets=False)
    out["smollm2"] = train(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level()]), 560)
    qwen = train(pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2), "isolated"), byte_level(use_regex=False)]), 620, normalizers.NFC())
    qwen.add_tokens([AddedToken("<tool>", normalized=False, special=False), AddedToken("word", single_word=True), AddedToken("<mask>", lstrip=True, rstrip=True, special=True)])
    out["qwen2"] = qwen
    llama = edited(train(pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), byte_level(use_regex=False)]), 620), ignore_merges)
    bos = llama.token_to_id("<|endoftext|>")
    llama.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing("<|endoftext|> $A", "<|endoftext|> $A <|endoftext|> $B", [("<|endoftext|>", bos)])]
    )
    out["llama3"] = llama
    out["gpt4o"] = train(pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(GPT4O), "removed", invert=True), byte_level(use_regex=False)]), 560)
    # Falcon's order: steps after ByteLevel see the byte alphabet.
    out["falcon"] = train(
        pre_tokenizers.Sequence(
            [pre_tokenizers.Punctuation("contiguous"), byte_level(), pre_tokenizers.Digits(False), pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")]
        ),
        480,
    )
    odd = train(
        pre_tokenizers.Sequence([pre_tokenizers.Split("e", "merged_with_next"), pre_tokenizers.Split(Regex(r"\d+|o"), "merged_with_previous"), byte_level(add_prefix_space=True)]),
        440,
        normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase(), normalizers.Replace(Regex(r"=+"), "~"), normalizers.Strip()]),
    )
    odd = edited(odd, some_bytes_missing)
    odd.add_tokens([AddedToken("WoRD", single_word=True), AddedToken("<MASK>", normalized=True, special=True)])
    odd.post_processor = processors.RobertaProcessing(("<|im_end|>", odd.token_to_id("<|im_end|>")), ("<|im_start|>", odd.token_to_id("<|im_start|>")))
    out["odd"] = odd
    return out


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for name, tokenizer in build().items():
        (OUT / f"{name}.json").write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":")) + "\n")
        tokenizer = Tokenizer.from_file(str(OUT / f"{name}.json"))
        rng = random.Random(name)
        cases = []
        for text in [t for t in TEXTS if not (name == "odd" and "\u1c89" in t)] + [hostile(rng) for _ in range(60)]:
            for add, parse in [(True, True), (False, True), (False, False)]:
                tokenizer.encode_special_tokens = not parse
                ids = tokenizer.encode(text, add_special_tokens=add).ids
                if add or not parse:  # only where it differs
                    tokenizer.encode_special_tokens = False
                    if ids == tokenizer.encode(text, add_special_tokens=False).ids:
                        continue
                cases.append({"text": text, "add_special": add, "parse_special": parse, "ids": ids})
        size = tokenizer.get_vocab_size()
        for _ in range(40):
            ids = [rng.randrange(size + 3) for _ in range(rng.randint(0, 12))]
            cases.append({"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=False)})
        with open(OUT / f"{name}.cases.jsonl", "w") as out:
            for case in cases:
                out.write(json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n")


main()
