"""What a research task is: its folder, its configuration, its registration and its scores."""
