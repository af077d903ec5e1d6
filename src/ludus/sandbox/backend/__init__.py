"""One backend per file, and what several of them share."""
