"""Building a recorded environment again, executing its recorded calls, comparing the results."""
