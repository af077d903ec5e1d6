"""What a run folder consists of: files, blocks of columns, chained events, keys and signatures."""
