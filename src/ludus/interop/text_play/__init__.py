"""Environments and research tasks that language models play: tools, texts and episodes.

The adapters of trainers share it. ``tools.py`` makes tools from an action space or takes those of a
research task, ``observations.py`` tells observations as text, ``replies.py`` reads an action from
the text of a reply, ``episode.py`` plays one episode and keeps rewards from the player.
"""

from __future__ import annotations

from ludus.interop.text_play.episode import TextEpisode, open_episode
from ludus.interop.text_play.tools import Parameter, Tool

__all__ = ["Parameter", "TextEpisode", "Tool", "open_episode"]
