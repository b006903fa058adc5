#!/usr/bin/env python3
"""CUDA on the CPU: kernels for each feature against plain computation, in both builds and several orders; faults; what is
not covered. Usage: cudacpu_test.py CUDACPU_KIT"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent / "cudacpu"
KIT = str(pathlib.Path(sys.argv.pop(1)).resolve())
PROGRAMS = ("launches", "forms", "features", "libraries", "thrust", "faults")


RECIPES = {"fast": "fast_all", "checked": "checked_all_lines"}


def commands(step, build, *words):
    out = subprocess.run([KIT, "commands", step, RECIPES[build], *words], check=True, capture_output=True, text=True).stdout
    return [line.strip("\t").split("\t") for line in out.splitlines()]


class Emulation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = cls.scratch.name
        subprocess.run([KIT, "toolchain", cls.directory], check=True)
        (pathlib.Path(cls.directory) / "include/test.h").write_text((HERE / "test.h").read_text())
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(cls.prepare, ("fast", "checked")))
            list(pool.map(lambda job: cls.build(*job), [(n, b) for n in PROGRAMS for b in ("fast", "checked")]))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def run_in(cls, command):
        done = subprocess.run(command, cwd=cls.directory, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(" ".join(command) + "\n" + done.stdout + done.stderr)
        return done.stdout

    @classmethod
    def prepare(cls, build):
        for command in commands("prepare", build):
            cls.run_in(command)

    @classmethod
    def build(cls, name, build):
        text = cls.run_in([KIT, "translate", str(HERE / (name + ".cu"))])
        program = f"{name}_{build}"
        (pathlib.Path(cls.directory) / (program + ".cpp")).write_text(text)
        for command in commands("compile", build, program + ".cpp", program + ".o") + \
                commands("link", build, program, program + ".o"):
            cls.run_in(command)

    def test_headers_stand_alone(self):
        includes = ("cuda_pipeline.h", "curand_kernel.h", "mma.h", "math_constants.h", "leap_cuda/cub.h", "leap_cuda/thrust.h",
                    "leap_cuda/libcu.h", "cuda_awbarrier.h", "cooperative_groups/reduce.h")
        for recipe in ("fast", "checked"):
            for include in includes:
                with self.subTest(recipe=recipe, include=include):
                    (pathlib.Path(self.directory) / "alone.cpp").write_text(f"#include <{include}>\n")
                    out = subprocess.run([KIT, "commands", "compile", recipe, "alone.cpp", "alone.o"], check=True, capture_output=True, text=True)
                    self.run_in([*out.stdout.strip().split("\t"), "-fsyntax-only"])

    def start(self, program, *arguments, **environment):
        return subprocess.run([os.path.join(self.directory, program), *arguments], capture_output=True, text=True,
                              cwd=self.directory, env={**os.environ, **environment}, timeout=300)

    def test_features(self):
        for name in PROGRAMS[:-1]:
            for build, order, workers in (("fast", "0", "1"), ("fast", "1", "1"), ("fast", "7", "2"), ("checked", "0", "1")):
                with self.subTest(name=name, build=build, order=order):
                    done = self.start(f"{name}_{build}", ORDER=order, WORKERS=workers)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ok\n", ""))

    def test_interface(self):
        for build in ("fast", "checked"):
            done = self.start("faults_" + build)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ok\n", ""))

    def test_faults(self):
        """The run ends with a report of this kind, at the line of the kernel or of the place."""
        for what, kind, text in (("null", "device_fault", "null pointer"), ("deadlock", "deadlock", "wait for each other"),
                                 ("mask", "deadlock", "mask"), ("assert", "device_fault", "assertion failed: n < 5"),
                                 ("trap", "device_fault", "trap"), ("stack", "device_fault", "stack"),
                                 ("shared", "compile_error", "65536 bytes"), ("beyond", "out_of_bounds", ""),
                                 ("host_read", "device_fault", "host code"),
                                 ("unconfigured", "compile_error", "must be configured")):
            with self.subTest(what=what):
                done = self.start("faults_fast", what)
                self.assertEqual(done.returncode, 97, done.stdout + done.stderr)
                self.assertIn(f"leap-cuda: {kind}: line ", done.stderr)
                self.assertIn(text, done.stderr)

    def test_compiler_messages_have_the_lines_of_the_source(self):
        path = pathlib.Path(self.directory) / "wrong.cu"
        path.write_text("__global__ void k(int* p,\n  int n) {\n  __shared__ int a[2],\n    b[3];\n  p[0] = undeclared;\n}\n"
                        "void solve(int* p) {\n  k<<<1,\n    2>>>(p,\n    3); nonsense();\n}\n")
        (pathlib.Path(self.directory) / "wrong.cpp").write_text(self.run_in([KIT, "translate", str(path)]))
        done = subprocess.run(commands("compile", "fast", "wrong.cpp", "wrong.o")[0], cwd=self.directory,
                              capture_output=True, text=True)
        self.assertIn("solution.cpp:5:", done.stderr)
        self.assertIn("solution.cpp:10:", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=["cudacpu_test"])
