"""Stands in for `vllm run-batch`: the same arguments, files and answers, and no model.

    python run_batch.py -i INPUT -o OUTPUT --model MODEL --book FOLDER

It notes each start in the book, which may hold orders for one start each: `half` (the output breaks off in
the middle of a line), `hold` (it waits until that is gone), `foreign` (to calls of others).
"""

import argparse
import json
import os
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any


def main() -> int:
    parser = argparse.ArgumentParser()
    for names in (("-i", "--input-file"), ("-o", "--output-file"), ("--model",), ("--book",)):
        parser.add_argument(*names, required=True)
    asked = parser.parse_args()
    book = Path(asked.book)
    with (book / "starts").open("a") as starts:
        starts.write(f"{os.getpid()} {Path(asked.input_file).parent.name}\n")
    lines = [json.loads(line) for line in Path(asked.input_file).read_text().splitlines()]
    while (book / "hold").exists():
        time.sleep(0.01)
    print("the engine is loaded", flush=True)
    if "OPENAI_API_KEY" in os.environ:
        print("a key that is none of its own", file=sys.stderr)
        return 9
    foreign = "x" if _order(book, "foreign") is not None else ""
    output = "".join(json.dumps(_answered(line, asked.model, foreign)) + "\n" for line in lines)
    half = _order(book, "half") is not None
    Path(asked.output_file).write_text(output[: len(output) // 2 - 7] if half else output)
    return 0


def _order(book: Path, name: str) -> str | None:
    """Each holds for the next start alone."""
    try:
        order = (book / name).read_text()
        (book / name).unlink()
    except FileNotFoundError:
        return None
    return order


def _answered(line: dict[str, Any], model: str, foreign: str) -> dict[str, Any]:
    body = line["body"]
    if body["model"] != model or line["method"] != "POST":
        error = {"message": f"The model {body['model']} does not exist.", "code": 404}
        return {
            "id": "vllm-1",
            "custom_id": line["custom_id"],
            "response": {"status_code": 400, "body": error},
            "error": error,
        }
    text = f"I keep it to myself, {sha256(json.dumps(body).encode()).hexdigest()[:6]}."
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28},
    }
    response = {"status_code": 200, "request_id": "vllm-batch-1", "body": completion}
    return {"id": "vllm-1", "custom_id": foreign + line["custom_id"], "response": response, "error": None}


if __name__ == "__main__":
    sys.exit(main())
