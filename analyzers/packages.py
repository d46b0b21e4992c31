"""The most downloaded packages of PyPI, and the packages whose modules have another name.

The list is read when a module is asked for that neither Python nor this file knows. What it lacks may well exist: it is
a list of what is popular, of the month it says.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from functools import cache

from analyzers.named import NamedTuple

_FILE = os.path.join(os.path.dirname(__file__), "pypi.zlib")
_POPULAR = 4000
"""So many of the most downloaded are worth imitating."""
_LEAST_IMITATED = 5
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-"

# Module: package. Only what the rules below (``python-x``, ``x-python``, ``pyx``, ``x-…``) do not find out.
_OF_MODULE = dict(
    pair.split(":")
    for pair in (
        "cv2:opencv-python yaml:pyyaml bs4:beautifulsoup4 PIL:pillow sklearn:scikit-learn skimage:scikit-image "
        "Crypto:pycryptodome Cryptodome:pycryptodomex OpenSSL:pyopenssl jwt:pyjwt serial:pyserial usb:pyusb "
        "dateutil:python-dateutil dotenv:python-dotenv docx:python-docx pptx:python-pptx jose:python-jose "
        "magic:python-magic multipart:python-multipart slugify:python-slugify ldap:python-ldap "
        "gitlab:python-gitlab telegram:python-telegram-bot nmap:python-nmap whois:python-whois Xlib:python-xlib "
        "MySQLdb:mysqlclient psycopg2:psycopg2-binary win32api:pywin32 win32con:pywin32 win32com:pywin32 "
        "pythoncom:pywin32 wx:wxpython gi:pygobject cairo:pycairo zmq:pyzmq nacl:pynacl fitz:pymupdf "
        "pkg_resources:setuptools _pytest:pytest attr:attrs rest_framework:djangorestframework "
        "corsheaders:django-cors-headers environ:django-environ debug_toolbar:django-debug-toolbar "
        "storages:django-storages crispy_forms:django-crispy-forms google:protobuf "
        "googleapiclient:google-api-python-client grpc:grpcio grpc_tools:grpcio-tools "
        "apiclient:google-api-python-client azure:azure-core airflow:apache-airflow lightning_fabric:lightning "
        "faiss:faiss-cpu umap:umap-learn community:python-louvain mpl_toolkits:matplotlib pylab:matplotlib "
        "bson:pymongo gridfs:pymongo odf:odfpy pdfminer:pdfminer-six barcode:python-barcode "
        "speech_recognition:speechrecognition osgeo:gdal github:pygithub git:gitpython jenkins:python-jenkins "
        "slack:slackclient discord:discord-py factory:factory-boy snowflake:snowflake-connector-python "
        "cassandra:cassandra-driver kafka:kafka-python stomp:stomp-py paho:paho-mqtt websocket:websocket-client "
        "socketio:python-socketio engineio:python-engineio tortoise:tortoise-orm RPi:rpi-gpio ruamel:ruamel-yaml "
        "opentelemetry:opentelemetry-api zope:zope-interface pywintypes:pywin32 dns:dnspython "
        "memcache:python-memcached decouple:python-decouple box:python-box talib:ta-lib"
    ).split()
)
# Of the same name, and met so often that the list need not be read for them.
_USUAL = frozenset(
    (
        "Cython IPython Levenshtein PyPDF2 PyQt5 PyQt6 PySide2 PySide6 accelerate aiofiles aiohttp aiosqlite "
        "alembic altair anthropic anyio arcade arrow asyncpg attrs bitcoinlib bleach bokeh boto3 botocore bottle "
        "catboost ccxt celery certifi cffi chainlit chardet cherrypy click colorama confluent_kafka cryptography "
        "cssselect customtkinter cython dash dask databases datasets django docker dotmap duckdb einops "
        "elasticsearch eth_account evaluate eventlet fabric faker falcon fastapi fiona flask flask_cors "
        "flask_login flask_sqlalchemy folium freezegun gensim geopandas geopy gevent gradio gtts gym gymnasium "
        "h5py hdbscan html5lib httpx humanize hypothesis idna igraph imageio imutils invoke ipywidgets "
        "itsdangerous jedi jinja2 joblib keras keyboard kivy kubernetes langchain_openai libcst librosa lightgbm "
        "llama_index loguru lxml markdown markupsafe matplotlib mechanize mediapipe mmcv mock modin mongoengine "
        "mouse moviepy msgpack neo4j netCDF4 networkx nltk notebook numba numpy oauth2client openai openpyxl "
        "orjson pandas paramiko parsel parso paypalrestsdk peewee peft pendulum pexpect pika playsound playwright "
        "plotly polars pony praw prettytable prometheus_client psutil psycopg pyarrow pyaudio pyautogui pybind11 "
        "pycocotools pycparser pydantic pygame pyglet pymongo pymysql pynput pypdf pyperclip pyramid pyspark "
        "pystray pytesseract pytest pytorch_lightning pyttsx3 pytz pyzbar qrcode rasterio ray redis reportlab "
        "requests responses rich sanic scipy scrapy seaborn selenium sendgrid sentence_transformers sentry_sdk "
        "setuptools sh shapely simplejson six slack_sdk smbus2 sodapy solana sounddevice soundfile spacy "
        "sqlalchemy sqlalchemy_utils stable_baselines3 starlette statsmodels streamlit stripe structlog sympy ta "
        "tables tabulate tensorflow termcolor textblob tiktoken timm tkinterdnd2 toml tomli torch torchvision "
        "tornado tqdm transformers tree_sitter trio tweepy twilio twisted typer tzlocal ujson ultralytics urllib3 "
        "uvicorn web3 websockets werkzeug wordcloud wtforms xgboost xlrd xlsxwriter yfinance"
    ).split()
)


class Listing(NamedTuple):
    """The list: of which month, every name with its rank from 0, and the names in order of the alphabet."""

    month: str
    rank: dict[str, int]
    ordered: list[str]


@cache
def listing() -> Listing:
    """Read the list. Raises OSError where the file is not there."""
    import zlib  # noqa: PLC0415 - only where something beyond Python's own is imported

    with open(_FILE, "rb") as file:
        month, *names = zlib.decompress(file.read()).decode().split("\n")
    return Listing(month, {name: rank for rank, name in enumerate(names)}, sorted(names))


def normal(name: str) -> str:
    """Write a package's name as PEP 503 has it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def package_of(module: str) -> str | None:
    """Find the listed package that brings a top-level module; None where no listed one is known to."""
    known = _OF_MODULE.get(module)
    if known is not None or module in _USUAL:
        return known or normal(module)
    _, rank, ordered = listing()
    name = normal(module)
    for candidate in (name, f"python-{name}", f"{name}-python", f"py{name}"):
        if candidate in rank:
            return candidate
    # A namespace of several packages, as ``opentelemetry`` and ``zope`` are.
    at = bisect_left(ordered, f"{name}-")
    return ordered[at] if at < len(ordered) and ordered[at].startswith(f"{name}-") else None


def module_of(package: str) -> str | None:
    """Find the module of a package that cannot be imported by its own name, such as ``yaml`` of PyYAML."""
    name = normal(package)
    if package in _OF_MODULE:
        return None
    return next((module for module, owner in _OF_MODULE.items() if owner == name and normal(module) != name), None)


def imitated(module: str) -> str | None:
    """Find the popular package that a name is one slip away from: a letter more, less, other, or two changed."""
    name = normal(module)
    if len(name) < _LEAST_IMITATED:
        return None
    rank = listing().rank
    near = [one for one in _one_slip_away(name) if rank.get(one, _POPULAR) < _POPULAR and len(one) >= _LEAST_IMITATED]
    return min(near, key=rank.__getitem__, default=None)


def _one_slip_away(name: str) -> set[str]:
    cuts = [(name[:at], name[at:]) for at in range(len(name) + 1)]
    found = {before + after[1:] for before, after in cuts if after}
    found |= {before + after[1] + after[0] + after[2:] for before, after in cuts if len(after) > 1}
    found |= {before + letter + after[1:] for before, after in cuts if after for letter in _LETTERS}
    found |= {before + letter + after for before, after in cuts for letter in _LETTERS}
    # With the dashes left out, put in or moved it is the same word.
    found.add(name.replace("-", ""))
    found.discard(name)
    return found
