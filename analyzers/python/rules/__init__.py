"""What to look for in Python, one family of rules a file; none knows another."""

from analyzers.python.rules import (
    ciphers,
    deserialisation,
    dynamic,
    exceptions,
    files,
    hashes,
    markup,
    modules,
    network,
    processes,
    randomness,
    sql,
    tls,
    xml,
)
from analyzers.rule import Rule

RULES: tuple[Rule, ...] = (
    *ciphers.RULES,
    *deserialisation.RULES,
    *dynamic.RULES,
    *exceptions.RULES,
    *files.RULES,
    *hashes.RULES,
    *markup.RULES,
    *modules.RULES,
    *network.RULES,
    *processes.RULES,
    *randomness.RULES,
    *sql.RULES,
    *tls.RULES,
    *xml.RULES,
)
