# The child itself, whatever the language: answer_to() is the language's.
def run_split(argv, nonce, kept):
    try:
        with open(0, "rb", closefd=False) as file:
            asked = json.load(file)
        try:
            text = json.dumps(answer_to(asked)).encode()
        except (RecursionError, MemoryError):
            os._exit(3)
        body = b"".join(len(field).to_bytes(4, "little") + field for field in (nonce, text))
        view = memoryview(len(body).to_bytes(4, "little") + body)
        while view:
            view = view[os.write(SEND, view) :]
        os._exit(0)
    finally:
        os._exit(4)


kinds[b"split"] = run_split
