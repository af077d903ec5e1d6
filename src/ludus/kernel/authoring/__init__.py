"""Tells the authors of kernels what is wrong with a kernel, with its file, line and source text.

``rules.py`` is the table of rules. ``validation.py`` checks source code before anything is run or
compiled, ``returned.py`` what the functions return, ``typed.py`` what only the compiler's types
show, ``compile_errors.py`` translates the compiler's own errors and ``run_errors.py`` the errors
that compiled code reports.
"""
