#!/usr/bin/env python3
"""leap-prune and leap-rank against the plain reference on random groups, and the identities of their formulas."""
import copy
import itertools
import json
import pathlib
import random
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
import leap_reference as reference  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()


def run(tool, records, *flags):
    text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)
    done = subprocess.run([BIN / tool, *flags], input=text.encode(), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def same(a, b):
    if isinstance(a, float) and isinstance(b, (int, float)) and not isinstance(b, bool):
        return abs(a - b) <= 1e-9
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return a == b and isinstance(a, bool) == isinstance(b, bool)


class Leap(unittest.TestCase):
    def setUp(self):
        rng = random.Random(12)
        self.groups = [reference.random_group(rng, f"g{i}") for i in range(400)]

    def compare(self, tool, function, flags, **options):
        got = run(tool, self.groups, *flags)
        want = [function(copy.deepcopy(g), **options) for g in self.groups]
        for g, w in zip(got, want):
            self.assertTrue(same(w, g), f"{flags} {g['id']}")
        self.assertEqual(len(got), len(want))

    def test_prune(self):
        for low, high, turns, stall in itertools.product(
                ["0.5", "0", "3", "1.0", "0.25"], [None, "4", "1.0", "0.75", "0"], [3, 2], [0, 1, 2]):
            flags = ["--easy-below", low, "--max-turns", str(turns), "--stall", str(stall)]
            if high is not None:
                flags += ["--hopeless-above", high]
            self.compare("leap-prune", reference.prune, flags, easy_below=low, hopeless_above=high, max_turns=turns,
                         stall=stall)

    def test_rank(self):
        for reward, advantage, credit, recenter, gamma in itertools.product(
                ["rank", "binary", "kevin", "passk"], [None, "none", "mean", "rloo", "grpo"], ["turn", "trajectory"],
                [False, True], [0.4, 1.0]):
            flags = ["--reward", reward, "--credit", credit, "--gamma", str(gamma)]
            flags += ["--advantage", advantage] if advantage else []
            flags += ["--recenter"] if recenter else []
            self.compare("leap-rank", reference.rank, flags, reward=reward, advantage=advantage, credit=credit,
                         recenter=recenter, gamma=gamma)
        for k in (1, 2, 8):
            self.compare("leap-rank", reference.rank, ["--reward", "passk", "--k", str(k)], reward="passk", k=k)

    def test_identities(self):
        """Rank rewards sum to 0; closed forms; RLOO on one turn; G = 1 gives 0."""
        for record in run("leap-rank", self.groups):
            rewards = [r["reward"] for r in record["rollouts"] if r["reward"] is not None]
            self.assertAlmostEqual(sum(rewards), 0, delta=1e-9)
            if len(rewards) == 1:
                self.assertEqual(rewards, [0])
        for p, s, f in itertools.product(range(4), range(4), range(4)):
            g = p + s + f
            if g < 2:
                continue
            fail, ok = {"verdict": {"status": "wrong_answer"}}, {"verdict": {"status": "ok"}}
            turns = [[ok]] * p + [[fail, ok]] * s + [[fail, fail]] * f
            record = {"id": "x", "rollouts": [{"turns": t} for t in turns]}
            got = [r["reward"] for r in run("leap-rank", [record])[0]["rollouts"]]
            want = [(s + f) / (g - 1)] * p + [(f - p) / (g - 1)] * s + [-(p + s) / (g - 1)] * f
            for a, b in zip(got, want):
                self.assertAlmostEqual(a, b, delta=1e-9)
        one_turn = [{"id": g["id"], "rollouts": [{"turns": r["turns"][:1]} for r in g["rollouts"]]} for g in self.groups]
        rank = run("leap-rank", one_turn)
        rloo = run("leap-rank", one_turn, "--reward", "binary", "--advantage", "rloo")
        for a, b in zip(rank, rloo):
            for x, y in zip(a["rollouts"], b["rollouts"]):
                self.assertAlmostEqual(x["turns"][0]["advantage"], y["turns"][0]["advantage"], delta=1e-9)

    def test_pure(self):
        """Run again, with other options in between, on their own output: the last options decide."""
        once = run("leap-prune", run("leap-prune", self.groups), "--easy-below", "0", "--hopeless-above", "1.0")
        want = run("leap-prune", self.groups, "--easy-below", "0", "--hopeless-above", "1.0")
        self.assertEqual([g["group"]["decision"] for g in once], [g["group"]["decision"] for g in want])
        self.assertEqual([[(r["state"], r.get("stop_reason")) for r in g["rollouts"]] for g in once],
                         [[(r["state"], r.get("stop_reason")) for r in g["rollouts"]] for g in want])
        self.assertEqual(run("leap-rank", run("leap-rank", self.groups, "--reward", "kevin")),
                         run("leap-rank", run("leap-rank", self.groups)))

    def test_speed_and_partial(self):
        def rollout(status, speedup=None, passed=0, std=0.0):
            measured = {"speedup": speedup, "candidate_us": {"mean": 100.0, "std": std}}
            return {"turns": [{"verdict": {"status": status, "passed": passed, "total": 10, "measured": measured}}]}

        group = {"id": "x", "rollouts": [rollout("ok", 2.0), rollout("ok", 1.0), rollout("ok", 1.04),
                                         rollout("wrong_answer", passed=5), rollout("wrong_answer", passed=2)]}
        plain = [r["reward"] for r in run("leap-rank", [group])[0]["rollouts"]]
        self.assertEqual(plain, [0.5, 0.5, 0.5, -0.75, -0.75])
        speed = [r["reward"] for r in run("leap-rank", [group], "--by", "speed")[0]["rollouts"]]
        self.assertEqual(speed, [0.75, 0.375, 0.375, -0.75, -0.75])
        partial = [r["reward"] for r in run("leap-rank", [group], "--partial")[0]["rollouts"]]
        self.assertEqual(partial, [0.5, 0.5, 0.5, -0.625, -0.875])
        noisy = {"id": "x", "rollouts": [rollout("ok", 2.0, std=150.0), rollout("ok", 1.0)]}
        self.assertEqual([r["reward"] for r in run("leap-rank", [noisy], "--by", "speed")[0]["rollouts"]], [0, 0])

    def test_equal_rewards_give_no_advantage(self):
        """Whatever rounding does to their mean: 0.3 + 0.3 + 0.3 is not 0.9, and grpo divides by a standard deviation."""
        measured = {"speedup": 1.1, "candidate_us": {"mean": 100.0, "std": 1.0}}
        for count in (1, 3, 6, 11):
            group = {"id": "x", "rollouts": [{"turns": [{"verdict": {"status": "ok", "passed": 1, "total": 1,
                                                                     "measured": measured}}]}] * count}
            for reward, advantage in itertools.product(["rank", "binary", "kevin", "passk"], ["none", "mean", "rloo", "grpo"]):
                if (reward, advantage) not in (("binary", "none"), ("kevin", "none"), ("passk", "none")):
                    ranked = run("leap-rank", [group], "--reward", reward, "--advantage", advantage)[0]["rollouts"]
                    self.assertEqual([t["advantage"] for r in ranked for t in r["turns"]], [0] * count, (reward, advantage))

    def test_drop_flat(self):
        kept = run("leap-rank", self.groups, "--drop-flat")
        want = [g for g in run("leap-rank", self.groups)
                if any(t["advantage"] for r in g["rollouts"] for t in r["turns"])]
        self.assertTrue(0 < len(kept) < len(self.groups))
        self.assertEqual(kept, want)


if __name__ == "__main__":
    unittest.main()
