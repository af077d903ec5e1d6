"""OpenEnv's protocols on top of sessions: WebSocket, HTTP, tasks, manifest.

Where OpenEnv leaves room:

- An action is ``{"action": VALUE}``, with a value of the action space. An observation of a ``Dict``
  space is its fields; any other one is ``{"observation": VALUE}``.
- ``terminated``, ``truncated`` and ``info`` are in the metadata, ``done`` is whether one of the two
  is true.
- Over HTTP a session lives from ``POST /reset`` on, under the id in the header ``X-Session-ID``.
- ``state`` has a text that ``reset(injected_state=...)`` restores, of environments whose state may
  be known.
"""
