"""The read model: what pages show, as data; no HTTP."""
