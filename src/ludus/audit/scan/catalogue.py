"""Names that do something worth knowing, and the rule each one falls under.

A key is a qualified name; one that ends in a dot stands for everything below it. ``()`` in a name
is the result of a call: ``pathlib.Path().unlink`` is a method of a path.
"""

from __future__ import annotations

import re

__all__ = [
    "ALIASES",
    "EFFECTS",
    "INTROSPECTION",
    "POWERFUL",
    "READERS",
    "SECRET_NAME",
    "SECRET_PATH",
    "WRITING_METHODS",
    "rule_of",
]

_NAMES = {
    "unpickling": """
        pickle.load pickle.loads pickle.Unpickler marshal.load marshal.loads shelve. dill.
        cloudpickle.load cloudpickle.loads cloudpickle.Unpickler joblib.load torch.load
        torch.hub. torch.jit.load numpy.load numpy.lib.format.read_array pandas.read_pickle
        pandas.DataFrame.read_pickle jsonpickle. hickle. klepto. yaml.load yaml.load_all
        yaml.unsafe_load yaml.unsafe_load_all yaml.full_load yaml.full_load_all
        yaml.UnsafeLoader yaml.Loader ruamel.yaml.YAML multiprocessing.connection.
        multiprocessing.managers.BaseManager multiprocessing.reduction.
        sklearn.externals.joblib. stable_baselines3.common.save_util.load_from_zip_file
        tensorflow.keras.models.load_model keras.models.load_model
    """,
    "dynamic-code": """
        builtins.eval builtins.exec builtins.compile builtins.execfile types.FunctionType
        types.CodeType types.LambdaType code. codeop. runpy. imp. py_compile. zipimport.
        importlib.machinery.SourceFileLoader importlib.machinery.SourcelessFileLoader
        importlib.machinery.ExtensionFileLoader importlib.util.spec_from_file_location
        importlib.util.module_from_spec importlib.util.spec_from_loader importlib._bootstrap.
        importlib._bootstrap_external. timeit. pdb.run pdb.runeval cProfile.run cProfile.runctx
        profile.run profile.runctx bdb. pandas.eval numexpr. inspect.CodeType test.support.
        lib2to3. doctest.
    """,
    "import-hook": """
        sys.meta_path sys.path_hooks sys.path_importer_cache sys.settrace sys.setprofile
        threading.settrace site.addsitedir site.addpackage sys.addaudithook codecs.register
        builtins.__build_class__ gc.get_objects gc.get_referrers
    """,
    "native-call": """
        ctypes.CDLL ctypes.PyDLL ctypes.WinDLL ctypes.OleDLL ctypes.cdll ctypes.pydll
        ctypes.windll ctypes.oledll ctypes.LibraryLoader ctypes.pythonapi ctypes.CFUNCTYPE
        ctypes.PYFUNCTYPE ctypes.WINFUNCTYPE ctypes.memmove ctypes.memset ctypes.string_at
        ctypes.wstring_at ctypes.cast ctypes.py_object ctypes.util. _ctypes. cffi.
        llvmlite.binding. numba.cfunc numpy.ctypeslib. torch.ops.load_library
        torch.utils.cpp_extension. cppyy. pyximport.
    """,
    "subprocess": """
        subprocess.run subprocess.Popen subprocess.call subprocess.check_call
        subprocess.check_output subprocess.getoutput subprocess.getstatusoutput
        _posixsubprocess. os.system os.popen os.popen2 os.popen3 os.popen4 os.execl os.execle
        os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe os.spawnl os.spawnle
        os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp os.spawnvpe os.posix_spawn
        os.posix_spawnp os.fork os.forkpty os.startfile pty. popen2. commands. pexpect. sh.
        plumbum. invoke. fabric. asyncio.create_subprocess_exec asyncio.create_subprocess_shell
        asyncio.subprocess. anyio.run_process anyio.open_process trio.run_process platform.popen
        webbrowser. psutil.Popen distutils.spawn.
    """,
    "processes": """
        multiprocessing.Process multiprocessing.Pool multiprocessing.pool.
        multiprocessing.get_context multiprocessing.context. multiprocessing.process.
        concurrent.futures.ProcessPoolExecutor concurrent.futures.process. os.kill os.killpg
        signal.pidfd_send_signal signal.pthread_kill
    """,
    "network": """
        socket.socket socket.create_connection socket.create_server socket.fromfd
        socket.getaddrinfo socket.gethostbyname socket.gethostbyname_ex socket.gethostbyaddr
        socket.SocketType socketserver. ssl.wrap_socket ssl.SSLSocket ssl.get_server_certificate
        urllib.request. urllib.urlopen urllib2. urllib3. http.client. http.server. httplib.
        httplib2. requests. httpx. aiohttp. ftplib. smtplib. telnetlib. poplib. imaplib.
        nntplib. xmlrpc. websocket. websockets. wsproto. paramiko. asyncio.open_connection
        asyncio.start_server asyncio.open_unix_connection asyncio.start_unix_server tornado.
        twisted. zmq. grpc. boto3. botocore. pycurl. dns. smbclient. ftputil. wget. gdown.
        fsspec. s3fs. gcsfs. torch.hub. huggingface_hub. wandb. kaggle. kagglehub. google.cloud.
        azure. sentry_sdk. flask. uvicorn. logging.handlers.HTTPHandler
        logging.handlers.SocketHandler logging.handlers.SMTPHandler
        logging.handlers.DatagramHandler logging.handlers.SysLogHandler logging.config.listen
    """,
    "file-write": """
        os.remove os.unlink os.rename os.renames os.replace os.rmdir os.removedirs os.mkdir
        os.makedirs os.chmod os.chown os.lchown os.symlink os.link os.truncate os.mknod
        os.mkfifo os.utime os.setxattr os.chroot shutil.rmtree shutil.move shutil.copy
        shutil.copy2 shutil.copyfile shutil.copytree shutil.chown shutil.copymode
        shutil.unpack_archive shutil.make_archive pathlib.Path().write_text
        pathlib.Path().write_bytes pathlib.Path().unlink pathlib.Path().rename
        pathlib.Path().replace pathlib.Path().rmdir pathlib.Path().mkdir pathlib.Path().touch
        pathlib.Path().chmod pathlib.Path().symlink_to pathlib.Path().hardlink_to
        tarfile.open().extractall tarfile.open().extract zipfile.ZipFile().extractall
        zipfile.ZipFile().extract sqlite3.connect dbm.open
    """,
    "secret-read": """
        keyring. getpass.getpass netrc. spwd. crypt. browser_cookie3. win32crypt. pwd.getpwall
    """,
}
_BY_NAME = {name: rule for rule, names in _NAMES.items() for name in names.split()}

EFFECTS = {
    "computed-import",
    "computed-name",
    "dynamic-code",
    "encoded-code",
    "file-read-outside",
    "file-write",
    "file-write-outside",
    "introspection",
    "native-call",
    "network",
    "processes",
    "secret-read",
    "subprocess",
    "unpickling",
}
"""Rules whose matter should not happen while a module is being imported."""

READERS = {
    "builtins.open": 1,
    "codecs.open": 1,
    "gzip.open": 1,
    "bz2.open": 1,
    "lzma.open": 1,
    "os.open": 1,
    "os.fdopen": 1,
    "numpy.memmap": 2,
    "zipfile.ZipFile": 1,
    "tarfile.open": 1,
    "pathlib.Path().open": 0,
    "pathlib.Path().read_text": None,
    "pathlib.Path().read_bytes": None,
    "pathlib.Path().iterdir": None,
    "pathlib.Path().glob": None,
    "pathlib.Path().rglob": None,
    "os.listdir": None,
    "os.walk": None,
    "os.scandir": None,
    "glob.glob": None,
    "glob.iglob": None,
}
"""Calls that open something, and which positional argument is the mode (``None``: only read)."""

WRITING_METHODS = {"hardlink_to", "symlink_to", "write_bytes", "write_text"}
"""Methods that only paths have, so that they count on any object."""

INTROSPECTION = {
    "__builtins__",
    "__globals__",
    "__subclasses__",
    "f_builtins",
    "f_globals",
}
"""Attributes that lead from any object to every function."""

POWERFUL = {
    "builtins",
    "cloudpickle",
    "ctypes",
    "importlib",
    "marshal",
    "os",
    "pickle",
    "pty",
    "requests",
    "runpy",
    "shutil",
    "socket",
    "subprocess",
    "sys.modules",
    "urllib.request",
}
"""Modules of which a name chosen at run time can be anything."""

ALIASES = {
    "__builtin__": "builtins",
    "__builtins__": "builtins",
    "_io": "io",
    "_pickle": "pickle",
    "_socket": "socket",
    "cPickle": "pickle",
    "dill._dill": "dill",
    "importlib.import_module": "builtins.__import__",
    "importlib.__import__": "builtins.__import__",
    "io.FileIO": "builtins.open",
    "io.open": "builtins.open",
    "io.open_code": "builtins.open",
    "nt": "os",
    "numpy.lib.npyio": "numpy",
    "pathlib.PosixPath": "pathlib.Path",
    "pathlib.WindowsPath": "pathlib.Path",
    "posix": "os",
    "torch.serialization": "torch",
    "yaml.loader": "yaml",
}
"""Other names of the same thing; a name below one of these is one below its meaning."""

SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|PRIVATE_?KEY|API_?KEY|ACCESS_?KEY|CREDENTIAL|_AUTH|_PAT$", re.I
)
SECRET_PATH = re.compile(
    r"\.ssh(/|$)|\.aws(/|$)|\.kube(/|$)|\.gnupg(/|$)|\.netrc|\.pypirc|\.git-credentials|"
    r"\.docker/config|\.npmrc|id_rsa|id_ed25519|/etc/(shadow|sudoers)|169\.254\.169\.254|"
    r"metadata\.google\.internal|/proc/(self|\d+)/environ|Login Data|wallet\.dat|\.bash_history"
)


def rule_of(name: str) -> str | None:
    """Return the rule that a qualified name falls under."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if "()" in name:
        return None  # what was called has been reported; what it returned is not news
    last = name.rpartition(".")[2]
    # Constants, exceptions and the like of a module do nothing.
    if (last.isupper() and "_" in last) or last.endswith(
        ("Error", "Exception", "Warning", "Timeout", "Expired")
    ):
        return None
    end = name.rfind(".")
    while end > 0:
        if rule := _BY_NAME.get(name[: end + 1]):
            return rule
        end = name.rfind(".", 0, end)
    return None
