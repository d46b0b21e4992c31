"""What a Go program wants to do: calls and imports that reach the network, processes, files, the environment."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers import capabilities as can
from analyzers.capabilities import Wanted
from analyzers.golang.packages import path_of
from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.golang.words import words

_OUTBOUND = words(
    "net.Dial net.DialTimeout net.DialTCP net.DialUDP net.DialIP net.DialUnix net.LookupHost net.LookupIP "
    "net.LookupAddr net.LookupCNAME net.LookupMX net.LookupNS net.LookupTXT net.LookupSRV net.ResolveTCPAddr "
    "net.ResolveUDPAddr net.ResolveIPAddr net/http.Get net/http.Head net/http.Post net/http.PostForm "
    "net/http.NewRequest net/http.NewRequestWithContext net/http/httputil.NewSingleHostReverseProxy net/rpc.Dial "
    "net/rpc.DialHTTP net/smtp.Dial net/smtp.SendMail net/textproto.Dial crypto/tls.Dial crypto/tls.DialWithDialer "
    "golang.org/x/crypto/ssh.Dial google.golang.org/grpc.Dial google.golang.org/grpc.DialContext "
    "google.golang.org/grpc.NewClient syscall.Connect golang.org/x/sys/unix.Connect"
)
_REQUESTS = words(".Do .Get .Head .Post .PostForm")
_DIALERS = ("net.Dialer", "net.Resolver", "net/http.Client", "crypto/tls.Dialer")
# Whoever imports one of these talks to something beyond this machine.
_CLIENTS = words(
    "cloud.google.com/go google.golang.org/api github.com/aws/aws-sdk-go github.com/aws/aws-sdk-go-v2 "
    "github.com/Azure/azure-sdk-for-go github.com/minio/minio-go k8s.io/client-go github.com/docker/docker/client "
    "github.com/go-resty/resty github.com/gocolly/colly github.com/hashicorp/go-retryablehttp "
    "github.com/hashicorp/vault/api github.com/hashicorp/consul/api github.com/redis/go-redis "
    "github.com/go-redis/redis github.com/gomodule/redigo github.com/jackc/pgx github.com/lib/pq "
    "github.com/go-sql-driver/mysql github.com/microsoft/go-mssqldb go.mongodb.org/mongo-driver "
    "github.com/gocql/gocql github.com/elastic/go-elasticsearch github.com/segmentio/kafka-go "
    "github.com/IBM/sarama github.com/Shopify/sarama github.com/confluentinc/confluent-kafka-go "
    "github.com/nats-io/nats.go github.com/streadway/amqp github.com/rabbitmq/amqp091-go "
    "github.com/eclipse/paho.mqtt.golang github.com/sashabaranov/go-openai github.com/openai/openai-go "
    "github.com/anthropics/anthropic-sdk-go github.com/slack-go/slack github.com/bwmarrin/discordgo "
    "github.com/google/go-github github.com/stripe/stripe-go github.com/twilio/twilio-go "
    "github.com/go-ldap/ldap github.com/miekg/dns github.com/jlaffaye/ftp github.com/pkg/sftp "
    "github.com/chromedp/chromedp github.com/getsentry/sentry-go"
)
_LISTEN = words(
    "net.Listen net.ListenTCP net.ListenUDP net.ListenUnix net.ListenPacket net.ListenIP net.ListenMulticastUDP "
    "net.FileListener crypto/tls.Listen net/http.ListenAndServe net/http.ListenAndServeTLS net/http.Serve "
    "net/http.ServeTLS net/http/fcgi.Serve net/http/httptest.NewServer net/http/httptest.NewTLSServer "
    ".ListenAndServe .ListenAndServeTLS syscall.Listen golang.org/x/sys/unix.Listen"
)
_SERVERS = {
    "github.com/gin-gonic/gin": words(".Run .RunTLS"),
    "github.com/labstack/echo": words(".Start .StartTLS .StartAutoTLS"),
    "github.com/gofiber/fiber": words(".Listen .ListenTLS"),
}
_PROCESSES = words(
    "os/exec.Command os/exec.CommandContext os.StartProcess syscall.Exec syscall.ForkExec syscall.StartProcess "
    "golang.org/x/sys/unix.Exec golang.org/x/sys/execabs.Command golang.org/x/sys/execabs.CommandContext"
)
_READ = words(
    "os.Open os.ReadFile os.ReadDir os.DirFS os.Stat os.Lstat os.Readlink os.OpenInRoot io/ioutil.ReadFile "
    "io/ioutil.ReadDir path/filepath.Walk path/filepath.WalkDir path/filepath.Glob path/filepath.EvalSymlinks "
    "archive/zip.OpenReader html/template.ParseFiles html/template.ParseGlob text/template.ParseFiles "
    "text/template.ParseGlob net/http.ServeFile net/http.Dir crypto/tls.LoadX509KeyPair syscall.Open"
)
_WRITE = words(
    "os.Create os.WriteFile os.Mkdir os.MkdirAll os.Remove os.RemoveAll os.Chmod os.Chown os.Lchown os.Chtimes "
    "os.Truncate io/ioutil.WriteFile syscall.Unlink syscall.Mkdir syscall.Rmdir syscall.Creat"
)
_WRITE_SECOND = words("os.Rename os.Link os.Symlink os.CopyFS")
_WRITE_SOMEWHERE = words("os.CreateTemp os.MkdirTemp io/ioutil.TempFile io/ioutil.TempDir")
_ENVIRONMENT = words("os.Getenv os.LookupEnv os.Environ os.ExpandEnv syscall.Getenv syscall.Environ")
_ENVIRONMENTS = words(
    "github.com/joho/godotenv github.com/kelseyhightower/envconfig github.com/caarlos0/env "
    "github.com/sethvargo/go-envconfig"
)
_DYNAMIC = words("plugin.Open")
_INTERPRETERS = words(
    "github.com/dop251/goja github.com/robertkrimen/otto github.com/traefik/yaegi github.com/yuin/gopher-lua "
    "github.com/d5/tengo github.com/expr-lang/expr github.com/tetratelabs/wazero rogchap.com/v8go"
)
_IN_A_FILE = frozenset({"sqlite3", "sqlite", "duckdb"})
_FLAGS_THAT_WRITE = (b"O_WRONLY", b"O_RDWR", b"O_CREATE", b"O_APPEND", b"O_TRUNC")

_BY_NAME = {
    **dict.fromkeys(_OUTBOUND, can.OUTBOUND),
    **dict.fromkeys(_LISTEN, can.LISTEN),
    **dict.fromkeys(_PROCESSES, can.PROCESSES),
    **dict.fromkeys(_READ, can.READ),
    **dict.fromkeys(_WRITE_SOMEWHERE, can.WRITE),
    **dict.fromkeys(_ENVIRONMENT, can.ENVIRONMENT),
    **dict.fromkeys(_DYNAMIC, can.DYNAMIC),
}
_MODULES = {
    **dict.fromkeys(_INTERPRETERS, can.DYNAMIC),
    **dict.fromkeys(_ENVIRONMENTS, can.ENVIRONMENT),
    **dict.fromkeys(_CLIENTS, can.OUTBOUND),
}
_WRITTEN_AT = {**dict.fromkeys(_WRITE, 0), **dict.fromkeys(_WRITE_SECOND, 1)}


def wanted(program: Program) -> Iterator[Wanted]:
    """Give what shows, as often as it shows."""
    for path, node in program.seen.imports:
        for capability in _imported(path_of(path)):
            yield Wanted(capability, program.line(node))
    for literal, _ in program.literals(*_DIALERS):
        yield Wanted(can.OUTBOUND, program.line(literal))
    servers = frozenset(
        name for path, names in _SERVERS.items() if path in program.seen.packages.paths for name in names
    )
    for name, called in program.by_name.items():
        known = can.LISTEN if name in servers else _BY_NAME.get(name)
        if known is not None:
            yield Wanted(known, program.line(called[0].node))
        elif name in _REQUESTS:
            for call in called:
                if call.receiver is not None and program.raw(call.receiver) == b"http.DefaultClient":
                    yield Wanted(can.OUTBOUND, program.line(call.node))
        elif name in _WRITTEN_AT:
            for call in called:
                yield from _written(program, call, _WRITTEN_AT[name])
        elif name == "os.OpenFile":
            for call in called:
                yield from _opened(program, call)
        elif name == "database/sql.Open":
            for call in called:
                there = program.argument(call, 0).constant in _IN_A_FILE
                yield Wanted(can.WRITE if there else can.OUTBOUND, program.line(call.node))


def _imported(path: str) -> Iterator[str]:
    """What a module, or any module around it, is for."""
    end = len(path)
    while end > 0:
        capability = _MODULES.get(path[:end])
        if capability is not None:
            yield capability
        end = path.rfind("/", 0, end)


def _written(program: Program, call: Call, at: int) -> Iterator[Wanted]:
    place = program.argument(call, at).constant
    capability = can.touched(can.WRITE, place if isinstance(place, str) else None)
    if capability is not None:
        yield Wanted(capability, program.line(call.node))


def _opened(program: Program, call: Call) -> Iterator[Wanted]:
    """``os.OpenFile`` does what its flags say; flags that are not known may be any."""
    flags = program.raw(call.arguments[1]) if len(call.arguments) > 1 else b""
    writes = any(flag in flags for flag in _FLAGS_THAT_WRITE) or b"O_" not in flags
    if not writes or b"O_RDWR" in flags or b"O_" not in flags:
        yield Wanted(can.READ, program.line(call.node))
    if writes:
        yield from _written(program, call, 0)
