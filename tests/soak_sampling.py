#!/usr/bin/env python3
"""10,000 requests to two servers of which three answers in ten are bad, killed twice on the way and resumed: every record
is there once, with what a sound server says. usage: soak_sampling.py BUILD/bin [requests]"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from fake_server import FAULTS, FakeServer, completion_of, digest  # noqa: E402

BIN = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/bin").resolve()
REQUESTS = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000


def chaos(prompt, seed, attempt):
    bits = digest("chaos", prompt, seed)
    return FAULTS[bits[1] % len(FAULTS)] if bits[0] % 10 < 3 and attempt < 1 + bits[2] % 2 else None


def main():
    started, load = time.time(), os.getloadavg()
    records = [{"id": f"p{i}", "prompt": f"problem {i}"} for i in range(REQUESTS // 4)]
    with tempfile.TemporaryDirectory(prefix="leap-soak-") as name:
        source, out = pathlib.Path(name, "in.jsonl"), pathlib.Path(name, "out.jsonl")
        source.write_text("".join(json.dumps(r) + "\n" for r in records))
        with FakeServer(fault=chaos, stall_s=1.5) as a, FakeServer(fault=chaos, stall_s=1.5, capacity=24) as b:
            command = [BIN / "leap-sample", "--model", "m", "--url", a.url, "--url", b.url, "-n", "4", "--max-tokens", "16",
                       "--timeout", "1", "--tries", "40", "--concurrency", "48", "--resume", out, source]
            for part in (0.3, 0.6):
                process = subprocess.Popen(command, stderr=subprocess.PIPE)
                while len(a.requests) + len(b.requests) < part * REQUESTS and process.poll() is None:
                    time.sleep(0.05)
                process.kill()
                process.communicate()
            done = subprocess.run(command, capture_output=True, check=False)
            asked = a.requests + b.requests
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), done
        got = [json.loads(line) for line in out.read_text().splitlines()]
    assert [r["id"] for r in got] == [r["id"] for r in records], "records lost, doubled or out of order"
    seeds = {}
    for _, body, _ in asked:
        seeds.setdefault(body["prompt"], set()).add(body["seed"])
    for record in got:
        assert len(record["rollouts"]) == 4 == len(seeds[record["prompt"]]), record["id"]
        sound = [completion_of(record["prompt"], seed, 16) for seed in seeds[record["prompt"]]]
        for rollout in record["rollouts"]:
            (turn,) = rollout["turns"]
            key = turn["completion"], turn["completion_ids"], turn["logprobs"], turn["finish_reason"]
            assert key in sound, record["id"]
            sound.remove(key)
    faults = sum(fault is not None for _, _, fault in asked)
    print(json.dumps({"requests": len(asked), "bad_answers": faults, "turned_away": b.turned_away, "records": len(got),
                      "seconds": round(time.time() - started, 1), "load_before": load, "load_after": os.getloadavg()}))


if __name__ == "__main__":
    main()
