"""The read model of research episodes: pieces of a record, found and read when they are shown."""
