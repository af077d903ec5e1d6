"""Checks kernels and reports mistakes with file, line and source text.

``rules.py`` is the table of rules. ``validation.py`` checks the source before anything is run or
compiled, ``returned.py`` the returned values, ``typed.py`` the compiler's types.
``compile_errors.py`` translates the compiler's errors, ``run_errors.py`` those of compiled code.
"""
