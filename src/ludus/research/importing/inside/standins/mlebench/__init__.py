"""Stand-ins for the helpers that competitions import from MLE-bench."""
