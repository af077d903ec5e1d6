"""Results to make reports of: usual ones, hostile ones, none, and very many."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ludus.bench.result import Result

REFERENCES = {
    "CartPole-v1": (22.0, 500.0),
    "Acrobot-v1": (-500.0, -75.0),
    "MountainCar-v0": (-200.0, -100.0),
    "Pendulum-v1": (-1230.0, -150.0),
}
SKILL = {"ppo": 0.86, "dqn": 0.74, "heuristic": 0.62, "evolution": 0.55, "random": 0.03}
PROVENANCE = {
    "ludus": {"version": "0.3.0", "source": "7c1d" * 16},
    "python": "3.11.7",
    "numpy": "2.3.1",
    "numba": "0.62.0",
    "cpu": "AMD EPYC 7763 64-Core Processor",
    "os": "Linux 6.1",
    "git": {"commit": "c54a9a3f" * 5, "dirty": False},
    "command": ["ludus", "bench", "run", "classic", "--agent", "ppo", "--seeds", "10"],
}
HOSTILE = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "'><svg onload=\"document.title='owned'\"><style>*{display:none}</style>",
    "</style></title></script><script>document.title='owned'</script>",
    "javascript:document.title='owned' &lt;b&gt; &#60;script&#62;",
    "\u202eevil\u2066 שלום עולם \u200b\ufeff",
    "line\nbreak\ttab\x1b[31mred\x07\u2028\x9b",
    "| a | b |\n|---|---|\n`code` **bold** [link](https://evil.example) ![i](//evil.example/i.png)",
    "https://evil.example www.evil.example <https://evil.example>",
    "x" * 5000,
    "漢字" * 300,
    "Z" + "\u0301" * 400 + " 👩‍🚀 $(rm -rf ~) `id`",
)


def result(agent: str = "ppo", env: str = "CartPole-v1", seed: int = 0, **changes: Any) -> Result:
    fields: dict[str, Any] = {
        "run": "night",
        "suite": "classic",
        "suite_digest": "ab" * 32,
        "outcome": "scored",
        "score": 100.0,
        "episodes": 10,
        "steps": 2000,
        "seconds": 1.5,
        "cost": 0.0,
        "budget": '{"episodes":10,"max_seconds":null,"max_steps":null}',
        "reason": None,
        "source_hash": "cd" * 32,
        "record": None,
        "head": None,
        "verified": "claimed",
        "created": "2026-01-31T12:00:00Z",
        "extra": {},
    }
    fields |= changes
    fields.setdefault("best_score", fields["score"])
    unit = f"{agent}|{env}|{seed}".encode("utf-8", "surrogatepass")
    fields.setdefault("id", hashlib.sha256(unit).hexdigest()[:16])
    return Result(agent=agent, env=env, seed=seed, **fields)


def fault(outcome: str, reason: str, **changes: Any) -> Result:
    return result(outcome=outcome, reason=reason, score=None, **changes)


def usual(seeds: int = 10) -> list[Result]:
    rng = np.random.default_rng(7)
    found = []
    for agent, skill in SKILL.items():
        for env, (low, high) in REFERENCES.items():
            level = min(skill + rng.normal(0, 0.08), 1.0)
            for seed in range(seeds):
                found.append(_usual(rng, agent, env, seed, level, low, high))
    return found


def _usual(
    rng: np.random.Generator, agent: str, env: str, seed: int, level: float, low: float, high: float
) -> Result:
    chance = rng.random()
    if chance < 0.02:
        return fault(
            "agent_fault",
            "ValueError: the action 3 is not in Discrete(2)",
            agent=agent,
            env=env,
            seed=seed,
        )
    if chance < 0.035:
        return fault(
            "infrastructure_fault",
            "WorkerCrashed: the worker was killed by signal 9",
            agent=agent,
            env=env,
            seed=seed,
        )
    share = float(np.clip(level + rng.normal(0, 0.07), -0.02, 1.0))
    steps = np.linspace(0, 200_000, 41)
    extra: dict[str, Any] = {}
    if agent in ("ppo", "dqn", "evolution"):
        growth = share * (1 - np.exp(-steps / (30_000 + 20_000 * rng.random())))
        growth = growth + rng.normal(0, 0.03, steps.size)
        extra["curve"] = [
            [int(step), float(low + value * (high - low))]
            for step, value in zip(steps, growth, strict=True)
        ]
    verified = "verified" if chance < 0.9 else "claimed" if chance < 0.985 else "failed"
    return result(
        agent,
        env,
        seed,
        score=low + share * (high - low),
        verified=verified,
        record=f"units/{agent}-{env}-{seed}",
        head=hashlib.sha256(f"{agent}{env}{seed}".encode()).hexdigest(),
        extra=extra,
    )


def hostile() -> list[Result]:
    found = []
    for place, text in enumerate(HOSTILE):
        for seed in range(3):
            found.append(
                result(
                    text,
                    "CartPole-v1",
                    seed,
                    score=100.0 + 30 * place + seed,
                    extra={"curve": [[0, 1.0], [10, 2.0 + seed]]},
                )
            )
        found.append(
            result(text, text, 0, suite=text, suite_digest=text, source_hash=text, run=text)
        )
        found.append(fault("agent_fault", text, agent=text, env="CartPole-v1", seed=9))
        found.append(fault("infrastructure_fault", text, agent=text, env=text, seed=9))
    return found


def many(agents: int = 100, envs: int = 50, seeds: int = 10) -> tuple[list[Result], dict[str, Any]]:
    rng = np.random.default_rng(3)
    found = [
        result(f"agent-{agent:03}", f"Game{env:02}-v0", seed, score=float(score))
        for agent in range(agents)
        for env in range(envs)
        for seed, score in enumerate(rng.normal(agent / agents, 0.2, seeds))
    ]
    return found, {f"Game{env:02}-v0": (0.0, 1.0) for env in range(envs)}


RESEARCH = {
    "mlgym/battleOfSexes-v0": (1.02, 1.44),
    "mlgym/blotto-v0": (-0.25, 0.24),
    "mlgym/3SATTime-v0": (16.0, 2.0),
}


def research(seeds: int = 4) -> list[Result]:
    """Results of two research agents; one validates better than it submits, one fails a task."""
    found = []
    for agent, skill in (("careful", 0.9), ("hasty", 0.4)):
        for env, (zero, one) in RESEARCH.items():
            for seed in range(seeds):
                score = zero + (one - zero) * (skill - 0.05 * seed)
                best = score + (one - zero) * (0.2 if agent == "hasty" else 0.0)
                found.append(result(agent, env, seed, score=score, best_score=best))
    gone = "mlgym/titanicSurvival-v0"
    found += [result("careful", gone, seed, score=0.8) for seed in range(seeds)]
    found += [fault("agent_fault", "late", agent="hasty", env=gone, seed=s) for s in range(seeds)]
    return found
