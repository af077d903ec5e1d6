"""Box2D, imported when the first world is made, and the one listener that its worlds need."""

from __future__ import annotations

import functools
import sys
import warnings
from typing import Any, Protocol

from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled

__all__ = ["Contacts", "Touches", "import_box2d", "listen"]


def import_box2d() -> Any:
    """Import Box2D.

    Raises:
        DependencyNotInstalled: It is missing; the message says what to install.
    """
    try:
        if "Box2D" not in sys.modules:
            with warnings.catch_warnings():
                # What generated the binding is older than a rule of Python's for built-in types.
                warnings.filterwarnings("ignore", "builtin type", DeprecationWarning)
                import Box2D
        import Box2D
    except ImportError as problem:
        raise DependencyNotInstalled(
            f"This environment needs Box2D, which is not installed; run `{pip_install('box2d')}`"
        ) from problem
    return Box2D


class Contacts(Protocol):
    """What is told about the contacts of a world."""

    def begin(self, contact: Any) -> None:
        """Note a contact that began."""

    def end(self, contact: Any) -> None:
        """Note a contact that ended."""


class Touches:
    """What touched something since the world was made.

    A foot counts as on the ground from the beginning of any contact to the end of any contact:
    one that slides from one edge to the next may lose the first while it stands on the second.

    Each foot tells so itself, in its attribute ``ground_contact``.

    Args:
        body: Whose first contact ends the episode.
        first: A foot.
        second: The other.
    """

    def __init__(self, body: Any, first: Any, second: Any) -> None:
        self.body = body
        self.first = first
        self.second = second
        self.fallen = first.ground_contact = second.ground_contact = False

    def begin(self, contact: Any) -> None:
        """Note a contact that began."""
        pair = contact.fixtureA.body, contact.fixtureB.body
        if self.body in pair:
            self.fallen = True
        self._set(pair, True)

    def end(self, contact: Any) -> None:
        """Note a contact that ended."""
        self._set((contact.fixtureA.body, contact.fixtureB.body), False)

    def _set(self, pair: tuple[Any, Any], touching: bool) -> None:
        for foot in (self.first, self.second):
            if foot in pair:
                foot.ground_contact = touching


def listen(world: Any, contacts: Contacts) -> Any:
    """Have the world report to ``contacts``.

    Returns:
        The listener, which has to be kept as long as the world: the engine holds no reference.
    """
    listener = _listener_class()()
    listener.contacts = contacts
    world.contactListener = listener
    return listener


@functools.cache
def _listener_class() -> Any:
    class Listener(import_box2d().b2ContactListener):  # type: ignore[misc]
        contacts: Contacts

        def BeginContact(self, contact: Any) -> None:  # noqa: N802 - the engine's name
            self.contacts.begin(contact)

        def EndContact(self, contact: Any) -> None:  # noqa: N802 - the engine's name
            self.contacts.end(contact)

    return Listener
