"""How well the analyser does on what others wrote: one corpus a module, each giving measures. Nothing here is theirs.

A corpus module has a ``FOLDERS`` tuple (names that its checkout may have below the corpora's folder) and a function
``measure(checkout) -> Iterable[Measure]``. :mod:`score` finds the checkouts and writes the page.
"""
