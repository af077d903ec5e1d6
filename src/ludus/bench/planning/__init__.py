"""What is to be run: suites, budgets, units of work and their order."""
