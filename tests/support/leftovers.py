"""What a run of a tool must not leave behind."""
import pathlib
import re
import tempfile


def leftovers():
    """Processes of sandboxes that no living tool owns, and files in the temporary directory."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
                parent = int(re.search(r"PPid:\s+(\d+)", (entry / "status").read_text())[1])
            except (OSError, TypeError):
                continue
            if b"<supervisor>" in words and parent == 1:
                found.append(words)
    return found + [p for p in pathlib.Path(tempfile.gettempdir()).glob("leap-??????")]
