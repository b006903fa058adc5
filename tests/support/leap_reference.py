"""leap-prune and leap-rank once more, written from their rules alone, slowly and plainly, as the tests' oracle."""
from math import comb

UNSCORABLE = {"skipped", "problem_error", "reference_error", "harness_error", "device_unavailable"}


def turn_outcome(turn):
    verdict = turn["verdict"]
    if verdict.get("cheat") is True:
        return "failed"
    if verdict["status"] == "ok":
        return "solved"
    return "unscorable" if verdict["status"] in UNSCORABLE else "failed"


def solve_turn(rollout):
    """t*, from 1, or None."""
    for t, turn in enumerate(rollout["turns"], 1):
        if turn_outcome(turn) == "solved":
            return t
    return None


def is_unscorable(rollout):
    return solve_turn(rollout) is None and turn_outcome(rollout["turns"][-1]) == "unscorable"


def threshold(text, n):
    """(value, slack)"""
    return (float(text) * n, 1e-9) if "." in text else (float(text), 0.0)


def prune(record, easy_below="0.5", hopeless_above=None, max_turns=3, stall=0):
    firsts = [turn_outcome(r["turns"][0]) for r in record["rollouts"]]
    n = sum(f != "unscorable" for f in firsts)
    failed = firsts.count("failed")
    low, low_slack = threshold(easy_below, n)
    high, high_slack = threshold(hopeless_above, n) if hopeless_above is not None else (n - 1, 0.0)
    if n < 2:
        decision = "easy" if n == 1 and failed == 0 else "hopeless"
    elif failed < low - low_slack:
        decision = "easy"
    elif failed > high + high_slack:
        decision = "hopeless"
    else:
        decision = "expand"
    record.setdefault("group", {})
    record["group"].update(size=len(firsts), scorable=n, failed_first=failed, decision=decision)
    for rollout in record["rollouts"]:
        turns = rollout["turns"]
        reason = None
        if solve_turn(rollout) is not None:
            rollout["state"] = "solved"
        elif turn_outcome(turns[-1]) == "unscorable":
            reason = "unscorable"
        elif decision != "expand":
            reason = decision
        elif len(turns) >= max_turns:
            reason = "turn_limit"
        elif stall >= 1 and len(turns) >= stall + 1:
            window = turns[-(stall + 1):]
            codes = [t.get("code") for t in window]
            feedbacks = [t["verdict"].get("feedback") for t in window]
            for values in (codes, feedbacks):
                if all(isinstance(v, str) for v in values) and len(set(values)) == 1:
                    reason = "stalled"
        if solve_turn(rollout) is None:
            rollout["state"] = "stopped" if reason else "open"
        if reason:
            rollout["stop_reason"] = reason
        else:
            rollout.pop("stop_reason", None)
    return record


def rank(record, reward="rank", advantage=None, gamma=0.4, credit="turn", recenter=False, k=4):
    advantage = advantage or ("none" if reward == "rank" else "rloo")
    group = [r for r in record["rollouts"] if not is_unscorable(r)]
    n = len(group)
    solves = [solve_turn(r) for r in group]
    horizon = max([len(r["turns"]) for r in record["rollouts"]])
    keys = [0 if s is None else horizon + 1 - s for s in solves]
    c = sum(s is not None for s in solves)
    rewards = []
    for r, s, key in zip(group, solves, keys):
        if reward == "rank":
            value = 0.0 if n == 1 else (sum(o < key for o in keys) - sum(o > key for o in keys)) / (n - 1)
        elif reward == "binary":
            value = float(s is not None)
        elif reward == "kevin":
            value = 0.0
            for t, turn in enumerate(r["turns"]):
                if turn_outcome(turn) == "solved":
                    speedup = turn["verdict"].get("measured", {}).get("speedup") or 0.0
                    value += gamma ** t * (0.3 + speedup)
        else:
            kk = min(k, n)
            value = kk / n if s is not None else kk / n * (1 - comb(n - 1 - c, kk - 1) / comb(n - 1, kk - 1))
        rewards.append(value)

    if n < 2 or (advantage != "none" and max(rewards) == min(rewards)):
        base = [0.0] * n
    elif advantage == "none":
        base = rewards
    else:
        mean = sum(rewards) / n
        if advantage == "mean":
            base = [r - mean for r in rewards]
        elif advantage == "rloo":
            base = [r - (sum(rewards) - r) / (n - 1) for r in rewards]
        else:
            deviation = (sum((r - mean) ** 2 for r in rewards) / (n - 1)) ** 0.5
            base = [(r - mean) / (deviation + 1e-4) for r in rewards]

    credits = []
    for r, s, b in zip(group, solves, base):
        if credit == "turn" and s is not None and b > 0:
            credits.append([gamma ** (s - t) * b if t <= s else 0.0 for t in range(1, len(r["turns"]) + 1)])
        else:
            credits.append([b] * len(r["turns"]))
    if recenter:
        means = []
        for t in range(horizon):
            at = [cr[t] for cr in credits if len(cr) > t]
            means.append(sum(at) / len(at) if at else 0.0)
        credits = [[a - means[t] for t, a in enumerate(cr)] for cr in credits]

    done = iter(zip(rewards, credits))
    for rollout in record["rollouts"]:
        value, turns = (None, [0.0] * len(rollout["turns"])) if is_unscorable(rollout) else next(done)
        rollout["reward"] = value
        for turn, a in zip(rollout["turns"], turns):
            turn["advantage"] = a
    return record


def random_group(rng, name):
    """A verified record with turns, verdicts of all kinds, cheats, speedups, old rewards and states."""
    statuses = ["ok"] * 5 + ["wrong_answer"] * 6 + ["compile_error", "suspect", "timeout", "skipped", "harness_error"]
    rollouts = []
    for _ in range(rng.choice([1, 1, 2, 3, 8, 8, 16])):
        turns = []
        for _ in range(rng.randint(1, 4)):
            verdict = {"status": rng.choice(statuses), "total": 10, "passed": rng.randint(0, 10)}
            if rng.random() < 0.1:
                verdict["cheat"] = rng.random() < 0.7
            if rng.random() < 0.8:
                verdict["feedback"] = rng.choice(["a", "b"])
            if rng.random() < 0.5:
                verdict["measured"] = {"speedup": rng.choice([None, 0.5, 1.25, 3.0])}
            turn = {"code": rng.choice(["x = 1", "x = 2"]), "verdict": verdict, "extra": [1, {"z": "é"}]}
            if rng.random() < 0.2:
                turn["advantage"] = 9
            turns.append(turn)
        rollout = {"turns": turns}
        if rng.random() < 0.3:
            rollout.update(state="stopped", stop_reason="easy")
        if rng.random() < 0.2:
            rollout["reward"] = 7
        rollouts.append(rollout)
    record = {"id": name, "prompt": "p", "rollouts": rollouts, "mine": {"b": 2**63, "a": None}}
    if rng.random() < 0.3:
        record["group"] = {"note": "kept", "decision": "easy"}
    return record
