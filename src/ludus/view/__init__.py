"""The viewer: pages about runs, episodes and environments, served to a browser or written as files.

::

    from ludus.view import ViewSettings, serve

    serve(ViewSettings.of("runs"))
"""

from __future__ import annotations

from ludus.lazy import lazy_names

__all__ = ["ViewSettings", "create_app", "export", "serve"]

__getattr__ = lazy_names(
    __name__,
    {
        "ViewSettings": "settings",
        "create_app": "app",
        "export": "exporting",
        "serve": "serving",
    },
)
