"""What Go's standard library, and packages everybody uses, do with values: where they come from and what cleans them.

The facts are those of the packages' own documentation (pkg.go.dev); names are ``import/path.Name`` with versions left
out, methods ``import/path.Type.Name``.
"""

from __future__ import annotations

from analyzers.golang.values import EVERYWHERE, LOCAL, NETWORK, REQUEST, Constant
from analyzers.golang.words import words

CONSTANTS: dict[str, Constant] = {
    "os.ModePerm": 0o777,
    "io/fs.ModePerm": 0o777,
    "crypto/tls.VersionSSL30": 0x0300,
    "crypto/tls.VersionTLS10": 0x0301,
    "crypto/tls.VersionTLS11": 0x0302,
    "crypto/tls.VersionTLS12": 0x0303,
    "crypto/tls.VersionTLS13": 0x0304,
    "os.DevNull": "/dev/null",
    "crypto/aes.BlockSize": 16,
    "golang.org/x/crypto/bcrypt.MinCost": 4,
    "golang.org/x/crypto/bcrypt.DefaultCost": 10,
    "golang.org/x/crypto/bcrypt.MaxCost": 31,
    "time.Nanosecond": 1,
    "time.Microsecond": 1_000,
    "time.Millisecond": 1_000_000,
    "time.Second": 1_000_000_000,
    "time.Minute": 60_000_000_000,
    "time.Hour": 3_600_000_000_000,
    "net.IPv4zero": "0.0.0.0",  # noqa: S104 - a name of Go's
    **{f"math.MaxInt{bits}": (1 << (bits - 1)) - 1 for bits in (8, 16, 32, 64)},
    **{f"math.MinInt{bits}": -(1 << (bits - 1)) for bits in (8, 16, 32, 64)},
    **{f"math.MaxUint{bits}": (1 << bits) - 1 for bits in (8, 16, 32, 64)},
    "math.MaxInt": (1 << 63) - 1,
    "math.MinInt": -(1 << 63),
    "math.MaxUint": (1 << 64) - 1,
    **{f"net/http.Method{name.title()}": name for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")},
}

ORIGINS: dict[str, tuple[int, str]] = {
    "os.Args": (LOCAL, "os.Args"),
    "os.Stdin": (LOCAL, "standard input"),
    "os.Getenv": (LOCAL, "the environment"),
    "os.LookupEnv": (LOCAL, "the environment"),
    "os.Environ": (LOCAL, "the environment"),
    "os.ExpandEnv": (LOCAL, "the environment"),
    "syscall.Getenv": (LOCAL, "the environment"),
    "flag.Arg": (LOCAL, "a command-line argument"),
    "flag.Args": (LOCAL, "a command-line argument"),
    "flag.String": (LOCAL, "a command-line flag"),
    "fmt.Scan": (LOCAL, "standard input"),
    "fmt.Scanln": (LOCAL, "standard input"),
    "fmt.Scanf": (LOCAL, "standard input"),
    "flag.StringVar": (LOCAL, "a command-line flag"),
    "github.com/gorilla/mux.Vars": (REQUEST, "the request's path"),
    "github.com/go-chi/chi.URLParam": (REQUEST, "the request's path"),
    "github.com/julienschmidt/httprouter.ParamsFromContext": (REQUEST, "the request's path"),
    "net/http/cgi.Request": (REQUEST, "the request"),
}
"""Values and results of functions that somebody outside the program decides."""

REQUESTS: dict[str, str] = {
    "net/http.Request": "the request",
    "net/url.URL": "a URL that was passed in",
    "net/url.Values": "form values that were passed in",
    "net/http.Header": "headers that were passed in",
    "mime/multipart.FileHeader": "an uploaded file's header",
    "mime/multipart.Form": "the request's form",
    "github.com/julienschmidt/httprouter.Params": "the request's path",
    "github.com/aws/aws-lambda-go/events.APIGatewayProxyRequest": "the request",
    "github.com/aws/aws-lambda-go/events.APIGatewayV2HTTPRequest": "the request",
    "github.com/aws/aws-lambda-go/events.LambdaFunctionURLRequest": "the request",
}
"""Types whose values, when they come in as parameters, hold what a request's sender wrote."""

CONTEXTS = frozenset(
    (
        "github.com/gin-gonic/gin.Context",
        "github.com/labstack/echo.Context",
        "github.com/gofiber/fiber.Ctx",
        "github.com/valyala/fasthttp.RequestCtx",
        "github.com/kataras/iris.Context",
        "github.com/astaxie/beego.Controller",
    )
)
"""Frameworks' contexts: these read the request by the methods below and write the response by others."""

CONTEXT_READS = words(
    "Query DefaultQuery QueryArray QueryMap GetQuery Param Params PostForm DefaultPostForm PostFormArray "
    "GetPostForm FormValue QueryParam QueryParams QueryString FormParams FormFile MultipartForm Cookie "
    "Cookies GetHeader Get GetRawData Body BodyRaw Queries AllParams PostBody QueryArgs PostArgs "
    "RequestURI OriginalURL Path UserValue URLParam PostValue GetString Hostname Request Req Bind"
)
REQUEST_HARMLESS = words("Method Proto ProtoMajor ContentLength Context TLS RemoteAddr Pattern Cancel")
"""Fields and methods of a request that its sender cannot choose freely."""

_PATH, _HTML, _URL, _LOG = (frozenset({use}) for use in ("path", "html", "url", "log"))
CLEANERS: dict[str, frozenset[str]] = {
    "html.EscapeString": _HTML,
    "html/template.HTMLEscapeString": _HTML,
    "html/template.HTMLEscaper": _HTML,
    "html/template.JSEscapeString": _HTML,
    "text/template.HTMLEscapeString": _HTML,
    "text/template.HTMLEscaper": _HTML,
    "encoding/json.Marshal": _HTML | _LOG,
    "encoding/json.MarshalIndent": _HTML | _LOG,
    "net/url.QueryEscape": _HTML | _URL | _LOG | _PATH,
    "net/url.PathEscape": _HTML | _URL | _LOG | _PATH,
    "strconv.Quote": _LOG,
    "strconv.QuoteToASCII": _LOG,
    "path/filepath.Base": _PATH,
    "path.Base": _PATH,
    "path/filepath.Rel": _PATH,
    "path/filepath.Ext": EVERYWHERE,
    "path.Ext": EVERYWHERE,
    "path/filepath.Glob": EVERYWHERE,
    "encoding/hex.EncodeToString": EVERYWHERE,
    "regexp.QuoteMeta": EVERYWHERE,
    "net/mail.ParseAddress": frozenset({"smtp"}),
    "net/mail.ParseAddressList": frozenset({"smtp"}),
    "github.com/lib/pq.QuoteIdentifier": frozenset({"sql"}),
    "github.com/lib/pq.QuoteLiteral": frozenset({"sql"}),
    "github.com/go-ldap/ldap.EscapeFilter": frozenset({"ldap"}),
    "github.com/go-ldap/ldap.EscapeDN": frozenset({"ldap"}),
    "net.ParseIP": EVERYWHERE,
    "net.ParseCIDR": EVERYWHERE,
    "github.com/google/uuid.Parse": EVERYWHERE,
    "time.Parse": EVERYWHERE,
    "time.ParseDuration": EVERYWHERE,
}
"""For which uses a function's result is harmless, whatever it was given."""

CLEANING_WORDS = (
    "escape",
    "sanitiz",
    "sanitis",
    "quote",
    "encode",
    "hash",
    "validat",
    "parse_int",
    "parseint",
    "slugify",
)
"""A function with such a word in its name is taken to make its argument harmless."""

NUMBERS = words(
    "strconv.Atoi strconv.ParseInt strconv.ParseUint strconv.ParseFloat strconv.ParseBool strconv.Itoa "
    "strconv.FormatInt strconv.FormatUint strconv.FormatFloat strconv.FormatBool len cap int int8 int16 "
    "int32 int64 uint uint8 uint16 uint32 uint64 float32 float64 bool rune byte strings.Index "
    "strings.Count strings.Contains strings.HasPrefix strings.HasSuffix strings.EqualFold bytes.Equal "
    "bytes.Contains utf8.RuneCountInString time.Now time.Since os.Getpid rand.Intn math/rand.Intn "
    "math/rand.Int copy"
)
"""Their results are numbers, or a number's text."""

PASSING = words(
    "strings bytes fmt path path/filepath net/url io io/ioutil bufio unicode encoding/json "
    "encoding/base64 encoding/hex encoding/xml text/tabwriter html errors slices maps sort regexp "
    "net/textproto html/template text/template mime mime/multipart compress/gzip compress/zlib "
    "compress/flate compress/bzip2 os/exec.LookPath os/exec.Command "
    "os/exec.CommandContext os.ReadFile path/filepath.Abs"
)
"""Packages, and functions of others, whose functions' results are made of their arguments."""

TYPES: dict[str, str] = {
    "database/sql.Open": "database/sql.DB",
    "database/sql.OpenDB": "database/sql.DB",
    "github.com/jmoiron/sqlx.Open": "github.com/jmoiron/sqlx.DB",
    "github.com/jmoiron/sqlx.Connect": "github.com/jmoiron/sqlx.DB",
    "github.com/jmoiron/sqlx.MustConnect": "github.com/jmoiron/sqlx.DB",
    "gorm.io/gorm.Open": "gorm.io/gorm.DB",
    "github.com/jackc/pgx.Connect": "github.com/jackc/pgx.Conn",
    "github.com/jackc/pgx/pgxpool.New": "github.com/jackc/pgx/pgxpool.Pool",
    "os.Open": "os.File",
    "os.Create": "os.File",
    "os.OpenFile": "os.File",
    "os.CreateTemp": "os.File",
    "os.OpenRoot": "os.Root",
    "crypto/aes.NewCipher": "crypto/cipher.Block",
    "crypto/des.NewCipher": "crypto/cipher.Block",
    "crypto/cipher.NewGCM": "crypto/cipher.AEAD",
    "crypto/cipher.NewGCMWithNonceSize": "crypto/cipher.AEAD",
    "golang.org/x/crypto/chacha20poly1305.New": "crypto/cipher.AEAD",
    "golang.org/x/crypto/chacha20poly1305.NewX": "crypto/cipher.AEAD",
    "archive/zip.OpenReader": "archive/zip.Reader",
    "net/http.NewRequestWithContext": "net/http.Request",
    "net/http.Get": "net/http.Response",
    "net/http.Post": "net/http.Response",
    "net/http.DefaultClient": "net/http.Client",
    "net/smtp.Dial": "net/smtp.Client",
    "net/url.Parse": "net/url.URL",
    "net/url.ParseQuery": "net/url.Values",
    "html/template.New": "html/template.Template",
    "text/template.New": "text/template.Template",
    "html/template.Must": "html/template.Template",
    "text/template.Must": "text/template.Template",
    "html/template.ParseFiles": "html/template.Template",
    "text/template.ParseFiles": "text/template.Template",
    "exec.Command": "os/exec.Cmd",
    "os/exec.Command": "os/exec.Cmd",
    "os/exec.CommandContext": "os/exec.Cmd",
    "math/rand.New": "math/rand.Rand",
    "math/rand/v2.New": "math/rand/v2.Rand",
    "github.com/gin-gonic/gin.Default": "github.com/gin-gonic/gin.Engine",
    "net.Dial": "net.Conn",
    "crypto/tls.Dial": "crypto/tls.Conn",
}
"""The type of a function's first result, where its name does not tell (``NewReader`` makes a ``Reader``)."""

BUILDERS = frozenset({"gorm.io/gorm.DB", "github.com/jinzhu/gorm.DB", "github.com/go-pg/pg.DB"})
"""Types whose methods give back the same type, with something added to a query."""

PEERS: dict[str, tuple[int, str]] = {
    "net.Conn": (NETWORK, "the connection"),
    "crypto/tls.Conn": (NETWORK, "the connection"),
    "github.com/gorilla/websocket.Conn": (REQUEST, "the connection"),
    "golang.org/x/net/websocket.Conn": (REQUEST, "the connection"),
}
"""Types from which a peer's data is read."""

FIELDS: dict[tuple[str, str], str] = {
    ("net/http.Request", "URL"): "net/url.URL",
    ("net/http.Request", "Header"): "net/http.Header",
    ("net/http.Request", "Form"): "net/url.Values",
    ("net/http.Request", "PostForm"): "net/url.Values",
    ("net/http.Request", "Body"): "io.ReadCloser",
    ("net/http.Request", "MultipartForm"): "mime/multipart.Form",
    ("archive/zip.Reader", "File"): "[]archive/zip.File",
    ("archive/zip.ReadCloser", "File"): "[]archive/zip.File",
}
"""Types of fields of the standard library's types."""

ENTRY_NAMES = frozenset(
    {
        ("archive/zip.File", "Name"),
        ("archive/zip.FileHeader", "Name"),
        ("archive/tar.Header", "Name"),
        ("archive/tar.Header", "Linkname"),
    }
)
"""What whoever made an archive calls its entries."""
AN_ENTRY = "the name of an archive's entry"
