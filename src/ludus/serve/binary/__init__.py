"""The binary sub-protocol of a server: arrays instead of JSON, batches, many steps per message.

``frames.py`` has the messages, ``server.py`` the server's side; the client's is
:func:`ludus.connect`.
"""
