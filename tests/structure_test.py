#!/usr/bin/env python3
"""The rooms: they depend downwards only, and only the rooms meant for it touch LibTorch, streams or the command line."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
ORDER = ["base", "jsonl", "records", "cli", "sandbox", "cudacpu", "verify", "leap", "decomp", "tokenizer", "http", "sampling",
         "model", "training"]


def sources():
    for path in sorted((ROOT / "lib").rglob("*.[hc]pp")):
        yield path.relative_to(ROOT / "lib").parts[0], path, path.read_text(encoding="utf-8")


class Structure(unittest.TestCase):
    def test_rooms_are_known(self):
        rooms = {room for room, _, _ in sources()}
        self.assertLessEqual({"base", "jsonl", "records", "cli", "leap"}, rooms)
        self.assertLessEqual(rooms, set(ORDER))

    def test_rooms_depend_downwards(self):
        for room, path, text in sources():
            for used in re.findall(r'#include "([a-z]+)/', text):
                self.assertIn(used, ORDER, path)
                self.assertLessEqual(ORDER.index(used), ORDER.index(room), f"{path} includes {used}/")

    def test_cmake_says_the_same(self):
        for room in ORDER:
            listing = ROOT / "lib" / room / "CMakeLists.txt"
            if not listing.exists():
                continue
            named = re.search(rf"leap_room\({room}(?:\s+ROOMS((?:\s+[a-z]+)+))?", listing.read_text())
            self.assertIsNotNone(named, listing)
            for used in (named.group(1) or "").split():
                self.assertLess(ORDER.index(used), ORDER.index(room), listing)

    def test_only_two_rooms_include_libtorch(self):
        for room, path, text in sources():
            if room not in ("model", "training"):
                self.assertIsNone(re.search(r"#include <(torch|ATen|c10)/", text), path)

    def test_streams_and_command_line(self):
        for room, path, text in sources():
            if "worker" in path.parts:  # a program of its own, without threads
                continue
            if room not in ("cli", "jsonl"):
                self.assertIsNone(re.search(r"std::(cout|cerr|cin)|\bf?printf\(|\bputs\(", text), path)
            if room != "cli":
                self.assertIsNone(re.search(r"CLI/CLI.hpp|\bint argc\b", text), path)
            self.assertIsNone(re.search(r"(?<![:\w])(fork|vfork|system|popen)\(", text), path)

    def test_headers_say_their_duty(self):
        for _, path, text in sources():
            if path.suffix == ".hpp":
                self.assertTrue(text.startswith("/// "), path)
                self.assertIn("#pragma once", text, path)

    def test_mains_are_small(self):
        for main in (ROOT / "tools").glob("*.cpp"):
            self.assertLessEqual(len(main.read_text().splitlines()), 160, main)


if __name__ == "__main__":
    unittest.main(argv=["structure_test"])
