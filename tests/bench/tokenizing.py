#!/usr/bin/env python3
"""Megabytes of source code a second that leap-sample --tokenize and the tokenizers package encode on one core, in one run.

Usage: tokenizing.py LEAP_SAMPLE MODEL. Run it with a Python that has tokenizers. Each side is timed for a part of the text
and for all of it, and the difference counts, so that loading does not; ours reads and writes its lines as well.
"""
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import sysconfig

os.environ["TOKENIZERS_PARALLELISM"] = "false"
ROUNDS, PART = 3, 200


def pieces():
    """The standard library's modules, in pieces of about 20 kB."""
    for path in sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError):
            continue
        yield from (text[i:i + 20000] for i in range(0, len(text), 20000))


def cpu_seconds(work):
    def used():
        return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))

    before = used()
    work()
    return used() - before


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    from tokenizers import Tokenizer

    program, model = sys.argv[1:]
    load, texts = os.getloadavg()[0], list(pieces())
    megabytes = sum(len(text.encode()) for text in texts[PART:]) / 1e6
    tokenizer = Tokenizer.from_file(str(pathlib.Path(model, "tokenizer.json")))
    lines = [json.dumps({"text": text}).encode() + b"\n" for text in texts]

    def ours(some):
        subprocess.run([program, "--model", model, "--tokenize", "-j1"], input=b"".join(some), stdout=subprocess.DEVNULL, check=True)

    def peer(some):
        for text in some:
            tokenizer.encode(text, add_special_tokens=False)

    def rate(work, all_of_it):
        return megabytes / statistics.median(
            cpu_seconds(lambda: work(all_of_it)) - cpu_seconds(lambda: work(all_of_it[:PART])) for _ in range(ROUNDS))

    our_rate, peer_rate = rate(ours, lines), rate(peer, texts)
    print(json.dumps({"bench": "tokenize", "leap_mb_per_cpu_s": round(our_rate, 1), "tokenizers_mb_per_cpu_s": round(peer_rate, 1),
                      "ratio": round(our_rate / peer_rate, 2), "load": [load, os.getloadavg()[0]]}))


if __name__ == "__main__":
    main()
