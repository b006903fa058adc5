#!/usr/bin/env python3
"""CUDA on the CPU by itself: threads a second of a vector addition, GFLOP/s of a tiled matrix product (by CPU time, one
worker), how much sooner that product is done with a worker on each of two cores, and the CPU time of compiling and linking against `nvcc -c` of the same source where nvcc is found.

Prints one line of JSON with the machine's load. Usage: cudacpu.py --kit BUILD/tests/cudacpu_kit [--nvcc PATH]
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import tempfile

SOURCE = r"""
#include <cuda_runtime.h>
#include <cstdio>
#include <ctime>
#ifdef SCALING
#include "leap_cuda/hooks.h"
#endif
__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
#define TILE 16
__global__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float x[TILE][TILE], y[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n; t += TILE) {
    x[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    y[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; ++k) sum += x[threadIdx.y][k] * y[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
int main() {
  const int n = 1 << 20, m = 256;
  float *a, *b, *c;
  cudaMalloc(&a, 4 * n); cudaMalloc(&b, 4 * n); cudaMalloc(&c, 4 * n);
  cudaMemset(a, 0, 4 * n); cudaMemset(b, 0, 4 * n);
  add<<<n / 256, 256>>>(a, b, c, n);
  clock_t begin = clock();
  for (int k = 0; k < 10; ++k) add<<<n / 256, 256>>>(a, b, c, n);
  double seconds = double(clock() - begin) / CLOCKS_PER_SEC;
  printf("%g ", 10.0 * n / seconds);
  begin = clock();
  product<<<dim3(m / TILE, m / TILE), dim3(TILE, TILE)>>>(a, b, c, m);
  seconds = double(clock() - begin) / CLOCKS_PER_SEC;
  printf("%g ", 2.0 * m * m * m / seconds / 1e9);
#ifdef SCALING
  double best[2] = {1e9, 1e9};
  for (int k = 0; k < 10; ++k) {
    leap_cuda::Settings settings;
    settings.workers = 1 + k % 2;
    leap_cuda::begin(settings);
    const double from = now();
    product<<<dim3(m / TILE, m / TILE), dim3(TILE, TILE)>>>(a, b, c, m);
    best[k % 2] = fmin(best[k % 2], now() - from);
  }
  printf("%g\n", best[0] / best[1]);
#endif
}
"""


def cpu_of(command, directory):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kit", required=True)
    parser.add_argument("--nvcc", default=shutil.which("nvcc"))
    options = parser.parse_args()
    kit = os.path.abspath(options.kit)

    def commands(*words):
        out = subprocess.run([kit, "commands", *words], check=True, capture_output=True, text=True).stdout
        return [line.strip("\t").split("\t") for line in out.splitlines()]

    with tempfile.TemporaryDirectory() as directory:
        load = os.getloadavg()[0]
        source = pathlib.Path(directory) / "source.cu"
        source.write_text(SOURCE)
        subprocess.run([kit, "toolchain", directory], check=True)
        line = {"bench": "cudacpu"}
        line["prepare_cpu_s"] = round(sum(cpu_of(c, directory) for b in ("fast", "checked") for c in commands("prepare", b)), 2)
        text = subprocess.run([kit, "translate", str(source)], check=True, capture_output=True, text=True).stdout
        (pathlib.Path(directory) / "source.cpp").write_text(text)
        total = 0
        for build in ("fast", "checked"):
            steps = commands("compile", build, "source.cpp", build + ".o") + commands("link", build, build + "_run", build + ".o")
            line[f"compile_{build}_cpu_s"] = round(statistics.median(
                sum(cpu_of(c, directory) for c in steps) for _ in range(3)), 3)
            total += line[f"compile_{build}_cpu_s"]
        scaling = pathlib.Path(directory) / "scaling.cu"
        scaling.write_text("#define SCALING\n" + SOURCE)
        text = subprocess.run([kit, "translate", str(scaling)], check=True, capture_output=True, text=True).stdout
        (pathlib.Path(directory) / "scaling.cpp").write_text(text)
        for step in commands("compile", "fast", "scaling.cpp", "scaling.o") + commands("link", "fast", "scaling_run", "scaling.o"):
            cpu_of(step, directory)
        runs = [subprocess.run(["./scaling_run"], cwd=directory, check=True, capture_output=True, text=True).stdout.split()
                for _ in range(5)]
        line["add_threads_per_s"] = round(statistics.median(float(r[0]) for r in runs))
        line["product_gflop_per_s"] = round(statistics.median(float(r[1]) for r in runs), 3)
        line["two_workers_ratio"] = max(round(float(r[2]), 2) for r in runs)
        if options.nvcc:
            line["nvcc_cpu_s"] = round(statistics.median(
                cpu_of([options.nvcc, "-c", "-arch=sm_80", "-o", "nvcc.o", "source.cu"], directory) for _ in range(3)), 3)
            line["compile_ratio"] = round(line["nvcc_cpu_s"] / total, 2)
        line["load"] = [round(load, 2), round(os.getloadavg()[0], 2)]
    print(json.dumps(line))


if __name__ == "__main__":
    main()
