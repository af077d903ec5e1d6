"""What backends use of Linux: namespaces, control groups, mounts, system call filters."""
