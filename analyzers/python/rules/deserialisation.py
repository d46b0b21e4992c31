"""Rules about turning stored or sent data back into objects, where the data can say what to run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.patterns import lazy
from analyzers.python.fixed import is_fixed
from analyzers.python.interests import calls, keywords, methods
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.values import argument, is_false, is_true, keyword, text_of
from analyzers.rule import Hit, Rule

_PICKLES = """
    pickle.loads pickle.load pickle.Unpickler _pickle.loads _pickle.load cPickle.loads cPickle.load cPickle.Unpickler
    dill.loads dill.load dill.Unpickler shelve.open shelve.DbfilenameShelf jsonpickle.decode
    jsonpickle.unpickler.decode jsonpickle.unpickler.Unpickler pandas.read_pickle cloudpickle.load cloudpickle.loads
    joblib.load sklearn.externals.joblib.load pandas.compat.pickle_compat.load
"""
_OTHERS = frozenset(
    """
    cloudpickle.load cloudpickle.loads joblib.load sklearn.externals.joblib.load pandas.compat.pickle_compat.load
    _pickle.loads _pickle.load
""".split()
)
_SAFE_LOADERS = frozenset({"SafeLoader", "CSafeLoader", "BaseLoader", "CBaseLoader", "FullLoader", "CFullLoader"})
_FULL_LOADERS = frozenset({"FullLoader", "CFullLoader"})
_COMMIT = lazy(r"[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?")
_MIN_DIGITS = 7
_HUB_USERS = ("transformers", "diffusers", "sentence_transformers")
_HUB = """
    huggingface_hub.hf_hub_download huggingface_hub.snapshot_download datasets.load_dataset
    huggingface_hub.file_download.hf_hub_download
"""


def pickle_loaded(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """Pickled data is loaded: while it is read it calls what it names.

    Whoever can change the data runs any code (CWE-502). For data that others can write use a format that holds data
    only, such as JSON; for your own files sign them, and check the signature before loading.
    """
    names = origins(call.func, at)
    also = () if not _OTHERS.isdisjoint(names) else ("B301",)
    if "shelve.open" in names:
        yield at.hit(
            call, "a shelf holds pickles, which call what they name while they are read", severity=Severity.LOW
        )
        return
    severity = Severity.LOW if call.args and is_fixed(call.args[0], at) else None
    yield at.hit(call, "pickled data calls what it names while it is read", also=also, severity=severity)


def marshal_loaded(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """``marshal`` reads code objects, and crafted data crashes the interpreter.

    It is meant for compiled modules alone. Use JSON for data.
    """
    severity = Severity.LOW if is_fixed(argument(call, 0), at) else None
    yield at.hit(call, "marshal trusts its data: it crashes the interpreter, or brings code", severity=severity)


def yaml_loaded(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """YAML is loaded by a loader that makes any Python object the document asks for.

    ``!!python/object/apply:os.system`` in the document runs a command. Use ``yaml.safe_load``, or
    ``Loader=yaml.SafeLoader``.
    """
    loader = argument(call, 1, "Loader")
    names = () if loader is None else origins(loader, at)
    words = {name.rpartition(".")[2] for name in names}
    if words & _SAFE_LOADERS:
        if words & _FULL_LOADERS:
            yield at.hit(call, "FullLoader makes more than plain data, and did run code", severity=Severity.LOW)
        return
    severity = Severity.LOW if is_fixed(argument(call, 0, "stream"), at) else None
    what = "without a Loader" if loader is None else "with this Loader"
    yield at.hit(call, f"{what} the document decides which objects are made", severity=severity)


def yaml_unsafe(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """YAML is loaded by a function that is unsafe by name.

    It makes any Python object that the document asks for. Use ``yaml.safe_load``.
    """
    yield at.hit(call, "the document decides which objects are made")


def model_loaded(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A model file is loaded as a pickle: while it is read it calls what it names.

    Model files are shared widely, and a pickle in one runs any code. Give ``torch.load`` ``weights_only=True``,
    ``numpy.load`` ``allow_pickle=False`` and Keras ``safe_mode=True``, or use ``safetensors``.
    """
    names = origins(call.func, at)
    if any(name.startswith("torch.") for name in names):
        if not is_true(keyword(call, "weights_only"), at):
            yield at.hit(call, "without weights_only=True the file calls what it names while it is read")
    elif any(name.startswith("numpy.") for name in names):
        if is_true(keyword(call, "allow_pickle"), at):
            yield at.hit(call, "allow_pickle=True lets the file call what it names while it is read", also=())
    elif is_false(keyword(call, "safe_mode"), at):
        yield at.hit(call, "safe_mode=False lets the file bring code", also=())


def hub_unpinned(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A model or data set is downloaded without saying which commit of it.

    Whoever can push to that repository changes what this program loads. Pin it: ``revision="<40 hex digits>"``.
    """
    names = origins(call.func, at)
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "from_pretrained"
    known = any(name.partition(".")[0] in _HUB_USERS for name in names)
    if is_method and not known and not any(map(at.tree.imports, _HUB_USERS)):
        return
    source = argument(call, 0, "repo_id") or keyword(call, "pretrained_model_name_or_path") or keyword(call, "path")
    text = text_of(source, at)
    if text is not None and text.startswith(("/", "./", "../", "~")):
        return
    for name in ("revision", "commit_id"):
        revision = keyword(call, name)
        if revision is not None:
            pinned = text_of(revision, at)
            if pinned is None or _COMMIT.fullmatch(pinned):
                return
            if len(pinned) >= _MIN_DIGITS and all(character in "0123456789abcdef" for character in pinned):
                return
    yield at.hit(call, "whatever the repository holds at that moment is loaded")


def remote_code(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A model is loaded with the permission to run the code that comes with it.

    Whoever owns the repository runs code here. Leave ``trust_remote_code`` out, or read that code and pin its commit.
    """
    if is_true(keyword(call, "trust_remote_code"), at):
        yield at.hit(call, "trust_remote_code=True runs the code of the repository")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH150",
        name="pickle-loaded",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=502,
        check=pickle_loaded,
        on=(calls(_PICKLES),),
        also=("B301",),
        hits=(
            "import pickle\npickle.loads(data)\n",
            "import dill as d\nd.load(f)\n",
            "from cPickle import loads\nloads(x)\n",
            "import joblib\nmodel = joblib.load(path)\n",
            "import pandas as pd\npd.read_pickle(path)\n",
            "pickle.load(f)\n",
        ),
        misses=("import pickle\npickle.dumps(x)\n", "import json\njson.loads(x)\n", "class A: pass\nA().loads(x)\n"),
    ),
    Rule(
        id="FH151",
        name="marshal-loaded",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=502,
        check=marshal_loaded,
        on=(calls("marshal.load marshal.loads"),),
        also=("B302",),
        hits=("import marshal\nmarshal.loads(x)\n",),
        misses=("import marshal\nmarshal.dumps(x)\n",),
    ),
    Rule(
        id="FH152",
        name="yaml-loaded",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=502,
        check=yaml_loaded,
        on=(calls("yaml.load yaml.load_all ruamel.yaml.load"),),
        also=("B506",),
        hits=(
            "import yaml\nyaml.load(text)\n",
            "import yaml\nyaml.load(text, Loader=yaml.Loader)\n",
            "from yaml import load, UnsafeLoader\nload(text, UnsafeLoader)\n",
        ),
        misses=(
            "import yaml\nyaml.safe_load(text)\n",
            "import yaml\nyaml.load(text, Loader=yaml.SafeLoader)\n",
            "import yaml\nyaml.load(text, yaml.CSafeLoader)\n",
            "import yaml\nclass L(yaml.SafeLoader): pass\nyaml.load(text, Loader=L)\n",
            "import json\njson.load(f)\n",
        ),
    ),
    Rule(
        id="FH153",
        name="yaml-unsafe",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=502,
        check=yaml_unsafe,
        on=(calls("yaml.unsafe_load yaml.unsafe_load_all"),),
        hits=("import yaml\nyaml.unsafe_load(text)\n",),
        misses=("import yaml\nyaml.safe_load_all(text)\n",),
    ),
    Rule(
        id="FH154",
        name="model-loaded",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=502,
        check=model_loaded,
        on=(
            calls(
                "torch.load torch.serialization.load numpy.load numpy.lib.npyio.load keras.models.load_model "
                "tensorflow.keras.models.load_model keras.saving.load_model"
            ),
        ),
        also=("B614",),
        hits=(
            "import torch\ntorch.load(path)\n",
            "import torch\ntorch.load(path, weights_only=False)\n",
            "import numpy as np\nnp.load(path, allow_pickle=True)\n",
            "import keras\nkeras.models.load_model(path, safe_mode=False)\n",
        ),
        misses=(
            "import torch\ntorch.load(path, weights_only=True)\n",
            "import numpy as np\nnp.load(path)\n",
            "import keras\nkeras.models.load_model(path)\n",
        ),
    ),
    Rule(
        id="FH155",
        name="hub-unpinned",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=494,
        check=hub_unpinned,
        on=(calls(_HUB), methods("from_pretrained")),
        also=("B615",),
        hits=(
            "from transformers import AutoModel\nAutoModel.from_pretrained('a/b')\n",
            "from datasets import load_dataset\nload_dataset('a', revision='main')\n",
            "from huggingface_hub import snapshot_download\nsnapshot_download(repo_id='a/b')\n",
        ),
        misses=(
            "from transformers import AutoModel\nAutoModel.from_pretrained('./here')\n",
            f"from datasets import load_dataset\nload_dataset('a', revision='{'0a1b2c3d' * 5}')\n",
            "Mine.from_pretrained('a/b')\n",
        ),
    ),
    Rule(
        id="FH156",
        name="remote-code",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=829,
        check=remote_code,
        on=(keywords("trust_remote_code"),),
        hits=("from transformers import AutoModel\nAutoModel.from_pretrained('a/b', trust_remote_code=True)\n",),
        misses=("from transformers import AutoModel\nAutoModel.from_pretrained('a/b', trust_remote_code=False)\n",),
    ),
)
