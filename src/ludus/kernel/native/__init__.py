"""The native toolchain of kernels: compile, cache, load, call.

Its interface to the rest of Ludus:

* **compile**: ``jit`` (``compile_mode``, ``jit_enabled``, ``compiled``); ``load.compile_ir`` for
  LLVM IR; ``background`` (``compile_apart``, ``Compilation``) for a child process;
  ``calls.numba_code`` and ``calls.library_code`` for the object code of numba's functions.
* **cache**: ``cache`` (``ObjectCode``, ``keep``, ``kept``, ``cache_folder``). File names contain
  hashes of the source (``digest``) and of the processor (``processor``).
* **load**: ``load.load``, from object code and addresses of symbols to an address.
* **call**: ``calls`` (``native_function``, ``shared_function``, ``step_address``,
  ``batch_address``, ``shim_address``).

The modules of ``call`` contain the LLVM IR of one kind of call each; ``builtin`` and ``cpython``
the code that they share. All assumptions about CPython's and NumPy's structures are in
``abi``. The modules ``numba_rows``, ``numba_random`` and ``numba_intrinsics`` extend numba, and are
imported only for compiling.

Nothing here imports llvmlite or numba when it is imported.
"""
