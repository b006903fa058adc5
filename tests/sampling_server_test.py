#!/usr/bin/env python3
"""leap-sample against servers that misbehave: every record finished or reported, none twice, none lost."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from fake_server import FAULTS, FakeServer, completion_of, digest  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/bin").resolve()
KEY = "sk-secret-of-the-test"
CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
          "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def problems(count):
    return [{"id": f"p{i}", "prompt": f"problem {i}: è\n", "task": {"language": "python"}, "extra": [i, None]}
            for i in range(count)]


def lines(records):
    return b"".join(json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in records)


def command(urls, *flags):
    urls = [urls] if isinstance(urls, str) else urls
    return [BIN / "leap-sample", "--model", "m", *[f for u in urls for f in ("--url", u)], *flags]


def run(urls, *flags, stdin=b"", **env):
    return subprocess.run(command(urls, *flags), input=stdin, capture_output=True, timeout=120,
                          env={**os.environ, "OPENAI_API_KEY": "", **env})


def records_of(data):
    assert data == b"" or data.endswith(b"\n"), data[-80:]
    return [json.loads(line) for line in data.splitlines()]


def chaos(prompt, seed, attempt):
    """Three requests of ten fail once or twice, each in its own way."""
    bits = digest("chaos", prompt, seed)
    return FAULTS[bits[1] % len(FAULTS)] if bits[0] % 10 < 3 and attempt < 1 + bits[2] % 2 else None


class Servers(unittest.TestCase):
    maxDiff = None

    def clean(self, count, *flags):
        with FakeServer() as server:
            done = run(server.url, *flags, stdin=lines(problems(count)))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def test_record(self):
        with FakeServer() as server:
            done = run(server.url, "-n", "3", "--max-tokens", "9", "--temperature", "0.5", "--seed", "7",
                       "--stop", "a\nb", "--stop", "c", stdin=lines(problems(2)))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        out = records_of(done.stdout)
        self.assertEqual([list(r) for r in out], [["id", "prompt", "task", "extra", "rollouts"]] * 2)
        seeds = [body["seed"] for _, body, _ in server.requests]
        self.assertEqual(len(set(seeds)), 6)
        for path, body, _ in server.requests:
            self.assertEqual(path, "/v1/completions")
            wanted = {"model": "m", "n": 1, "stream": False, "max_tokens": 9, "temperature": 0.5, "top_p": 1, "top_k": -1,
                      "min_p": 0, "presence_penalty": 0, "frequency_penalty": 0, "repetition_penalty": 1,
                      "stop": ["a\nb", "c"], "logprobs": 1, "return_token_ids": True}
            self.assertEqual({k: body.get(k) for k in wanted}, wanted)
        for record in out:
            self.assertEqual(len(record["rollouts"]), 3)
            for rollout in record["rollouts"]:
                self.assertEqual(list(rollout), ["turns", "state"])
                self.assertEqual(rollout["state"], "open")
                (turn,) = rollout["turns"]
                self.assertEqual(list(turn), ["completion", "prompt_ids", "completion_ids", "logprobs", "finish_reason",
                                              "sampling"])
                self.assertEqual(turn["sampling"], {
                    "model": "m", "weight_version": 0, "temperature": 0.5, "top_p": 1.0, "top_k": 0, "max_tokens": 9, "seed": 7,
                    "stop": ["a\nb", "c"], "logprobs_mode": "raw"})
                self.assertIn((turn["completion"], turn["completion_ids"], turn["logprobs"], turn["finish_reason"]),
                              [completion_of(record["prompt"], seed, 9) for seed in seeds])
            texts = {r["turns"][0]["completion"] for r in record["rollouts"]}
            self.assertEqual(len(texts), 3)

    def test_chaos(self):
        """200 records through every fault give what a sound server gives."""
        expected = self.clean(200, "-n", "2")
        with FakeServer(fault=chaos) as server:
            done = run(server.url, "-n", "2", "--timeout", "1", stdin=lines(problems(200)))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout, expected)
        self.assertEqual({f for _, _, f in server.requests}, {None, *FAULTS})
        with FakeServer(fault=chaos) as server:
            shuffled = run(server.url, "-n", "2", "--timeout", "1", "--unordered", stdin=lines(problems(50)))
        self.assertEqual(shuffled.returncode, 0)
        self.assertEqual(sorted(shuffled.stdout.splitlines()), sorted(expected.splitlines()[:50]))

    def test_hopeless_records_are_reported_and_resumed(self):
        """Records that never work pass on unchanged; a resumed run does them."""
        expected = self.clean(40, "-n", "2")

        def fault(prompt, seed, attempt):
            number = int(prompt.split()[1].rstrip(":"))
            return {3: "malformed", 11: "500", 12: "400", 25: "lengths"}.get(number)

        with tempfile.TemporaryDirectory() as folder:
            out, source = pathlib.Path(folder, "out.jsonl"), pathlib.Path(folder, "in.jsonl")
            source.write_bytes(lines(problems(40)))
            for ordered in (["--unordered"], []):
                out.write_bytes(b"")
                with FakeServer(fault=fault) as server:
                    done = run(server.url, "-n", "2", "--tries", "2", "--keep-going", "--resume", out, source, *ordered)
                self.assertEqual((done.returncode, done.stdout), (1, b""))
                self.assertEqual(sorted(int(m.split()[2].rstrip(":")) for m in done.stderr.decode().splitlines()),
                                 [4, 12, 13, 26])
                self.assertEqual([path for path, body, _ in server.requests if "problem 12:" in body["prompt"]],
                                 ["/v1/completions"] * 2)  # 400 is not tried again
                records = records_of(out.read_bytes())
                self.assertEqual(sorted(r["id"] for r in records), sorted(p["id"] for p in problems(40)))
                self.assertEqual([r["id"] for r in records if "rollouts" not in r and r not in problems(40)], [])
                self.assertEqual(sum("rollouts" not in r for r in records), 4)
                with FakeServer() as server:
                    done = run(server.url, "-n", "2", "--resume", out, source, *ordered)
                self.assertEqual((done.returncode, done.stderr, done.stdout), (0, b"", b""))
                self.assertLess(len(server.requests), 80)
                self.assertEqual(sorted(out.read_bytes().splitlines()), sorted(expected.splitlines()))
                if not ordered:
                    self.assertEqual(out.read_bytes(), expected)
            # Without --keep-going such a record stops the run.
            with FakeServer(fault=fault) as server:
                done = run(server.url, "--tries", "1", source)
            self.assertEqual(done.returncode, 3)
            self.assertRegex(done.stderr.decode(), r"^leap-sample: line \d+: [^\n]+\n$")
            self.assertLessEqual(len(records_of(done.stdout)), 3)

    def test_gone(self):
        """A server that goes away and stays away is exit 3, with what was finished kept."""
        expected = self.clean(60, "-n", "2")
        with tempfile.TemporaryDirectory() as folder:
            out, source = pathlib.Path(folder, "out.jsonl"), pathlib.Path(folder, "in.jsonl")
            source.write_bytes(lines(problems(60)))
            rounds = 0
            for limit in (30, 50, None):
                server = FakeServer()
                def fault(prompt, seed, attempt, server=server, limit=limit):
                    if limit is not None and len(server.requests) >= limit:
                        server.stopping.set()
                        return "reset"
                    return None
                server.fault = fault
                process = subprocess.Popen(command(server.url, "-n", "2", "--server-wait", "0.3", "--concurrency", "4",
                                                   "--resume", out, source), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                if limit is not None:
                    server.stopping.wait(60)
                    server.server.shutdown()
                    server.server.server_close()
                stdout, stderr = process.communicate(timeout=60)
                rounds += 1
                if limit is None:
                    server.stop()
                    self.assertEqual((process.returncode, stderr), (0, b""))
                else:
                    self.assertEqual(process.returncode, 3)
                    self.assertRegex(stderr.decode(), r"^leap-sample: no server can be reached: [^\n]+\n$")
                    kept = out.read_bytes()
                    self.assertGreater(len(kept), 0)
                    self.assertTrue(expected.startswith(kept) and kept.endswith(b"\n"))
            self.assertEqual(rounds, 3)
            self.assertEqual(out.read_bytes(), expected)

    def test_nobody_there(self):
        server = FakeServer()
        server.stop()
        done = run(server.url, "--server-wait", "0", stdin=lines(problems(1)))
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertIn(b"no server can be reached", done.stderr)

    def test_several_servers(self):
        """Work is shared; one that is dead is left out."""
        expected = self.clean(40)
        dead = FakeServer()
        dead.stop()
        with FakeServer() as a, FakeServer() as b:
            done = run([a.url, dead.url + "/v1/", b.url + "/v1"], stdin=lines(problems(40)))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, expected, b""))
        self.assertGreater(len(a.requests), 5)
        self.assertGreater(len(b.requests), 5)
        self.assertEqual(len(a.requests) + len(b.requests), 40)

    def test_signal(self):
        """The first signal finishes what is in flight; the resumed file is the undisturbed one."""
        expected = self.clean(60)
        with tempfile.TemporaryDirectory() as folder:
            out, source = pathlib.Path(folder, "out.jsonl"), pathlib.Path(folder, "in.jsonl")
            source.write_bytes(lines(problems(60)))
            with FakeServer(delay_s=0.1) as server:
                process = subprocess.Popen(command(server.url, "--concurrency", "4", "--resume", out, source))
                while len(server.requests) < 10:
                    self.assertIsNone(process.poll())
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(60), 130)
                asked = len(server.requests)
            self.assertLess(asked, 60)
            self.assertTrue(expected.startswith(out.read_bytes()))
            self.assertEqual(len(records_of(out.read_bytes())), asked)
            with FakeServer() as server:
                self.assertEqual(run(server.url, "--resume", out, source).returncode, 0)
                self.assertEqual(len(server.requests), 60 - asked)
            self.assertEqual(out.read_bytes(), expected)

    def test_killed(self):
        expected = self.clean(60, "-n", "2")
        with tempfile.TemporaryDirectory() as folder:
            out, source = pathlib.Path(folder, "out.jsonl"), pathlib.Path(folder, "in.jsonl")
            source.write_bytes(lines(problems(60)))
            for limit in (20, 40):
                with FakeServer(delay_s=0.02) as server:
                    process = subprocess.Popen(command(server.url, "-n", "2", "--concurrency", "4", "--resume", out, source))
                    while len(server.requests) < limit:
                        self.assertIsNone(process.poll())
                    process.kill()
                    process.wait()
                out.write_bytes(out.read_bytes()[:-5])  # cut mid-line
            with FakeServer() as server:
                self.assertEqual(run(server.url, "-n", "2", "--resume", out, source).returncode, 0)
            self.assertEqual(out.read_bytes(), expected)

    def test_line_is_written_while_input_is_open(self):
        with FakeServer() as server:
            process = subprocess.Popen(command(server.url), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for problem in problems(3):
                process.stdin.write(lines([problem]))
                process.stdin.flush()
                self.assertEqual(json.loads(process.stdout.readline())["id"], problem["id"])
            process.stdin.close()
            self.assertEqual(process.wait(60), 0)
            process.stdout.close()

    def test_key(self):
        with FakeServer(key=KEY) as server:
            good = run(server.url, stdin=lines(problems(2)), OPENAI_API_KEY=KEY)
            other = run(server.url, "--api-key-env", "MY_KEY", stdin=lines(problems(2)), MY_KEY=KEY)
            bad = run(server.url, stdin=lines(problems(2)), OPENAI_API_KEY="sk-wrong")
            none = run(server.url, stdin=lines(problems(2)))
        self.assertEqual((good.returncode, other.returncode, other.stdout), (0, 0, good.stdout))
        self.assertNotIn(KEY.encode(), good.stdout + good.stderr)
        for wrong in (bad, none):
            self.assertEqual((wrong.returncode, wrong.stdout), (3, b""))
            self.assertIn(b"401", wrong.stderr)
            self.assertNotIn(b"sk-wrong", wrong.stderr)

    def test_kinds(self):
        """Ids where the server gives them; fields it refuses are left out."""
        chat = [{"id": "c", "prompt": [{"role": "user", "content": "hi <|im_end|>"}]}]
        for kind, has_ids in (("vllm", True), ("llama-oai", True), ("openai", False), ("llama-python", False)):
            for prompt, path in ((problems(1), "/v1/completions"), (chat, "/v1/chat/completions")):
                with FakeServer(kind=kind) as server:
                    done = run(server.url, "--concurrency", "1", stdin=lines(prompt))
                self.assertEqual((done.returncode, done.stderr), (0, b""), (kind, path))
                self.assertEqual({p for p, _, _ in server.requests}, {path})
                turn = records_of(done.stdout)[0]["rollouts"][0]["turns"][0]
                text, ids, logprobs, _ = completion_of(prompt[0]["prompt"], server.requests[-1][1]["seed"], 512)
                self.assertEqual(turn["completion"], text)
                self.assertEqual(turn.get("completion_ids"), ids if has_ids else None)
                self.assertEqual("logprobs" in turn, has_ids)
                self.assertEqual("logprobs_mode" in turn["sampling"], has_ids)
                self.assertEqual("prompt_ids" in turn, kind == "vllm")
        # prompt_ids of the record are the prompt, exactly.
        with FakeServer() as server:
            done = run(server.url, stdin=lines([{"id": "i", "prompt": "x", "prompt_ids": [5, 6, 7]}]))
        self.assertEqual(server.requests[0][1]["prompt"], [5, 6, 7])
        self.assertEqual(records_of(done.stdout)[0]["rollouts"][0]["turns"][0]["prompt_ids"], [5, 6, 7])

    def test_routes_of_their_own(self):
        """SGLang and llama.cpp are recognised, or named, and asked where they take and give ids."""
        ids = {"id": "i", "prompt": "x", "prompt_ids": [5, 6, 7]}
        chat = {"id": "c", "prompt": [{"role": "user", "content": "hi"}]}
        flags = ["--temperature", "0.5", "--top-k", "3", "--max-tokens", "9", "--stop", "zz"]
        for kind, path, mode in (("sglang", "/generate", "scaled"), ("llama", "/completion", "raw")):
            with FakeServer(kind=kind) as server:
                found = run([server.url, server.url + "/v1"], *flags, stdin=lines([*problems(1), ids, chat]))
                told = run(server.url, "--api", kind, *flags, stdin=lines([*problems(1), ids, chat]))
                wrong = run(server.url, "--api", "openai", stdin=lines(problems(1)))
            self.assertEqual((found.returncode, told.returncode, told.stdout), (0, 0, found.stdout), found.stderr)
            self.assertEqual((wrong.returncode, wrong.stdout), (3, b""))
            self.assertEqual(sorted(p for p, _, _ in server.requests), sorted(2 * [path, path, "/v1/chat/completions"]))
            body = next(b for p, b, _ in server.requests if [5, 6, 7] in (b.get("input_ids"), b.get("prompt")))
            sampling = body["sampling_params"] if kind == "sglang" else body
            self.assertEqual((sampling["temperature"], sampling["top_p"], sampling["top_k"], sampling["min_p"]), (0.5, 1, 3, 0))
            self.assertEqual(sampling["stop"], ["zz"])
            for record in records_of(found.stdout)[:2]:
                turn = record["rollouts"][0]["turns"][0]
                prompts = [record.get("prompt_ids", record["prompt"])]
                seeds = [(b.get("sampling_params") or {}).get("sampling_seed", b.get("seed")) for _, b, _ in server.requests]
                self.assertIn((turn["completion"], turn["completion_ids"], turn["logprobs"], turn["finish_reason"]),
                              [completion_of(p, s, 9) for p in prompts for s in seeds])
                self.assertEqual(turn["sampling"]["logprobs_mode"], mode)

    def test_busy_servers_are_spared(self):
        """Requests in flight adapt to what a server takes: one that answers 429 above 4 is soon asked that much at a time."""
        expected = self.clean(300)
        with FakeServer(capacity=4, delay_s=0.01) as small, FakeServer(delay_s=0.01) as large:
            done = run([small.url, large.url], "--tries", "50", stdin=lines(problems(300)))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, expected, b""))
        self.assertGreater(len(small.requests), 10)
        self.assertGreater(len(large.requests), len(small.requests))
        self.assertLess(small.turned_away, 100)

    def test_later_turns(self):
        """Open rollouts with a verdict get a turn whose prompt is the conversation and the feedback."""
        def judged(text, status):
            return {"completion": text, "verdict": {"status": status, "feedback": f"because {text}", "passed": 1, "total": 4}}
        system = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
        rollouts = [{"turns": [judged("A", "ok")], "state": "solved"},
                    {"turns": [judged("B", "crash")], "state": "open"},
                    {"turns": [judged("C", "crash")], "state": "stopped", "stop_reason": "easy"},
                    {"turns": [judged("D", "crash"), judged("E", "timeout")], "more": 1},
                    {"turns": [{"completion": "F"}], "state": "open"}]
        record = {"id": "m", "prompt": system, "rollouts": rollouts}
        nothing = {"id": "n", "prompt": 3, "rollouts": rollouts[:1] + rollouts[2:3] + rollouts[4:]}
        with FakeServer() as server, tempfile.NamedTemporaryFile("w") as form:
            form.write("{turn} {status} {feedback} {passed}/{total} {other}\n")
            form.flush()
            done = run(server.url, "-n", "9", "--feedback-template", form.name, stdin=lines([record, nothing]))
            bodies = [b["messages"] for _, b, _ in server.requests]
            last = run(server.url, "--history", "last", stdin=lines([record]))
            shown = [b["messages"] for _, b, _ in server.requests][len(bodies):]
            text = run(server.url, stdin=lines([{**record, "prompt": "q:"}]))
            raw = [b["prompt"] for p, b, _ in server.requests if p == "/v1/completions"]
        self.assertEqual((done.returncode, done.stderr, last.returncode, text.returncode), (0, b"", 0, 0))
        out = records_of(done.stdout)
        self.assertEqual(out[1], nothing)
        self.assertEqual([len(r["turns"]) for r in out[0]["rollouts"]], [1, 2, 1, 3, 1])
        self.assertEqual([list(r)[-1] for r in out[0]["rollouts"]], ["state", "state", "stop_reason", "more", "state"])
        said = lambda a, u: [{"role": "assistant", "content": a}, {"role": "user", "content": u}]
        self.assertCountEqual(bodies, [
            system + said("B", "1 crash because B 1/4 {other}"),
            system + said("D", "1 crash because D 1/4 {other}") + said("E", "2 timeout because E 1/4 {other}")])
        self.assertEqual(sorted(m[2]["content"] for m in shown), ["```\nB\n```", "```\nE\n```"])
        self.assertEqual({len(m) for m in shown}, {4})
        self.assertEqual(len(raw), 2)
        self.assertTrue(any(p.startswith("q:B\n\nThe solution") and "because B" in p for p in raw), raw)
        # Resumed, such an output is complete.
        with tempfile.NamedTemporaryFile() as whole, FakeServer() as server:
            whole.write(done.stdout)
            whole.flush()
            again = run(server.url, "--resume", whole.name, stdin=lines([record, nothing]))
            self.assertEqual((again.returncode, len(server.requests)), (0, 0))
            self.assertEqual(pathlib.Path(whole.name).read_bytes(), done.stdout)

    def test_tokenizer(self):
        """With a tokenizer prompts are ids, and those of a later turn begin with all of the earlier one's."""
        with tempfile.TemporaryDirectory() as folder:
            golden = pathlib.Path(__file__).parent / "golden" / "tokenizer" / "smollm2.json"
            pathlib.Path(folder, "tokenizer.json").write_bytes(golden.read_bytes())
            pathlib.Path(folder, "tokenizer_config.json").write_text(json.dumps({"chat_template": CHATML}))
            pathlib.Path(folder, "generation_config.json").write_text('{"eos_token_id": [2, 0]}')
            record = {"id": "c", "prompt": [{"role": "user", "content": "hi"}]}
            for kind in ("vllm", "openai"):
                with FakeServer(kind=kind) as server:
                    flags = ["--tokenizer", folder, "--concurrency", "1", "--max-tokens", "512"]
                    first = records_of(run(server.url, *flags, stdin=lines([record])).stdout)[0]
                    turn = first["rollouts"][0]["turns"][0]
                    turn["verdict"] = {"status": "crash", "feedback": "F"}
                    second = records_of(run(server.url, *flags, stdin=lines([first])).stdout)[0]["rollouts"][0]["turns"]
                self.assertEqual({path for path, _, _ in server.requests}, {"/v1/completions"})
                self.assertEqual(second[0], turn)
                self.assertEqual([t["prompt_ids"] for t in second],
                                 [body["prompt"] for _, body, _ in server.requests if "top_k" not in body or kind == "vllm"])
                history = turn["prompt_ids"] + turn["completion_ids"]
                self.assertEqual(second[1]["prompt_ids"][:len(history)], history)
                _, ids, logprobs, _ = completion_of(turn["prompt_ids"], server.requests[0][1]["seed"], 512)
                if kind == "vllm":
                    self.assertEqual((turn["completion_ids"], turn["logprobs"]), (ids, logprobs))
                else:  # tokenised from the text, the end id put to it; log-probs of other tokens are dropped
                    texts = subprocess.run([BIN / "leap-sample", "--tokenize", "--tokenizer", folder], capture_output=True,
                                           input=json.dumps({"ids": turn["completion_ids"]}).encode(), check=True)
                    self.assertEqual(json.loads(texts.stdout)["text"], turn["completion"] + "<|im_end|>")
                    self.assertNotIn("logprobs", turn)

    def test_bad_records(self):
        good = problems(1)[0]
        bads = [b"{", b"[]", b'{"prompt":"no id"}', b'{"id":"x"}', b'{"id":"x","prompt":3}', b'{"id":"x","prompt":[]}',
                b'{"id":"x","prompt":[{"role":"user"}]}', b'{"id":"x","prompt":"p","rollouts":3}',
                b'{"id":"x","prompt":"p","rollouts":[3]}', b'{"id":"x","prompt":"p","prompt_ids":["a"]}',
                b'{"id":"x","prompt":"p","rollouts":[{"turns":[{"verdict":{}}]},{"turns":3}]}',
                b'{"rollouts":[{"turns":[{"verdict":{"status":"crash"}}]}],"prompt":"p"}']
        with FakeServer() as server:
            for bad in bads:
                data = lines([good]) + bad + b"\n" + lines([{**good, "id": "z"}])
                done = run(server.url, stdin=data)
                self.assertEqual(done.returncode, 3, bad)
                self.assertRegex(done.stderr.decode(), r"^leap-sample: line 2: [^\n]+\n$")
                self.assertEqual([r["id"] for r in records_of(done.stdout)], ["p0"])
                going = run(server.url, "--keep-going", stdin=data)
                self.assertEqual(going.returncode, 1, bad)
                self.assertRegex(going.stderr.decode(), r"^leap-sample: line 2: [^\n]+\n$")
                out = going.stdout.splitlines()
                self.assertEqual(out[1], bad)
                self.assertEqual([json.loads(out[i])["id"] for i in (0, 2)], ["p0", "z"])
            self.assertEqual(run(server.url).stdout, b"")

    def test_stopped_by_the_server(self):
        with FakeServer() as server:
            wrong = run(server.url + "/v2", stdin=lines(problems(3)))
        self.assertEqual((wrong.returncode, wrong.stdout), (3, b""))
        self.assertIn(b"404", wrong.stderr)

    def test_retry_after(self):
        """The seconds form of Retry-After."""
        with FakeServer(fault=lambda p, s, attempt: "429s" if attempt == 0 else None) as server:
            done = run(server.url, stdin=lines(problems(1)))
        self.assertEqual((done.returncode, len(server.requests)), (0, 2))

    def test_usage(self):
        for flags in ([], ["--url", "http://x"], ["--model", "m", "--url", "ftp://x"], ["--model", "m", "--score", "--url", "http://x"],
                      ["--model", "m", "--url", "http://x", "--temperature", "nan"], ["--model", "m", "-n", "0"],
                      ["--model", "m", "--url", "http://x", "--stop", ""], ["--model", "m", "--tokenizer", "t"]):
            done = subprocess.run([BIN / "leap-sample", *flags], input=lines(problems(1)), capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (2, b""), (flags, done))

    def test_summary_and_warning(self):
        with FakeServer() as server, tempfile.TemporaryDirectory() as folder:
            summary = pathlib.Path(folder, "s.json")
            done = run(server.url, "-n", "2", "--top-k", "5", "--summary", summary, stdin=lines(problems(3)))
            figures = json.loads(summary.read_text())
            self.assertEqual(server.requests[0][1]["top_k"], 5)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode(), r"^leap-sample: --top-p and --top-k [^\n]+\n$")
        turns = [t for r in records_of(done.stdout) for o in r["rollouts"] for t in o["turns"]]
        self.assertEqual((figures["tool"], figures["records"], figures["turns"], figures["groups"]), ("leap-sample", 3, 6, 3))
        self.assertEqual(figures["completion_tokens"], sum(len(t["completion_ids"]) for t in turns))
        self.assertGreater(figures["measured"]["tokens_per_s"], 0)

    def test_a_server_that_forgets_the_seed(self):
        with tempfile.TemporaryDirectory() as folder:
            for fault, count, warning in ((None, 0, b""), ("seed", 3, b"all completions of each group are the same")):
                summary = pathlib.Path(folder, "s.json")
                with FakeServer(fault=lambda *request: fault) as server:
                    done = run(server.url, "-n", "2", "--summary", summary, stdin=lines(problems(3)))
                self.assertEqual((done.returncode, json.loads(summary.read_text())["identical_groups"]), (0, count))
                self.assertEqual(done.stderr.count(b"\n"), 1 if warning else 0)
                self.assertIn(warning, done.stderr)


if __name__ == "__main__":
    unittest.main()
