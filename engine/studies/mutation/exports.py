"""A trained policy out of its batch: arrays as safetensors, and what they are as JSON beside them."""

import base64
import json
from pathlib import Path

from tidepool.engine.errors import NotFound
from tidepool.engine.exports.export import ExportRequest
from tidepool.engine.studies.mutation.policy_file import policy_description, policy_paths, read_policy
from tidepool.storage.exporting.files import finished


def _policy(order: ExportRequest) -> list[Path]:
    batch = order.batch
    row = order.connection.execute(
        "SELECT content FROM finding WHERE batch_number = ? AND name = 'policy'", (batch["number"],)
    ).fetchone()
    if row is None:
        raise NotFound(
            f"Batch {batch['id']} holds no trained policy: only a batch that has finished training with the learner "
            "bandit or ppo does. `tidepool --resume` goes on with one that stopped."
        )
    content = base64.b64decode(json.loads(row["content"])["safetensors"])
    saved = read_policy(content, f"batch {batch['id']}")
    arrays, description = policy_paths(order.file(".safetensors"))
    with finished(arrays) as unfinished:
        unfinished.write_bytes(content)
    with finished(description) as unfinished:
        unfinished.write_text(policy_description(saved.card), encoding="utf-8")
    return [arrays, description]


FORMATS = {"policy": _policy}
