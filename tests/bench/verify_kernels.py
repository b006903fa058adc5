#!/usr/bin/env python3
"""CPU seconds a CUDA kernel in leap-verify, cold (both builds, all runs) and with a warm cache, against `nvcc -c` of the same source.

The kernels are the known-good solutions of examples/problems/kernels.jsonl. nvcc: --nvcc, on the path, in
/usr/local/cuda/bin, or installed from its wheels into --venv. Cold counts what the first kernel waits for (the runtime's
compilation) apart, and everything else: supervisors, compilers, runs and references. Prints one line of JSON with the load.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEELS = ["nvidia-cuda-nvcc-cu12", "nvidia-cuda-runtime-cu12", "nvidia-cuda-cccl-cu12"]


def find_nvcc(options):
    for path in (options.nvcc, shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"):
        if path and os.access(path, os.X_OK):
            return [path]
    if not options.venv:
        return None
    subprocess.run([sys.executable, "-m", "venv", options.venv], check=True)
    subprocess.run([f"{options.venv}/bin/pip", "install", "-q", *WHEELS], check=True)
    home = next(pathlib.Path(options.venv).glob("lib/python*/site-packages/nvidia"))
    return [str(home / "cuda_nvcc/bin/nvcc"), "-I", str(home / "cuda_runtime/include"), "-I", str(home / "cuda_cccl/include")]


def cpu_seconds(command, **more):
    """(CPU seconds of a command and all its children, its result)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, check=True, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--nvcc")
    parser.add_argument("--venv", help="make a virtual environment with nvcc's wheels here, if there is no nvcc")
    parser.add_argument("--count", type=int, default=40)
    options = parser.parse_args()
    records = [json.loads(line) for line in (ROOT / "examples/problems/kernels.jsonl").open()]
    records = records[:: max(1, len(records) // options.count)][: options.count]
    tool = os.path.join(options.bin, "leap-verify")
    with tempfile.TemporaryDirectory() as folder:
        lines, sources = [], []
        for k, record in enumerate(records):
            code = record["task"]["solution"]
            record["rollouts"] = [{"turns": [{"code": code}]}]
            lines.append(json.dumps(record) + "\n")
            sources.append(pathlib.Path(folder, f"{k}.cu"))
            sources[-1].write_text("#include <cuda_runtime.h>\n" + code)
        text = "".join(lines).encode()
        # The runtime is compiled into this cache; the kernels are new to it.
        cache = os.path.join(folder, "cache")
        first = json.loads(lines[0])
        # One that gets by with few headers, one that does not.
        first["rollouts"][0]["turns"] = [{"code": f"{line}\n" + first["task"]["solution"]}
                                         for line in ("// another text", "#include <iostream>")]
        start_s, _ = cpu_seconds([tool, "--cache", cache], input=json.dumps(first).encode() + b"\n")
        cold_s, done = cpu_seconds([tool, "--cache", cache], input=text)
        ok = done.stdout.count(b'"status":"ok"')
        warm_s, _ = cpu_seconds([tool, "--cache", cache], input=text)
        nvcc, nvcc_s = find_nvcc(options), 0.0
        if nvcc:
            for source in sources:
                nvcc_s += cpu_seconds([*nvcc, "-std=c++17", "-arch=sm_80", "-c", str(source), "-o", f"{folder}/out.o"])[0]
    n = len(records)
    out = {"bench": "verify_kernels", "kernels": n, "ok": ok, "first_cpu_s": round(start_s, 2),
           "cold_cpu_s": round(cold_s / n, 3), "warm_cpu_s": round(warm_s / n, 4)}
    if nvcc:
        out |= {"nvcc_cpu_s": round(nvcc_s / n, 3), "ratio_cold": round(nvcc_s / cold_s, 2), "ratio_warm": round(nvcc_s / warm_s, 1)}
    print(json.dumps(out | {"load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
