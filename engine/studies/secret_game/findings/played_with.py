"""What the statistics of a secret game need of its config, from the plain values that the file keeps."""

from collections.abc import Mapping
from dataclasses import dataclass

from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.studies.secret_game.detectors.detection import JUDGE, wording_detectors
from tidepool.engine.studies.secret_game.findings.analysis import Played
from tidepool.engine.studies.secret_game.pairing import PlannedConversation
from tidepool.engine.studies.secret_game.scoring import KEEPING_MODES, SCORING


@dataclass(frozen=True, slots=True)
class PlayedWith:
    models: Mapping[str, str]
    """by the agent's name"""
    secrets: Mapping[str, str]
    scenarios: tuple[tuple[str, str], ...]
    """the secrets of opener and partner that everybody plays with, instead of their own"""
    detectors: tuple[str, ...]
    judged: bool
    fuzzy_threshold: float
    messages_per_interaction: int
    linked: bool
    """memory or kept secrets link the talks of a game"""
    scoring: Mapping[str, float]

    @classmethod
    def of(cls, config: StoredConfig) -> "PlayedWith":
        agents, settings = config.sections["agents"], config.sections["secret_game"]
        return cls(
            models={agent["name"]: resolve_model(agent["model"]) for agent in agents},
            secrets={agent["name"]: agent["secret"] for agent in agents},
            scenarios=tuple((pair["opener_secret"], pair["partner_secret"]) for pair in settings["scenarios"]),
            detectors=wording_detectors(settings["detection"]),
            judged=JUDGE in settings["detection"],
            fuzzy_threshold=float(settings["fuzzy_threshold"]),
            messages_per_interaction=int(settings["messages_per_interaction"]),
            linked=settings["mode"] in KEEPING_MODES or any(agent["memory"] == "long" for agent in agents),
            scoring={**SCORING, **settings["scoring"]},
        )

    def secret(self, meeting: PlannedConversation, side: int) -> str:
        """Of the opener (0) or the partner (1)."""
        scenario = meeting.scenario_of(len(self.scenarios))
        if scenario is not None:
            return self.scenarios[scenario][side]
        return self.secrets[meeting.partner if side else meeting.opener]

    def for_statistics(self, seed: int = 0) -> Played:
        return Played(
            models=self.models,
            linked=self.linked,
            scoring=self.scoring,
            judged=self.judged,
            messages=self.messages_per_interaction,
            seed=seed,
            scenarios=self.scenarios,
        )
