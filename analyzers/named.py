"""``NamedTuple`` without :mod:`typing`, whose import takes a seventh of the time of a whole check of one file.

To a type checker it is typing's own. At run time the class is made by :func:`collections.namedtuple`, with the fields,
defaults, docstring and methods that its body gives.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    _OWN = frozenset({"__annotations__", "__module__", "__qualname__", "__dict__", "__weakref__"})

    class _Maker(type):
        def __new__(cls, name, bases, body):  # noqa: ANN001, ANN204 - to a type checker this does not exist
            fields = tuple(body.get("__annotations__", ()))
            if not bases:
                return super().__new__(cls, name, bases, body)
            defaults = [body[field] for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])  # noqa: PYI024 - see above
            for key, value in body.items():
                if key not in fields and key not in _OWN:
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """Typing's, in short."""


__all__ = ["NamedTuple"]
