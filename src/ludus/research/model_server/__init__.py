"""A local model server for tests and demonstrations."""
