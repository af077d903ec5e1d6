"""What the viewer shows, and where it listens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ludus.errors import ViewError
from ludus.web_guard import SHORTEST_TOKEN, is_loopback

__all__ = ["ViewSettings"]

DEFAULT_PORT = 8760
_STORES = (".sqlite", ".sqlite3", ".db")
_TRAJECTORIES = (".traj", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewSettings:
    """What the viewer shows, and where it listens.

    Attributes:
        folder: Runs are looked for below it; it may be a run itself.
        store: Path or URL of a store of results; see :func:`ludus.bench.open_store`.
        files: Trajectories of other systems.
        host: Address to listen on. Without a token it is one of this machine only.
        port: 0 takes a free one.
        token: Secret that a browser has to show once.
        names: Host names, besides this machine's, under which the viewer is reached.

    Raises:
        ViewError: The address can be reached from other machines and there is no token, or the
            token is too short.
    """

    folder: Path | None = None
    store: str | None = None
    files: tuple[Path, ...] = ()
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    token: str | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise ViewError(
                f"{self.host} can be reached from other machines, and the viewer has no accounts. "
                "Set a token with --token, or listen on 127.0.0.1 and forward the port with SSH."
            )
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise ViewError(
                f"The token has {len(self.token)} characters; at least {SHORTEST_TOKEN} are "
                "needed, so that it cannot be guessed."
            )

    @classmethod
    def of(
        cls,
        *sources: str | Path,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        token: str | None = None,
        names: tuple[str, ...] = (),
    ) -> Self:
        """Return the settings for sources: a folder or run, a store, and files of trajectories.

        Raises:
            ViewError: A source does not exist, or there are two folders or two stores.
        """
        folder: Path | None = None
        store: str | None = None
        files: list[Path] = []
        for source in sources:
            path = Path(source)
            if "://" in str(source) or (path.suffix in _STORES and path.is_file()):
                if store is not None:
                    raise ViewError("The viewer shows one store at a time; name one.")
                store = str(source)
            elif path.is_dir():
                if folder is not None:
                    raise ViewError(
                        f"The viewer shows one folder at a time: name one that contains both "
                        f"{folder} and {path}."
                    )
                folder = path.resolve()
            elif path.is_file() and path.suffix in _TRAJECTORIES:
                files.append(path.resolve())
            else:
                raise ViewError(
                    f"{source} is no folder, no store ({', '.join(_STORES)} or a URL) and no "
                    f"trajectory ({', '.join(_TRAJECTORIES)})."
                )
        return cls(
            folder=folder,
            store=store,
            files=tuple(files),
            host=host,
            port=port,
            token=token,
            names=tuple(name.lower() for name in names),
        )
