"""Parts of compiled batches: actions, results, attributes, statistics, seeds and threads."""
