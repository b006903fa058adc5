# The child itself, whatever the language: answer_to() is the language's.
def run_split(request, nonce, receive_fd, send_fd):
    try:
        with open(0, "rb", closefd=False) as file:
            asked = json.load(file)
        try:
            answer_text = json.dumps(answer_to(asked))
        except (RecursionError, MemoryError):
            os._exit(3)
        write_all(send_fd, pack([nonce, answer_text.encode()]))
        os._exit(0)
    finally:
        os._exit(4)


kinds[b"split"] = run_split
