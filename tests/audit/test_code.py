"""Each rule about code finds what it is about, through aliases too, and leaves the rest alone."""

from __future__ import annotations

import pytest

from ludus.audit.rules import RULES
from ludus.audit.scan.child import examine
from tests.audit.support import rules_in

PLAIN = {
    "unpickling": [
        "import cloudpickle\ndef f(x): cloudpickle.loads(x)",
        "import joblib\ndef f(x): joblib.load(x)",
        "import torch\ndef f(x): torch.jit.load(x)",
        "from pickle import Unpickler\nclass U(Unpickler): pass",
        "import numpy as np\ndef f(x): np.load(x, allow_pickle=True)",
        "import numpy as np\ndef f(x, **kw): np.load(x, **kw)",
        "import numpy as np\ndef f(x, y): np.load(x, None, y)",
    ],
    "subprocess": [
        "import subprocess\ndef f(): subprocess.run(['ls'])",
        "import os\ndef f(): os.system('ls')",
        "import os\ndef f(): os.execv('ls', [])",
        "import pty\ndef f(): pty.spawn('sh')",
        "import os\ndef f(): os.posix_spawn('ls', [], {})",
        "import asyncio\nasync def f(): await asyncio.create_subprocess_shell('ls')",
    ],
    "processes": ["import multiprocessing\ndef f(): multiprocessing.Process(target=f)"],
    "network": [
        "import socket\ndef f(): socket.socket().connect(('a', 1))",
        "import urllib.request\ndef f(): urllib.request.urlopen('http://a')",
        "import requests\ndef f(): requests.post('http://a')",
        "from http import client\ndef f(): client.HTTPSConnection('a')",
        "import ftplib\ndef f(): ftplib.FTP('a')",
        "import aiohttp\nasync def f(): aiohttp.ClientSession()",
    ],
    "native-call": [
        "import ctypes\ndef f(): ctypes.CDLL('x.so')",
        "import cffi\ndef f(): cffi.FFI()",
        "from ctypes import cdll\ndef f(): cdll.LoadLibrary('x')",
    ],
    "secret-read": [
        "import os\ndef f(): return os.environ['AWS_SECRET_ACCESS_KEY']",
        "import os\ndef f(): return os.getenv('GITHUB_TOKEN')",
        "from os import environ as e\ndef f(): return e.get('DB_PASSWORD')",
        "def f(): return open('/home/me/.ssh/id_rsa')",
        "import keyring\ndef f(): keyring.get_password('a', 'b')",
    ],
    "file-write": [
        "def f(x): open(x, 'w')",
        "def f(x, mode): open(x, mode)",
        "import os\ndef f(x): os.remove(x)",
        "import shutil\ndef f(x): shutil.rmtree(x)",
        "def f(path): path.write_text('x')",
        "import os\ndef f(x): os.open(x, os.O_WRONLY | os.O_CREAT)",
    ],
    "file-write-outside": [
        "def f(): open('/etc/cron.d/x', 'w')",
        "import os\ndef f(): open(os.path.expanduser('~/.bashrc'), 'a')",
        "from pathlib import Path\ndef f(): (Path.home() / '.profile').write_text('x')",
        "from pathlib import Path\ndef f(): Path('../../x').write_bytes(b'')",
        "import os\ndef f(): os.unlink('/etc/hosts')",
    ],
    "file-read-outside": [
        "def f(): open('/etc/passwd')",
        "from pathlib import Path\ndef f(): Path('~/x').expanduser().read_text()",
        "import os\ndef f(): os.listdir('/home')",
    ],
    "computed-import": [
        "def f(x): __import__(x)",
        "import importlib\ndef f(x): importlib.import_module(x)",
    ],
    "computed-name": [
        "import os\ndef f(x): getattr(os, x)()",
        "import sys\ndef f(x): sys.modules[x]",
        "import os\ndef f(x): os.__dict__[x]",
        "import os\ndef g(m): m.system('ls')\ndef f(): g(os)",
        "import builtins\ndef f(x): getattr(builtins, x)",
        "def f(): ().__class__.__base__.__subclasses__()",
        "def f(g): g.__globals__['os']",
        "def f(x): getattr(x, '__subclasses__')",
    ],
    "unscanned-file": [
        "print 'Python 2'",
        "def f(:",
        "x = 1\0",
        b"# coding: nonsense\nx = 1\n",
        b"# coding: utf-7\nx = 1\n",
        b"# coding: rot13\nx = 1\n",
    ],
    "import-time-effect": [
        "import os\nos.system('ls')",
        "import socket\nclass A:\n    s = socket.socket()",
        "import os\ndef f(): os.system('ls')\nf()",
        "import os\ndef g(): os.system('ls')\ndef f(): g()\nx = f()",
        "import os\nclass A:\n    def __init__(self): os.system('ls')\nA()",
        "import os\nclass A:\n    def go(self): os.system('ls')\nA().go()",
        "import os\nx: os.system('ls') = 1",
        "import os\ndef f(a=os.system('ls')): pass",
        "import os\n@os.system\ndef f(): pass",
        "import os, atexit\ndef f(): os.system('ls')\natexit.register(f)",
        "import os\n(lambda: os.system('ls'))()",
        "import os\n[os.system('ls') for _ in 'a']",
        "import os\nif __name__ != '__main__':\n    os.system('ls')",
        "import os\ntry:\n    pass\nfinally:\n    os.system('ls')",
        "import os\nmatch 1:\n    case _:\n        os.system('ls')",
        "import os\nwith os.popen('ls'): pass",
    ],
}
CASES = [(rule, source) for rule, sources in PLAIN.items() for source in sources]


@pytest.mark.parametrize(("rule", "source"), CASES)
def test_it_is_found(rule, source):
    assert rule in rules_in(source)


EVASIONS = {
    "an alias of a module": "import os as harmless\ndef f(): harmless.system('ls')",
    "an alias of a function": "from os import system as harmless\ndef f(): harmless('ls')",
    "a star import": "from os import *\ndef f(): system('ls')",
    "a variable": "import os\nrun = os\ndef f(): run.system('ls')",
    "an attribute": (
        "import os\nclass A:\n    def f(self):\n        self.x = os\n        self.x.system('ls')"
    ),
    "a name with a harmless meaning too": (
        "from os import system as f\nif 0:\n    f = open\ndef g(): f('ls')"
    ),
    "a comparison that is none": (
        "import os\ndef isinstance(f, x): f(x)\ndef g(): isinstance(os.system, 'ls')"
    ),
    "an attribute after a star import": (
        "from json import *\nimport os\nx.y = os\ndef f(): x.y.system('ls')"
    ),
    "an import in a class": "class A:\n    import os\ndef f(): A.os.system('ls')",
    "a function that returns it": "import os\ndef g(): return os\ndef f(): g().system('ls')",
    "a lambda that returns it": "import os\ng = lambda: os\ndef f(): g().system('ls')",
    "getattr": "import os\ndef f(): getattr(os, 'system')('ls')",
    "getattr with a joined name": "import os\ndef f(): getattr(os, 'sys' + 'tem')('ls')",
    "getattr with characters": "import os\ndef f(): getattr(os, chr(115) + 'ystem')('ls')",
    "getattr with a reversed name": "import os\ndef f(): getattr(os, 'metsys'[::-1])('ls')",
    "getattr with join": "import os\ndef f(): getattr(os, ''.join(['sys', 'tem']))('ls')",
    "getattr with numbers": (
        "import os\ndef f(): getattr(os, ''.join(map(chr, [115, 121, 115, 116, 101, 109])))('ls')"
    ),
    "getattr with base64": (
        "import os, base64\ndef f(): getattr(os, base64.b64decode('c3lzdGVt').decode())('ls')"
    ),
    "getattr with rot13": (
        "import os, codecs\ndef f(): getattr(os, codecs.decode('flfgrz', 'rot13'))('ls')"
    ),
    "getattr with a variable": "import os\nname = 'system'\ndef f(): getattr(os, name)('ls')",
    "getattr with format": "import os\ndef f(): getattr(os, '%s%s' % ('sys', 'tem'))('ls')",
    "getattr with an f-string": "import os\ndef f(): getattr(os, f'sys{\"tem\"}')('ls')",
    "attrgetter": "import os, operator\ndef f(): operator.attrgetter('system')(os)('ls')",
    "vars": "import os\ndef f(): vars(os)['system']('ls')",
    "__dict__": "import os\ndef f(): os.__dict__['system']('ls')",
    "__dict__.get": "import os\ndef f(): os.__dict__.get('system')('ls')",
    "__getattribute__": "import os\ndef f(): object.__getattribute__(os, 'system')('ls')",
    "__import__": "def f(): __import__('os').system('ls')",
    "import_module": "import importlib\ndef f(): importlib.import_module('o' + 's').system('ls')",
    "import_module by alias": (
        "from importlib import import_module as i\nm = i('os')\ndef f(): m.system('ls')"
    ),
    "sys.modules": "import sys\ndef f(): sys.modules['os'].system('ls')",
    "another module's import": "import shutil\ndef f(): shutil.os.system('ls')",
    "another module's private import": "import random\ndef f(): random._os.system('ls')",
    "the C module": "import posix\ndef f(): posix.system('ls')",
    "a list": "import os\ndef f(): [os][0].system('ls')",
    "a comprehension": "import os\ndef f(): [m for m in (os,)][0].system('ls')",
    "a dict": "import os\nd = {'a': os}\ndef f(): d['a'].system('ls')",
    "a loop": "import os\ndef f():\n    for m in (os,): m.system('ls')",
    "a parameter's default": "import os\ndef f(m=os): m.system('ls')",
    "a walrus": "import os\ndef f(): (m := os).system('ls')",
    "a condition": "import os, sys\ndef f(): (os if sys else None).system('ls')",
    "unpacking": "import os, sys\na, b = os, sys\ndef f(): a.system('ls')",
    "setattr": "import os\nsetattr(x, 'y', os)\ndef f(): x.y.system('ls')",
    "partial": "import os, functools\ndef f(): functools.partial(os.system, 'ls')()",
    "handing it over": "import os, threading\ndef f(): threading.Thread(target=os.system)",
    "__call__": "import os\ndef f(): os.system.__call__('ls')",
    "reload": "import os, importlib\ndef f(): importlib.reload(os).system('ls')",
    "global": "def g():\n    global m\n    import os as m\ndef f(): m.system('ls')",
    "nonlocal": (
        "def f():\n    m = None\n    def g():\n        nonlocal m\n        import os as m\n"
        "    g()\n    m.system('ls')"
    ),
    "reaching through itself": "import shutil\nm = shutil\nm = m.os\ndef f(): m.system('ls')",
    "nested functions": "def f():\n    import os\n    def g(): os.system('ls')",
}


@pytest.mark.parametrize("source", EVASIONS.values(), ids=EVASIONS)
def test_a_call_by_detour_is_found(source):
    assert "subprocess" in rules_in(source)


ENTANGLED = {
    "more decoys than are followed": "".join(f"m = x{i}\n" for i in range(1000)),
    "a longer chain than is followed": "import os\nx0 = os\n"
    + "".join(f"x{i + 1} = x{i}\n" for i in range(1000))
    + "m = x1000\n",
    "names that multiply": "".join(
        f"def g{i}(): return g{i + 1}() or g{i + 1}()\n" for i in range(50)
    )
    + "import os\ndef g50(): return os\nm = g0()\n",
}


@pytest.mark.parametrize("source", ENTANGLED.values(), ids=ENTANGLED)
def test_what_cannot_be_followed_to_its_end_is_said(source):
    found = rules_in(source + "import os\nm = os\ndef f(): m.system('ls')\n")
    assert found & {"subprocess", "unscanned-file"}


BUILTIN_EVASIONS = {
    "builtins": "import builtins\ndef f(x): builtins.eval(x)",
    "builtins by another name": "import builtins as b\ndef f(x): b.eval(x)",
    "__builtins__": "def f(x): __builtins__['eval'](x)",
    "__builtins__ as a module": "def f(x): __builtins__.exec(x)",
    "globals": "def f(x): globals()['__builtins__']['exec'](x)",
    "getattr": "import builtins\ndef f(x): getattr(builtins, 'ev' + 'al')(x)",
    "an alias": "run = eval\ndef f(x): run(x)",
    "handing it over": "def f(x): return list(map(eval, x))",
    "a list": "def f(x): [exec][0](x)",
    "an alias of a module's": "import pickle\nread = pickle.loads\ndef f(x): read(x)",
}


@pytest.mark.parametrize("source", BUILTIN_EVASIONS.values(), ids=BUILTIN_EVASIONS)
def test_a_builtin_by_detour_is_found(source):
    assert "computed-name" in rules_in(source)


HARMLESS = [
    "import os\nx = os.path.join('a', 'b')\ny = os.getpid()",
    "import ast\ndef f(x): ast.literal_eval(x)",
    "import re\nx = re.compile('a')",
    "def f(eval): return eval(1)",
    "class Model:\n    def eval(self): pass\ndef f(model): model.eval()",
    "import os\nHOME = os.environ.get('HOME')\nos.environ.setdefault('SDL_VIDEODRIVER', 'dummy')",
    "def f(x): return open(x).read()",
    "import subprocess\ndef f(x): return isinstance(x, subprocess.Popen)",
    "import socket\ndef f(x: socket.socket) -> socket.socket: return x",
    "import subprocess\ndef f():\n    try: pass\n    except subprocess.TimeoutExpired: pass",
    "from urllib.parse import urlsplit\nx = urlsplit('http://a')",
    "import pickle\nx = pickle.dumps(1)",
    "import numpy as np\ndef f(x): np.load(x)",
    "import numpy as np\ndef f(x): np.load(x, allow_pickle=False)",
    "import importlib\nx = importlib.import_module('json')",
    "import os\nx = hasattr(os, 'fork')\ny = getattr(os, 'sep')",
    '"""About pickle.loads, eval and ~/.ssh/id_rsa."""',
    "import ctypes\nclass P(ctypes.Structure):\n    _fields_ = [('x', ctypes.c_int)]",
]


@pytest.mark.parametrize("source", HARMLESS)
def test_harmless_code_is_left_alone(source):
    assert not rules_in(source)


def test_what_runs_as_a_program_does_not_run_at_import():
    source = "import os\nif __name__ == '__main__':\n    os.system('ls')\n"
    assert rules_in(source) == {"subprocess"}
    assert "import-time-effect" in rules_in(source, "setup.py")


def test_a_function_nobody_calls_does_not_run_at_import():
    assert rules_in("import os\ndef f(): os.system('ls')\nx = f") == {"subprocess"}


def test_findings_give_line_and_name():
    hits = examine("a.py", b"import os as o\n\ndef f():\n    o.system('ls')\n")["hits"]
    assert hits == [["subprocess", 4, "os.system"]]


def test_every_rule_of_the_scanner_is_explained():
    assert {rule for rule, _ in CASES} <= set(RULES)
    for rule in RULES.values():
        assert rule.meaning.endswith(".")
        assert rule.advice
