"""The problem files of the examples, from what the simulated solver knows. Make them anew: python -m tests.support.toy_problems"""

import json
from pathlib import Path
from typing import Any

from tidepool.engine.providers.simulated.solver import POINTS, SIZES, TASKS, ToyTask, question_of, source_of

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def problems() -> dict[str, list[dict[str, str]]]:
    code = [{"question": question_of(task, size), "answer": _tests(task, size)} for task in TASKS for size in SIZES]
    reasons = [{"question": question, "answer": " ".join(points)} for question, points in POINTS.items()]
    return {"code_problems.jsonl": code, "explanations.jsonl": reasons}


def _tests(task: ToyTask, size: int) -> str:
    """One assert for each input, with what the right function returns."""
    name, space = f"{task.name}_{size}", dict[str, Any]()
    exec(source_of(task, size, task.right), space)
    return "\n".join(f"assert {name}({given}) == {eval(f'{name}({given})', space)!r}" for given in task.inputs)


def as_lines(rows: list[dict[str, str]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


if __name__ == "__main__":
    for file_name, rows in problems().items():
        (EXAMPLES / file_name).write_text(as_lines(rows), encoding="utf-8")
