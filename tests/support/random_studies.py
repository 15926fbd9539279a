"""Any study of a kind, small and offline, drawn by a seed: for rules that must hold whatever somebody writes."""

from collections.abc import Callable
from random import Random
from typing import Any

from tidepool.engine.registries import OPERATORS

Data = dict[str, Any]
VOICES = ("simulated:guarded", "simulated:trusting", "simulated:bargainer", "simulated:talkative")
NAMES = ("Ada", "Bob", "Cleo", "Dion", "Éva", "F. von und zu Grünwald")
SECRETS = ("marigold", "lantern", "harbour", "violet", "ein blauer Reiher", "quill")
WORDS = "the talk is about rivers and their keepers in a dry year when nobody knows what will come of it".split()


def random_study(kind: str, seed: int) -> Data:
    """The config as its file would say it."""
    rng = Random(f"{kind} {seed}")
    return {
        "batch": {"kind": kind, "name": f"{kind} {seed}", "seed": rng.randrange(10**6)},
        "service": _service(rng),
        "providers": {
            "simulated": {
                "price_input": rng.choice((0.15, 1.0, 3.0)),
                "price_output": rng.choice((0.6, 4.0, 15.0)),
                "batch_api": rng.random() < 0.7,
                "error_rate": rng.choice((0.0, 0.0, 0.05)),
                "batch_expire_rate": rng.choice((0.0, 0.0, 0.1)),
            }
        },
        **KINDS[kind](rng),
    }


def _service(rng: Random) -> Data:
    return {
        "name": rng.choice(("auto", "live", "default", "openai", "openai-conversation")),
        "batch_from": rng.choice((0, 10, 100)),
        "batch_size": rng.choice((3, 10, 5000)),
        "max_concurrent": rng.choice((4, 16, 64)),
        "poll_interval": 0.01,
        "cache": rng.random() < 0.5,
    }


def _text(rng: Random, least: int, most: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, most)))


def _reasoning(rng: Random) -> Data:
    return {"max_reasoning_tokens": 200} if rng.random() < 0.15 else {}


# -- kinds -----------------------------------------------------------------------------------------------------------


def _secret_game(rng: Random) -> Data:
    size = rng.randint(2, 6)
    agents = [
        {
            "name": name,
            "model": rng.choice(VOICES),
            "secret": secret,
            "memory": rng.choice(("short", "short", "long")),
            "max_tokens": rng.choice((20, 80, 300)),
            "instructions": _text(rng, 0, 60),
            **_reasoning(rng),
        }
        for name, secret in zip(NAMES[:size], SECRETS[:size], strict=True)
    ]
    mode = rng.choice(("standard", "retained", "diversity", "targeted"))
    settings: Data = {
        "mode": mode,
        "messages_per_interaction": rng.randint(1, 7),
        "pairing": rng.choice(("round_robin", "random", "ordered")),
        "detection": ["exact", *rng.choice(((), (), ("judge",)))],
        "judge": "simulated:judge",
        **({"targeted_secret": rng.choice(SECRETS[:size])} if mode == "targeted" else {}),
        **_reasoning(rng),
    }
    if mode == "standard" and rng.random() < 0.3:
        settings["scenarios"] = [
            {"opener_secret": f"comet {place}", "partner_secret": "plum", "instructions": _text(rng, 0, 40)}
            for place in range(rng.randint(1, 3))
        ]
    if rng.random() < 0.5:
        settings["num_interactions"] = rng.randint(1, 40)
    else:
        settings |= {"games": rng.randint(1, 3), "rounds": rng.randint(1, 4)}
    return {"secret_game": settings, "agents": agents}


def _simulation(rng: Random) -> Data:
    size = rng.randint(1, 4)
    entities = [
        {"name": name, "description": _text(rng, 0, 60), "attributes": {"age": rng.randint(18, 90)}}
        for name in NAMES[: rng.randint(size, 6)]
    ]
    settings: Data = {
        "context": _text(rng, 3, 150),
        "interaction_size": size,
        "num_simulations": rng.randint(1, 12),
        "n_turns": rng.randint(1, 4),
        "simulation_rounds": rng.randint(1, 3),
        "model": "simulated:persona",
        "style": rng.choice(("enacted", "enacted", "narrated")),
        "thoughts": rng.random() < 0.3,
        "speaking_order": rng.choice(("listed", "shuffled")),
        "max_tokens": rng.choice((20, 100, 300)),
        **_reasoning(rng),
    }
    if rng.random() < 0.5:
        settings["judge"] = {"model": "simulated:judge", "question": _text(rng, 5, 20), "scale": [1, 5]}
    return {"simulation": settings, "entities": entities}


def _evolution(rng: Random) -> Data:
    size = rng.randint(2, 12)
    solvers = rng.choice((["simulated:solver"], ["simulated:solver", "simulated:flat-solver"]))
    settings: Data = {
        "strategy": rng.choice(("genetic", "genetic", "reflective", "random", "gepa")),
        "models": solvers,
        "mutator": "simulated:rewriter",
        "preset": rng.choice(("balanced", "conservative", "aggressive")),
        "dynamic": rng.random() < 0.3,
        "rate_limit_per_minute": 0,
        "population_size": size,
        "elite_size": rng.randint(0, size - 1),
        "max_generations": rng.randint(1, 5),
        "problems": rng.choice(("arithmetic", "arithmetic-easy", "arithmetic-hard")),
        "max_problems": rng.randint(2, 24),
        "validation_problems": rng.randint(2, 12),
        "samples": rng.choice((1, 1, 2, 3)),
        "max_tokens": rng.choice((60, 200, 500)),
        "selection": rng.choice(("tournament", "roulette", "rank", "sus", "elitist")),
        "crossover": rng.choice(("single_point", "two_point", "uniform", "blend")),
        "mutation_rate": rng.choice((0.0, 0.2, 0.8)),
        "racing": rng.random() < 0.6,
        "seed_final": rng.random() < 0.6,
        "random_baseline": rng.random() < 0.3,
        "target_fitness": rng.choice((0.85, 2.0, 2.0)),
        "stagnation": rng.choice((0, 3, 20)),
        "max_calls": rng.choice((0, 0, 0, 300)),
        "task": rng.choice(("auto", "auto", "judge")),
        "judge": "simulated:judge",
        **_reasoning(rng),
    }
    if rng.random() < 0.5:
        settings["seed_prompts"] = [_text(rng, 2, 60) for _ in range(rng.randint(1, 6))]
    settings["answer_form"] = rng.choice(("line", "line", "any"))
    settings["unclear"] = rng.choice(("missing", "missing", "judge"))
    return {"evolution": settings}


def _mutation(rng: Random) -> Data:
    settings: Data = {
        "target": "simulated:target",
        "mutator": "simulated:rewriter",
        "encoder": rng.choice(("hashing", "simulated:encoder")),
        "judge": "simulated:judge",
        "reward": rng.choice(("keyword", "similarity", "judge")),
        "success": rng.choice((0.3, 0.7, 1.0)),
        "heldout": rng.choice((0.1, 0.2)),
        "learner": rng.choice(("bandit", "random")),
        "num_processes": rng.randint(1, 8),
        "num_steps": rng.randint(1, 8),
        "num_env_steps": rng.randint(1, 60),
        "num_mini_batch": 1,
        "episode_length": rng.randint(1, 5),
        "use_batching": rng.random() < 0.7,
        "operators": rng.sample(list(OPERATORS.builtin), rng.randint(2, 4)),
        "baselines": rng.choice(([], ["random"])),
        "repeats": rng.randint(1, 2),
        "max_tokens": rng.choice((20, 100, 300)),
        **_reasoning(rng),
    }
    return {"mutation": settings}


KINDS: dict[str, Callable[[Random], Data]] = {
    "secret_game": _secret_game,
    "simulation": _simulation,
    "evolution": _evolution,
    "mutation": _mutation,
}
