"""What happened, so that it can be checked: run folders, written crash-safe, read without trust.

::

    with Run.create("runs/first", kind="note", subject={"about": "an example"}) as run:
        run.append("note", {"text": "it begins"})
        run.append_block({"reward": np.ones(1000)})
    reader = read_run("runs/first")
"""

from __future__ import annotations

from ludus.record.block import Block
from ludus.record.episode_table import Episode, Totals, episodes, totals
from ludus.record.event import Event
from ludus.record.fsck import FsckReport, Problem, fsck
from ludus.record.keys import (
    PublicKey,
    SigningKey,
    generate_key,
    load_public_key,
    load_signing_key,
)
from ludus.record.provenance import provenance
from ludus.record.reading import RunReader, read_run
from ludus.record.record_episodes import RecordEpisodes
from ludus.record.record_vector_episodes import RecordVectorEpisodes
from ludus.record.recording import Resumed
from ludus.record.replay import Difference, Replay, replay
from ludus.record.run import Run
from ludus.record.signature import Signature
from ludus.record.signing import sign_run
from ludus.record.trust import own_key, trusted_keys, trusted_keys_path
from ludus.record.verify import Check, Verification, verify

__all__ = [
    "Block",
    "Check",
    "Difference",
    "Episode",
    "Event",
    "FsckReport",
    "Problem",
    "PublicKey",
    "RecordEpisodes",
    "RecordVectorEpisodes",
    "Replay",
    "Resumed",
    "Run",
    "RunReader",
    "Signature",
    "SigningKey",
    "Totals",
    "Verification",
    "episodes",
    "fsck",
    "generate_key",
    "load_public_key",
    "load_signing_key",
    "own_key",
    "provenance",
    "read_run",
    "replay",
    "sign_run",
    "totals",
    "trusted_keys",
    "trusted_keys_path",
    "verify",
]
