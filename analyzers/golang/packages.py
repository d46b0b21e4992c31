"""Which package a name such as ``exec`` stands for: by the imports of the text, else by what it is in most Go code."""

from __future__ import annotations

import re
from functools import lru_cache

from analyzers.golang.words import words

_VERSION = re.compile(r"v[0-9]+")
_DOT_VERSION = re.compile(r"\.v[0-9]+$")

_USUAL = {
    path.rsplit("/", 1)[-1]: path
    for path in sorted(
        words(
            "archive/tar archive/zip bufio bytes compress/bzip2 compress/flate compress/gzip compress/lzw "
            "compress/zlib context crypto/aes crypto/cipher crypto/des crypto/dsa crypto/ecdsa crypto/ed25519 "
            "crypto/elliptic crypto/hmac crypto/md5 crypto/rc4 crypto/rsa crypto/sha1 crypto/sha256 crypto/sha512 "
            "crypto/subtle crypto/tls crypto/x509 database/sql encoding/base32 encoding/base64 encoding/binary "
            "encoding/gob encoding/hex encoding/json encoding/xml errors flag fmt hash html io io/fs io/ioutil "
            "log log/slog math math/big math/rand mime/multipart net net/http net/mail net/smtp net/textproto "
            "net/url os os/exec os/signal os/user path path/filepath plugin reflect regexp runtime sort strconv "
            "strings sync sync/atomic syscall html/template time unicode unsafe net/http/cgi net/http/httputil "
            "net/http/pprof debug/elf embed slices maps golang.org/x/crypto/ssh golang.org/x/crypto/bcrypt "
            "golang.org/x/crypto/md4 golang.org/x/crypto/ripemd160 golang.org/x/crypto/blowfish "
            "golang.org/x/crypto/pbkdf2 golang.org/x/crypto/scrypt golang.org/x/crypto/tea "
            "golang.org/x/crypto/cast5 golang.org/x/crypto/xtea golang.org/x/sys/unix golang.org/x/sys/windows "
            "github.com/gin-gonic/gin github.com/labstack/echo github.com/gofiber/fiber github.com/gorilla/mux "
            "github.com/go-chi/chi github.com/gorilla/websocket github.com/gorilla/sessions "
            "github.com/golang-jwt/jwt github.com/valyala/fasthttp google.golang.org/grpc github.com/jmoiron/sqlx "
            "github.com/jackc/pgx github.com/lib/pq github.com/BurntSushi/toml gopkg.in/yaml github.com/rs/cors "
            "github.com/aws/aws-lambda-go/events github.com/robertkrimen/otto github.com/dop251/goja "
            "github.com/lestrrat-go/libxml2 github.com/microcosm-cc/bluemonday "
            "google.golang.org/grpc/credentials/insecure go.mongodb.org/mongo-driver/bson"
        )
    )
} | {
    "credentials": "google.golang.org/grpc/credentials",
    "crand": "crypto/rand",
    "cryptorand": "crypto/rand",
    "gorm": "gorm.io/gorm",
    "ldap": "github.com/go-ldap/ldap",
    "mathrand": "math/rand",
    "mrand": "math/rand",
}
"""The package that a name means where the text imports none of that name."""

_CRYPTO_RAND = frozenset({"Reader", "Read", "Prime", "Text"})


@lru_cache(1024)
def path_of(spec: str) -> str:
    """Return an import path without what only tells versions apart: ``/v5`` of a module, ``.v3`` of gopkg.in.

    The standard library's own ``math/rand/v2`` keeps its version: it is another package.
    """
    parts = spec.split("/")
    if len(parts) > 1 and "." in parts[0]:
        parts = [part for part in parts if not _VERSION.fullmatch(part)]
        parts[-1] = _DOT_VERSION.sub("", parts[-1])
    return "/".join(parts)


@lru_cache(1024)
def name_of(path: str) -> str:
    """Return the name that a package most probably has, by its import path."""
    parts = path.split("/")
    last = parts[-2] if _VERSION.fullmatch(parts[-1]) and len(parts) > 1 else parts[-1]
    return last.removeprefix("go-").removesuffix("-go").removesuffix(".go").replace("-", "_")


class Packages:
    """The packages of one text, by the names it gives them."""

    def __init__(self) -> None:
        self.imported: dict[str, str] = {}
        self.paths: set[str] = set()
        """Every path that is imported, also for its effects alone."""
        self.dotted: list[str] = []

    def add(self, spec: str, alias: str | None) -> None:
        """Take note of one import."""
        path = path_of(spec)
        self.paths.add(path)
        if alias == ".":
            self.dotted.append(path)
        elif alias != "_":
            self.imported[alias or name_of(path)] = path

    def names(self, path: str) -> list[str]:
        """Return the names that may stand for a package here: those of its imports, else its usual one."""
        found = [name for name, imported in self.imported.items() if imported == path]
        if found or path in self.paths:
            return found
        usual = path.rsplit("/", 1)[-1]
        return [usual] if _USUAL.get(usual) == path and usual not in self.imported else []

    def path(self, name: str, member: str, arguments: int = -1) -> tuple[str | None, bool]:
        """Return the package that ``name.member`` belongs to, and whether an import says so."""
        path = self.imported.get(name)
        if path is not None:
            return path, True
        path = _USUAL.get(name)
        if name == "rand" and (member in _CRYPTO_RAND or (member == "Int" and arguments > 0)):
            path = "crypto/rand"
        return path, False
