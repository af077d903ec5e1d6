"""LLVM IR of the calls from Python into compiled code, one module for each kind of call."""
