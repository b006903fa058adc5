#!/usr/bin/env python3
"""The documents: options in step with --help, sound mdoc, examples that run and print what they say.

A block of an EXAMPLES section, or of README.md, whose first line starts with "$ " is run: each "$ " line is a command
(here-documents belong to it), the lines after it, if any, are what it prints. A mark before the block (`.\\" test: MARK`
or `<!-- test: MARK -->`) says more: `skip`: not run; `model`: needs the embedded model and local models built. Blocks of a
document share one scratch copy of examples/.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
ROOT = pathlib.Path(__file__).resolve().parents[1]
SEVEN = ["leap-sample", "leap-verify", "leap-prune", "leap-rank", "decomp-split", "decomp-recombine", "rl-update"]
TOOLS = [tool for tool in SEVEN if (BIN / tool).exists()]
PAGES = sorted((ROOT / "man").glob("*.[1-9]"))
README = ROOT / "README.md"
MODEL = ROOT / "models" / "smollm2"
LOCAL = BIN.parent / "lib" / "leap-local.so"
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]


def unescaped(text):
    """mdoc source as the reader sees it, as far as examples and options need it."""
    return text.replace("\\e", "\\").replace("\\-", "-").replace("\\&", "").replace("\\(dq", '"')


def help_options(tool):
    """{long option: its line} of --help."""
    text = subprocess.run([BIN / tool, "--help"], capture_output=True, check=True).stdout.decode()
    found = [(re.match(r" +(?:-\w)?,? *(--[a-z0-9][a-z0-9-]*)", line), line) for line in text.splitlines()]
    return {match[1]: line for match, line in found if match}


def man_options(page):
    """{long option: what is written about it} of a page's tagged lists."""
    options = {}
    for entry in re.split(r"^(?=\.(?:It|El|Ss|Sh)\b)", unescaped(page.read_text()), flags=re.M):
        if entry.startswith(".It"):
            head = entry.splitlines()[0]
            for name in re.findall(r"\bFl -([a-z0-9][a-z0-9-]*)", head):
                options["--" + name] = entry
    return options


def man_blocks(page):
    """(mark, lines) of each literal block in EXAMPLES."""
    text = page.read_text()
    examples = text.partition("\n.Sh EXAMPLES\n")[2].partition("\n.Sh ")[0]
    found = re.findall(r'(?:^\.\\" test: (\w+)\n)?^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$', examples, flags=re.M)
    return [(mark, unescaped(body).splitlines()) for mark, body in found]


def readme_blocks():
    """The same of README.md's indented blocks, whose mark stands in the line before, or the one above an empty line."""
    blocks, block, mark = [], None, ""
    for line in README.read_text().splitlines() + [""]:
        if line.startswith("    "):
            block = (block or []) + [line[4:]]
            continue
        if block:
            blocks.append((mark, block))
            block, mark = None, ""
        found = re.fullmatch(r"<!-- test: (\w+) -->", line)
        mark = found[1] if found else mark if not line else ""
    return blocks


def commands(lines):
    """(command, expected lines or None) of a block."""
    out = []
    lines = list(lines)
    while lines:
        line = lines.pop(0)
        if line.startswith("$ "):
            command = [line[2:]]
            here = re.search(r"<<'?(\w+)'?", line)
            while here and lines and command[-1] != here[1]:
                command.append(lines.pop(0))
            out.append(("\n".join(command), []))
        else:
            out[-1][1].append(line)
    return [(command, expected or None) for command, expected in out]


class Words(unittest.TestCase):
    def test_options_in_step_with_help(self):
        self.assertIn("leap-rank", TOOLS)
        for tool in TOOLS:
            with self.subTest(tool):
                shown, written = help_options(tool), man_options(ROOT / "man" / f"{tool}.1")
                self.assertGreater(len(shown), 3)
                self.assertEqual(sorted(shown), sorted(written))
                for name, line in shown.items():
                    default = re.search(r"(?i)\bdefault:? ([^\s,;)]+)", line)
                    if default:
                        self.assertRegex(written[name], r"(?i)default", f"{name}: the manual names no default")
                        self.assertIn(default[1], re.sub(r"(?m)^\.\w+ ", "", written[name]).split("\n", 1)[1],
                                      f"{name}: another default in the manual")

    def test_manual_pages_are_sound(self):
        self.assertGreater(len(PAGES), 3)
        for page in PAGES:
            with self.subTest(page.name):
                titles = re.findall(r"^\.Sh (.*)", page.read_text(), flags=re.M)
                wanted = SECTIONS if page.suffix == ".1" else [s for s in SECTIONS if s not in ("SYNOPSIS", "EXIT STATUS")]
                self.assertEqual([t for t in titles if t in SECTIONS], wanted)
                if shutil.which("mandoc"):
                    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True)
                    self.assertEqual((lint.returncode, lint.stdout), (0, ""))
                if shutil.which("groff"):
                    groff = subprocess.run(["groff", "-mdoc", "-ww", "-z", page], capture_output=True, text=True)
                    self.assertEqual((groff.returncode, groff.stdout, groff.stderr), (0, "", ""))

    def test_references_lead_somewhere(self):
        for page in PAGES:
            for name, section in re.findall(r"^\.Xr ((?:leap|rl|decomp)-\S+) (\d)", page.read_text(), flags=re.M):
                self.assertTrue((ROOT / "man" / f"{name}.{section}").exists(), f"{page.name}: {name}")

    def run_blocks(self, blocks):
        """Runs them in order; the number of commands that ran."""
        ran = 0
        with tempfile.TemporaryDirectory(prefix="leap-words-") as scratch:
            shutil.copytree(ROOT / "examples", pathlib.Path(scratch, "examples"))
            if MODEL.exists():
                os.symlink(MODEL.parent, pathlib.Path(scratch, "models"))
            env = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
            for mark, lines in blocks:
                if not lines[0].startswith("$ ") or mark == "skip":
                    continue
                if mark == "model" and not (MODEL.exists() and LOCAL.exists()):
                    continue
                if any(re.search(rf"(?<![\w-]){tool}(?![\w-])", line) for tool in SEVEN if tool not in TOOLS
                       for line in lines):
                    return ran  # what follows may need its files
                for command, expected in commands(lines):
                    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=scratch, env=env, text=True,
                                          stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), command)
                    if expected is not None:
                        self.assertEqual(done.stdout.splitlines(), expected, command)
                    ran += 1
        return ran

    def test_examples_of_manual_pages(self):
        for page in PAGES:
            with self.subTest(page.name):
                if page.stem in SEVEN and page.stem not in TOOLS:
                    continue
                blocks = man_blocks(page)
                self.assertTrue(any(lines[0].startswith("$ ") for _, lines in blocks), "no example")
                ran = self.run_blocks(blocks)
                if page.stem in ("leap-prune", "leap-rank", "leap-records"):
                    self.assertGreater(ran, 1)

    def test_examples_of_readme(self):
        self.assertGreater(self.run_blocks(readme_blocks()), 0)

    def test_example_records(self):
        page = ROOT / "man" / "leap-records.5"
        marked = {mark: "\n".join(lines) for mark, lines in man_blocks(page) if mark.startswith("record")}
        record = json.loads(marked["record"])
        ranked = subprocess.run([BIN / "leap-rank"], input=json.dumps(record), capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(ranked.stdout), record)
        for line in marked["records"].splitlines():
            self.assertIn(json.loads(line)["task"]["check"]["type"], ("stdio", "script"))

    def test_every_field_is_described(self):
        """Members of the example lines, of ranked and pruned ones and of verdicts stand in leap-records(5)."""
        text = unescaped((ROOT / "man" / "leap-records.5").read_text())
        described = set(re.findall(r"[a-z][a-z_]*", text.partition(".Sh EXAMPLES")[0])) | {"v"}
        lines = [line for path in sorted((ROOT / "examples").rglob("*.jsonl")) for line in path.read_text().splitlines()]
        self.assertGreater(len(lines), 70)
        for flow in (["leap-prune"], ["leap-rank"], ["leap-verify"]):
            source = "sampled" if flow == ["leap-verify"] else "verified"
            if flow[0] in TOOLS:
                done = subprocess.run([BIN / flow[0], ROOT / "examples" / "lines" / f"{source}.jsonl"], capture_output=True,
                                      text=True, check=True)
                lines += done.stdout.splitlines()

        def members(value):
            if isinstance(value, list):
                return set().union(*map(members, value))
            if not isinstance(value, dict):
                return set()
            inner = [members(v) for k, v in value.items() if k not in ("args", "kwargs", "expect", "got", "want", "sizes", "benchmark_size")]
            return set(value).union(*inner)

        for line in lines:
            self.assertEqual(members(json.loads(line)) - described, set(), line[:60])

    def test_readme(self):
        text = README.read_text()
        self.assertLess(text.count("\n"), 200)
        for tool in SEVEN:
            self.assertIn(tool, text)
        for target in ("demo", "test"):
            self.assertIn(f"make -f Makefile.examples {target}", text)
        for path in re.findall(r"(?<![\w/.-])(?:examples|scripts|man|tests|lib|tools)/[\w./-]*\w", text):
            self.assertTrue((ROOT / path).exists(), f"README.md names {path}")

    def test_no_unfinished_words(self):
        documents = PAGES + [p for p in ROOT.glob("*.md")] + [p for p in (ROOT / "examples").rglob("*.md")]
        for path in documents:
            self.assertNotRegex(path.read_text(), r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b", path)


if __name__ == "__main__":
    unittest.main()
