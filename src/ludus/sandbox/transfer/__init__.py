"""Files into and out of a sandbox: copies, snapshots, clearing, limits."""
