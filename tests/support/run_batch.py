"""Stands in for `vllm run-batch`: the same arguments, files and answers, and no model.

    python run_batch.py -i INPUT -o OUTPUT --model MODEL --book FOLDER

It notes each start in the book, and after it each call that it answers. The book may hold orders: `hold` (it waits until that
is gone), and for one start each `stubborn` (it does not end when it is asked to), `later` (it ends at once, and its output
comes when `hold` is gone), `code` (how it ends) and those of SPOILT.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

Line = dict[str, Any]
GARBAGE = ["", "[1, 2", "null", '{"custom_id": 7}', "\x00\xff", "[" * 100_000, '{"response": {"status_code": 200}}']


def main() -> int:
    parser = argparse.ArgumentParser()
    for names in (("-i", "--input-file"), ("-o", "--output-file"), ("--model",), ("--book",)):
        parser.add_argument(*names, required=True)
    asked = parser.parse_args()
    book = Path(asked.book)
    _note(book / "starts", f"{os.getpid()} {Path(asked.input_file).parent.name}")
    if _order(book, "stubborn") is not None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    lines = [json.loads(line) for line in Path(asked.input_file).read_text().splitlines()]
    if _order(book, "later") is not None and os.fork():
        return 0
    while (book / "hold").exists():
        time.sleep(0.01)
    print("the engine is loaded", flush=True)
    if "OPENAI_API_KEY" in os.environ:
        print("a key that is none of its own", file=sys.stderr)
        return 9
    output = [_answered(line, asked.model) for line in lines]
    spoilt = [spoil for name, spoil in SPOILT.items() if _order(book, name) is not None]
    for name in (line["custom_id"] for line in lines):
        _note(book / "calls", name)
    Path(asked.output_file).write_text((spoilt or [_text])[0](output))
    return int(_order(book, "code") or 0)


def _note(path: Path, words: str) -> None:
    with path.open("a") as file:
        file.write(f"{words}\n")


def _order(book: Path, name: str) -> str | None:
    """Each holds for the next start alone."""
    try:
        order = (book / name).read_text()
        (book / name).unlink()
    except FileNotFoundError:
        return None
    return order


def _answered(line: Line, model: str) -> Line:
    body = line["body"]
    if body["model"] != model or line["method"] != "POST":
        error = {"message": f"The model {body['model']} does not exist.", "code": 404}
        response: Line = {"status_code": 400, "body": error}
        return {"id": "vllm-1", "custom_id": line["custom_id"], "response": response, "error": error}
    answer = _embedded(body) if line["url"] == "/v1/embeddings" else _completed(body)
    response = {"status_code": 200, "request_id": "vllm-batch-1", "body": {"model": model, **answer}}
    return {"id": "vllm-1", "custom_id": line["custom_id"], "response": response, "error": None}


def _completed(body: Line) -> Line:
    text = f"I keep it to myself, {sha256(json.dumps(body).encode()).hexdigest()[:6]}."
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28},
    }


def _embedded(body: Line) -> Line:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    vectors = [[byte / 255 for byte in sha256(text.encode()).digest()[:8]] for text in texts]
    data = [{"index": place, "object": "embedding", "embedding": vector} for place, vector in enumerate(vectors)]
    return {"object": "list", "data": data, "usage": {"prompt_tokens": 8, "completion_tokens": 0, "total_tokens": 8}}


# -- what an output may look like ---------------------------------------------------------------------------------


def _text(lines: list[Line]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def _half(lines: list[Line]) -> str:
    """It breaks off in the middle of a line."""
    return (text := _text(lines))[: len(text) // 2 - 7]


def _foreign(lines: list[Line]) -> str:
    """To calls of others."""
    return _text([{**line, "custom_id": f"x{line['custom_id']}"} for line in lines])


def _mess(lines: list[Line]) -> str:
    """Doubled, foreign, unreadable and huge lines, and every second call has none."""
    kept = lines[::2]
    huge = [{**lines[1], "response": {"status_code": 200, "body": "x" * 9_000_000}}] if len(lines) > 1 else []
    return "\n".join([*GARBAGE, _text(kept), _foreign(lines), _text(kept), _text(huge)])


SPOILT: dict[str, Callable[[list[Line]], str]] = {
    "half": _half,
    "foreign": _foreign,
    "missing": lambda lines: _text(lines[::2]),
    "doubled": lambda lines: _text([*lines, *lines]),
    "garbage": lambda lines: "\n".join([*GARBAGE, _text(lines)]),
    "mess": _mess,
    "empty": lambda _: "",
}


if __name__ == "__main__":
    sys.exit(main())
