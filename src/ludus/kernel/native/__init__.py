"""The native toolchain of kernels: compile, cache, load, call.

What the rest of Ludus uses of it:

* **compile**: ``jit`` (``compile_mode``, ``jit_enabled``, ``compiled``); ``load.compile_ir`` for
  LLVM IR; ``background`` (``compile_apart``, ``Compilation``) for a child process;
  ``calls.numba_code`` and ``calls.library_code`` for the object code of numba's functions.
* **cache**: ``cache`` (``ObjectCode``, ``keep``, ``kept``, ``cache_folder``). Names of files come
  from ``digest`` (what the code is made from) and ``processor`` (what it runs on).
* **load**: ``load.load``, from object code and addresses of symbols to an address.
* **call**: ``calls`` (``native_function``, ``shared_function``, ``step_address``,
  ``batch_address``, ``shim_address``).

The modules ``call_one``, ``call_batch``, ``call_shared``, ``call_seed``, ``call_finals``,
``call_statistics`` and ``call_normalise`` hold the LLVM IR of one call each, ``builtin`` and
``cpython`` what they share. Everything that they assume of CPython's and NumPy's structures is in
``abi``. The modules ``numba_rows``, ``numba_random`` and ``numba_intrinsics`` extend numba, and are
imported only where it compiles.

Nothing here imports llvmlite or numba when it is imported.
"""
