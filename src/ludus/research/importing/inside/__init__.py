"""What runs in the sandboxes of imported tasks, next to code that is not trusted."""
