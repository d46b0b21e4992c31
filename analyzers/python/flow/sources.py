"""Where what others chose comes into a Python program."""

from __future__ import annotations

from analyzers.python.flow.values import ARGUMENT, NET, OWN, TYPED, WEB


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


CALLS = {
    "builtins.input": (TYPED, "input()"),
    "builtins.raw_input": (TYPED, "raw_input()"),
    "raw_input": (TYPED, "raw_input()"),
    "sys.stdin.read": (TYPED, "stdin"),
    "sys.stdin.readline": (TYPED, "stdin"),
    "sys.stdin.readlines": (TYPED, "stdin"),
    "sys.stdin.buffer.read": (TYPED, "stdin"),
    "getpass.getpass": (TYPED, "getpass()"),
    "fileinput.input": (TYPED, "stdin"),
    "click.prompt": (TYPED, "click.prompt()"),
    "typer.prompt": (TYPED, "typer.prompt()"),
    "streamlit.text_input": (TYPED, "st.text_input()"),
    "streamlit.text_area": (TYPED, "st.text_area()"),
    "streamlit.chat_input": (TYPED, "st.chat_input()"),
    "streamlit.file_uploader": (TYPED, "st.file_uploader()"),
    "os.getenv": (OWN, "the environment"),
    "os.environ.get": (OWN, "the environment"),
    "builtins.open": (OWN, "a file"),
    "io.open": (OWN, "a file"),
    "codecs.open": (OWN, "a file"),
    "pathlib.Path().read_text": (OWN, "a file"),
    "pathlib.Path().read_bytes": (OWN, "a file"),
    "argparse.ArgumentParser().parse_args": (ARGUMENT, "the command line"),
    "optparse.OptionParser().parse_args": (ARGUMENT, "the command line"),
    "getopt.getopt": (ARGUMENT, "the command line"),
    "urllib.request.urlopen": (NET, "urlopen()"),
    "cgi.FieldStorage": (WEB, "cgi.FieldStorage()"),
    **{
        f"{module}.{verb}": (NET, f"{module}.{verb}()")
        for module in ("requests", "httpx")
        for verb in ("get", "post", "put", "request", "delete", "patch")
    },
}
"""Calls that give what others chose: how far to be feared, and what it is called."""
VALUES = {
    "sys.argv": (ARGUMENT, "sys.argv"),
    "os.environ": (OWN, "os.environ"),
    "os.environb": (OWN, "os.environ"),
    "sys.stdin": (TYPED, "stdin"),
    "sys.stdin.buffer": (TYPED, "stdin"),
}
METHODS = {
    "recv": (NET, "a socket"),
    "recvfrom": (NET, "a socket"),
    "recv_string": (NET, "a socket"),
    "recv_json": (NET, "a socket"),
    "recv_pyobj": (NET, "a socket"),
    "get_argument": (WEB, "get_argument()"),
    "get_arguments": (WEB, "get_arguments()"),
    "get_query_argument": (WEB, "get_query_argument()"),
    "get_body_argument": (WEB, "get_body_argument()"),
    "get_secure_cookie": (WEB, "get_secure_cookie()"),
    "receive_text": (WEB, "a web socket"),
    "receive_json": (WEB, "a web socket"),
    "receive_bytes": (WEB, "a web socket"),
}
"""Methods of whatever object that give what others chose."""

REQUEST = "<request>"
"""What a parameter that is a web request stands for."""
PERHAPS_REQUEST = "<request?>"
"""What a parameter that is called ``request`` stands for where no web framework is imported."""
CERTAIN_PARTS = _names("GET POST COOKIES META FILES args form values cookies query_params path_params match_info")
"""Parts that only a web request has."""
REQUESTS = _names("""
    flask.request flask.globals.request quart.request bottle.request sanic.request cherrypy.request pyramid.request
    <request> flask.wrappers.Request
""")
REQUEST_PARTS = _names("""
    args form values files cookies headers data json path url query_string view_args full_path base_url url_root host
    referrer referer user_agent stream GET POST COOKIES META FILES body query_params path_params query match_info
    rel_url forms params matchdict environ QUERY_PARAMS DATA get_json get_data text post read media get_param raw_body
    uri arguments get_full_path build_absolute_uri get_host body_arguments query_arguments path_info raw_path
    get_media path_url get_cookie getfirst form_data rfile input_stream get_signed_cookie param get get_header
    get_raw_uri content host_url
""")
"""The parts of a web request that whoever sent it decides."""
HANDLER_BASES = ("BaseHTTPRequestHandler", "SimpleHTTPRequestHandler", "StreamRequestHandler", "CGIHTTPRequestHandler")
HANDLER_PARTS = _names("path headers rfile requestline raw_requestline")
MODEL_ANSWERS = ("choices[].message.content", "choices[].text", "content[].text", "output_text", "message.content")
"""How what a language model wrote is read, at the end of a dotted name with ``[]`` for items."""
PICKING = _names("get getlist getall getfirst pop get_all getone setdefault getunicode __getitem__ get_list")
"""Methods that give the part with a key."""
