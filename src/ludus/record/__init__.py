"""Run folders: what happened in a run, written crash-safe and read without trust.

::

    with Run.create("runs/first", kind="note", subject={"about": "an example"}) as run:
        run.append("note", {"text": "it begins"})
        run.append_block({"reward": np.ones(1000)})
    reader = read_run("runs/first")
"""

from __future__ import annotations

from ludus.record.episodes.record_episodes import RecordEpisodes, RecordVectorEpisodes, Resumed
from ludus.record.format.block import Block
from ludus.record.format.event import Event
from ludus.record.format.keys import (
    PublicKey,
    SigningKey,
    generate_key,
    load_public_key,
    load_signing_key,
    own_key,
    trusted_keys,
    trusted_keys_path,
)
from ludus.record.format.signature import Signature
from ludus.record.replay.episode_table import Episode, Totals, episodes, totals
from ludus.record.replay.provenance import provenance
from ludus.record.replay.replay import Difference, Replay, replay
from ludus.record.run.fsck import FsckReport, Problem, fsck
from ludus.record.run.reader import RunReader, read_run
from ludus.record.run.run import Run, sign_run
from ludus.record.verify import RecordCheck, Verification, verify

__all__ = [
    "Block",
    "Check",
    "Difference",
    "Episode",
    "Event",
    "FsckReport",
    "Problem",
    "PublicKey",
    "RecordCheck",
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

Check = RecordCheck  # the old name
