"""What to look for in Python, one family of rules a file; none knows another."""

from analyzers.python.rules import (
    ciphers,
    deserialisation,
    dynamic,
    exceptions,
    files,
    habits,
    hashes,
    headers,
    markup,
    modules,
    network,
    processes,
    randomness,
    regexes,
    sql,
    tls,
    web,
    xml,
)
from analyzers.rule import Rule

RULES: tuple[Rule, ...] = (
    *ciphers.RULES,
    *deserialisation.RULES,
    *dynamic.RULES,
    *exceptions.RULES,
    *files.RULES,
    *habits.RULES,
    *hashes.RULES,
    *headers.RULES,
    *markup.RULES,
    *modules.RULES,
    *network.RULES,
    *processes.RULES,
    *randomness.RULES,
    *regexes.RULES,
    *sql.RULES,
    *tls.RULES,
    *web.RULES,
    *xml.RULES,
)
