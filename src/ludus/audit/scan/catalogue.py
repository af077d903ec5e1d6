"""Qualified names of functions and modules, by the rule that applies to their use.

A name that ends in a dot includes everything below it. ``()`` in a name is the result of a call:
``pathlib.Path().unlink`` is a method of a path.
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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Those under computed-name are reported by bandit if they are called by their plain names.
_NAMES = {
    "computed-name": """
        builtins.eval builtins.exec pickle.load pickle.loads marshal.load marshal.loads
    """,
    "unpickling": """
        cloudpickle.load cloudpickle.loads cloudpickle.Unpickler joblib.load pickle.Unpickler
        hickle. klepto. torch.jit.load keras.models.load_model
        tensorflow.keras.models.load_model sklearn.externals.joblib.
        stable_baselines3.common.save_util.load_from_zip_file
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

EFFECTS = _words("""
    computed-import computed-name file-read-outside file-write file-write-outside native-call
    network processes secret-read subprocess unpickling
""")
"""Rules about effects that should not happen at import."""

_WITH_MODE = """
    builtins.open codecs.open gzip.open bz2.open lzma.open os.open os.fdopen zipfile.ZipFile
    tarfile.open
"""
_READ_ONLY = """
    pathlib.Path().read_text pathlib.Path().read_bytes pathlib.Path().iterdir pathlib.Path().glob
    pathlib.Path().rglob os.listdir os.walk os.scandir glob.glob glob.iglob
"""
READERS: dict[str, int | None] = {
    **dict.fromkeys(_words(_WITH_MODE), 1),
    **dict.fromkeys(_words(_READ_ONLY)),
    "numpy.memmap": 2,
    "pathlib.Path().open": 0,
}
"""Functions that open files, with the position of the argument ``mode`` (``None``: read-only)."""

WRITING_METHODS = {"hardlink_to", "symlink_to", "write_bytes", "write_text"}
"""Methods that only paths have, so they are reported for any object."""

INTROSPECTION = {"__builtins__", "__globals__", "__subclasses__", "f_builtins", "f_globals"}
"""Attributes that give access to all functions from any object."""

POWERFUL = _words("""
    builtins cloudpickle ctypes importlib marshal os pickle pty requests runpy shutil socket
    subprocess sys.modules urllib.request
""")
"""Modules in which a name chosen at run time can have any effect."""

ALIASES = {
    "__builtin__": "builtins",
    "__builtins__": "builtins",
    "_io": "io",
    "_pickle": "pickle",
    "_socket": "socket",
    "cPickle": "pickle",
    "importlib.import_module": "builtins.__import__",
    "importlib.__import__": "builtins.__import__",
    "io.FileIO": "builtins.open",
    "io.open": "builtins.open",
    "io.open_code": "builtins.open",
    "nt": "os",
    "pathlib.PosixPath": "pathlib.Path",
    "pathlib.WindowsPath": "pathlib.Path",
    "posix": "os",
}
"""Alternative names of modules and functions; they apply to names below them, too."""

SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|PRIVATE_?KEY|API_?KEY|ACCESS_?KEY|CREDENTIAL|_AUTH|_PAT$", re.I
)
SECRET_PATH = re.compile(
    r"\.ssh(/|$)|\.aws(/|$)|\.kube(/|$)|\.gnupg(/|$)|\.netrc|\.pypirc|\.git-credentials|"
    r"\.docker/config|\.npmrc|id_rsa|id_ed25519|/etc/(shadow|sudoers)|169\.254\.169\.254|"
    r"metadata\.google\.internal|/proc/(self|\d+)/environ|Login Data|wallet\.dat|\.bash_history"
)


def rule_of(name: str) -> str | None:
    """Return the rule that applies to a qualified name, or ``None``."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if "()" in name:
        return None  # the call itself has been reported
    last = name.rpartition(".")[2]
    # Constants and exceptions of a module have no effect.
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
