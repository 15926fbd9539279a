"""A trained policy out of its batch: arrays as safetensors, and what they are as JSON beside them."""

import base64
from pathlib import Path

from tidepool.engine.errors import NotFound
from tidepool.engine.exports.request import Exporter, ExportRequest
from tidepool.engine.studies.mutation.learners.policy_file import policy_description, policy_paths, read_policy
from tidepool.storage.queries.summary import finding
from tidepool.storage.transfer.formats import finished_together


def _policy(order: ExportRequest) -> list[Path]:
    batch = order.batch
    policy = finding(order.connection, batch["number"], "policy")
    if policy is None:
        raise NotFound(
            f"Batch {batch['id']} holds no trained policy: only a batch that has finished training with the learner "
            "bandit or ppo does. `tidepool --resume` goes on with one that stopped."
        )
    try:
        content = base64.b64decode(policy["safetensors"])
    except (ValueError, TypeError, KeyError):
        raise NotFound(f"The policy that batch {batch['id']} holds cannot be read: its file was changed.") from None
    saved = read_policy(content, f"batch {batch['id']}")
    arrays, description = policy_paths(order.file(".safetensors"))
    with finished_together(arrays.parent) as scratch:
        (scratch / arrays.name).write_bytes(content)
        (scratch / description.name).write_text(policy_description(saved.card), encoding="utf-8")
    return [arrays, description]


FORMATS: dict[str, Exporter] = {"policy": _policy}
