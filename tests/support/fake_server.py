"""An OpenAI-compatible server for tests: answers depend on prompt and seed alone; misbehaves where asked to."""
import hashlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULTS = ("429", "500", "503", "slow", "half", "stall", "reset", "malformed", "lengths", "finish")

WEIGHTS = ("/v1/load_lora_adapter", "/sleep", "/wake_up", "/collective_rpc", "/update_weights_from_disk",
           "/release_memory_occupation", "/resume_memory_occupation")


def digest(*parts):
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()


def completion_of(prompt, seed, max_tokens):
    """(text, ids, logprobs, finish_reason): one id a byte, 0 is the end id."""
    bits = digest("completion", prompt, seed)
    ids = [97 + b % 26 for b in bits[: 3 + bits[31] % 20]]
    finish = "length" if len(ids) >= max_tokens else "stop"
    ids = ids[:max_tokens]
    text = bytes(ids).decode()
    if finish == "stop":
        ids = ids + [0]
    return text, ids, [-((bits[i % 32] + i) % 100) / 64 for i in range(len(ids))], finish


class FakeServer:
    """`fault(prompt, seed, attempt)` names what goes wrong with a request, or is None; attempts count from 0.
    `kind`: vllm (ids), llama-oai (ids in logprobs), openai (refuses unknown fields, no ids), llama-python (a 500 for
    top_k -1, no ids), sglang and llama (routes of
    their own, besides OpenAI's for chats). At most `capacity` requests at a time, others get 429."""

    def __init__(self, kind="vllm", fault=None, delay_s=0.0, key=None, stall_s=3.0, capacity=None):
        self.kind, self.fault, self.delay_s, self.key, self.stall_s = kind, fault, delay_s, key, stall_s
        self.requests = []  # (path, body, fault)
        self.capacity, self.busy, self.busiest, self.turned_away = capacity, 0, 0, 0
        self.commands = []  # (path, body) of requests about weights
        self.attempts = {}
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_GET(self):
                about = {("sglang", "/get_model_info"): {"model_path": "m"},
                         ("llama", "/props"): {"default_generation_settings": {}}}.get((outer.kind, self.path))
                if about is None:
                    return outer.refuse(self, 404, "no such path")
                outer.send(self, 200, json.dumps(about).encode())

            def do_POST(self):
                with outer.lock:
                    outer.busy += 1
                    outer.busiest = max(outer.busiest, outer.busy)
                try:
                    outer.serve(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with outer.lock:
                        outer.busy -= 1

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request, client_address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.stop()

    def stop(self):
        """Gone: the port refuses connections from now on."""
        if not self.stopping.is_set():
            self.stopping.set()
            self.server.shutdown()
            self.server.server_close()

    @staticmethod
    def send(handler, status, data, **headers):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def refuse(self, handler, status, message, **headers):
        self.send(handler, status, json.dumps({"error": {"message": message}}).encode(), **headers)

    def serve(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])) or b"null")
        if self.stopping.is_set():
            handler.close_connection = True
            return
        chat = handler.path == "/v1/chat/completions"
        native = {"sglang": "/generate", "llama": "/completion"}.get(self.kind)
        if handler.path.split("?")[0] in WEIGHTS:
            with self.lock:
                self.commands.append((handler.path, body))
            return self.send(handler, 200, json.dumps({"success": self.fault is None, "message": "out of order"}).encode())
        if not chat and handler.path != (native or "/v1/completions"):
            return self.refuse(handler, 404, "no such path")
        if self.key is not None and handler.headers["Authorization"] != f"Bearer {self.key}":
            return self.refuse(handler, 401, f"bad authorisation: {handler.headers['Authorization']}")
        if self.kind == "llama-python" and body.get("top_k", 0) < 0:
            return self.refuse(handler, 500, "1 validation error: ('body', 'top_k') Input should be greater than or equal to 0")
        if self.kind == "openai":
            for name in ("top_k", "min_p", "repetition_penalty", "return_token_ids", "return_tokens"):
                if name in body:
                    return self.refuse(handler, 400, f"Unrecognized request argument supplied: {name}")
            if chat and "max_tokens" in body:
                return self.refuse(handler, 400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")
        if self.capacity is not None and self.busy > self.capacity:
            with self.lock:
                self.turned_away += 1
            return self.refuse(handler, 429, "busy", Retry_After="0")
        if not chat and self.kind == "sglang":
            prompt, seed = body.get("input_ids", body.get("text")), body["sampling_params"]["sampling_seed"]
        else:
            prompt, seed = body["messages"] if chat else body["prompt"], body["seed"]
        key = digest(prompt, seed)
        with self.lock:
            attempt = self.attempts.get(key, 0)
            self.attempts[key] = attempt + 1
            fault = self.fault(prompt, seed, attempt) if self.fault else None
            self.requests.append((handler.path, body, fault))
        time.sleep(self.delay_s)
        if fault == "429":
            return self.refuse(handler, 429, "slow down", retry_after_ms="30")
        if fault == "429s":
            return self.refuse(handler, 429, "slow down", Retry_After="1")
        if fault in ("400", "500", "503"):
            return self.refuse(handler, int(fault), "out of order")
        if fault == "slow":
            time.sleep(0.4)
        if fault == "reset":
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return
        if fault == "malformed":
            return self.send(handler, 200, b'{"choices":[{"text":"x')
        data = json.dumps(self.answer(chat, prompt, body, fault)).encode()
        if fault in ("half", "stall"):
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data[: len(data) // 2])
            handler.wfile.flush()
            if fault == "stall":
                self.stopping.wait(self.stall_s)
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send(handler, 200, data)

    def answer(self, chat, prompt, body, fault):
        native = None if chat else self.kind
        limit = (body["sampling_params"]["max_new_tokens"] if native == "sglang" else
                 body.get("n_predict", body.get("max_tokens", body.get("max_completion_tokens"))))
        seed = body["sampling_params"]["sampling_seed"] if native == "sglang" else body["seed"]
        text, ids, logprobs, finish = completion_of(prompt, 0 if fault == "seed" else seed, limit)
        if fault == "lengths":
            logprobs = logprobs[:-1]
        if fault == "finish":
            finish = "abort"
        tokens = [chr(i) if i else "" for i in ids]
        if native == "sglang":
            return {"text": text, "meta_info": {"finish_reason": {"type": finish, "matched": 0},
                                                "output_token_logprobs": [[p, i, None] for p, i in zip(logprobs, ids)]}}
        if native == "llama":
            return {"content": text, "tokens": ids, "stop_type": {"stop": "eos", "length": "limit"}.get(finish, "none"),
                    "completion_probabilities": [{"id": i, "token": t, "logprob": p}
                                                 for i, t, p in zip(ids, tokens, logprobs)]}
        choice = {"index": 0, "finish_reason": finish}
        if chat:
            choice["message"] = {"role": "assistant", "content": text}
            content = [{"token": t, "logprob": p} for t, p in zip(tokens, logprobs)]
            choice["logprobs"] = {"content": content}
        else:
            choice["text"] = text
            choice["logprobs"] = {"tokens": tokens, "token_logprobs": logprobs}
        answer = {"object": "text_completion", "choices": [choice]}
        if self.kind == "vllm":
            choice["token_ids"] = ids
            prompt_ids = prompt if isinstance(prompt, list) and not chat else list(json.dumps(prompt).encode())
            (answer if chat else choice)["prompt_token_ids"] = prompt_ids
        if self.kind == "llama-oai":
            choice["logprobs"] = {
                "content": [{"id": i, "token": t, "logprob": p} for i, t, p in zip(ids, tokens, logprobs)]}
        return answer
