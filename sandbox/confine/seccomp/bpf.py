"""Profile -> classic BPF.

How a program reads, top to bottom: another architecture -> ENOSYS; the x32 bit -> ENOSYS; a balanced tree of ``>=``
over call numbers, down to an answer or to the call's rules; rules that refuse before rules that allow; the default.
Up to the first argument only the operations are used for which the kernel remembers "always allowed" and skips the
program altogether.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sandbox.confine.seccomp.machines import MACHINES, Machine
from sandbox.confine.seccomp.profile import MAX_U64, Answer, Comparison, Operator, Profile, Rule
from sandbox.errors import LayerMissing, SetupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Filters:
    """Two arrays of ``struct sock_filter`` (8 bytes each, little-endian), as ``struct sock_fprog`` wants them.

    Load ``deny`` first and ``allow`` last: the allow-list refuses ``seccomp`` and ``prctl(PR_SET_SECCOMP)`` itself,
    so nothing can be loaded after it.
    """

    deny: bytes
    allow: bytes


# linux/bpf_common.h, only what is used.
_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
_JUMP = 0x05  # BPF_JMP | BPF_JA
_IF_EQ = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_IF_GT = 0x25
_IF_GE = 0x35
_RETURN = 0x06

# linux/seccomp.h: the answers, and struct seccomp_data {int nr; u32 arch; u64 instruction_pointer; u64 args[6]}.
_RET_ALLOW = 0x7FFF0000
_RET_ERRNO = 0x00050000
_AT_NR, _AT_ARCH, _AT_ARGS = 0, 4, 16

_LAST_NUMBER = (1 << 32) - 1
_LOW_HALF = (1 << 32) - 1
_REACH = 255
_NEAR = 200
_MAX_INSTRUCTIONS = 4096


def compile_filters(allow: Profile, deny: Profile, machine: str) -> Filters:
    """Compile both profiles for ``machine``, a word of ``uname -m``: ``x86_64`` or ``aarch64``.

    Raises LayerMissing where we have no table for the machine or a profile does not speak of it, and SetupError for
    a profile that says two things about one call or grows beyond what the kernel takes.
    """
    return Filters(deny=compile_filter(deny, machine), allow=compile_filter(allow, machine))


def compile_filter(profile: Profile, machine: str) -> bytes:
    """Compile one profile as :func:`compile_filters` does two."""
    if machine not in MACHINES:
        raise LayerMissing("seccomp", f"no system call table for {machine}")
    return _compile(profile, MACHINES[machine])


def _compile(profile: Profile, machine: Machine) -> bytes:
    if machine.architecture not in profile.architectures:
        raise LayerMissing("seccomp", f"the profile does not cover {machine.architecture}")
    program = _Program()
    spans = list(_spans(_rules_by_number(profile, machine), machine.end))
    start = _tree(program, spans, profile.default)
    start = program.add(_LOAD, _AT_NR, start)
    start = program.branch(_IF_EQ, machine.audit, start, program.answer(errno.ENOSYS))
    program.add(_LOAD, _AT_ARCH, start)
    if len(program.code) > _MAX_INSTRUCTIONS:
        raise SetupError("seccomp profile", errno.E2BIG, f"{len(program.code)} instructions")
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in reversed(program.code))


def _rules_by_number(profile: Profile, machine: Machine) -> dict[int, list[Rule]]:
    found: dict[int, list[Rule]] = {}
    for rule in profile.rules:
        for name in rule.names:
            # A name that only another machine has is no mistake: one profile serves all.
            if name in machine.numbers:
                found.setdefault(machine.numbers[name], []).append(rule)
                if len(found[machine.numbers[name]]) > 1 and not all(r.args for r in found[machine.numbers[name]]):
                    raise SetupError("seccomp profile", detail=f"{name} has an unconditional rule beside another")
    return found


def _spans(rules: Mapping[int, list[Rule]], end: int) -> Iterator[tuple[int, tuple[Rule, ...]]]:
    """Cut the numbers from 0 on where the verdict changes: (first number, its rules; none means the default)."""
    before: tuple[Rule, ...] | None = None
    for number in sorted({0, *rules, *(taken + 1 for taken in rules)}):
        here = tuple(rules.get(number, ()))
        if here and not here[0].args:
            here = (Rule((), here[0].answer),)  # without its names, so that neighbours with one answer join
        if here != before:
            yield number, here
        before = here
    if end <= _LAST_NUMBER:
        yield end, (Rule((), errno.ENOSYS),)


def _tree(program: _Program, spans: list[tuple[int, tuple[Rule, ...]]], default: Answer) -> int:
    if len(spans) == 1:
        return _leaf(program, spans[0][1], default)
    middle = len(spans) // 2
    above = _tree(program, spans[middle:], default)
    below = _tree(program, spans[:middle], default)
    return program.branch(_IF_GE, spans[middle][0], above, below)


def _leaf(program: _Program, rules: tuple[Rule, ...], default: Answer) -> int:
    # Tried from the first to the last; where two rules overlap the refusing one must win, so those come first.
    otherwise = program.answer(default)
    for rule in sorted(rules, key=lambda rule: rule.answer is None)[::-1]:
        start = program.answer(rule.answer)
        for arg in reversed(rule.args):
            start = _compare(program, arg, start, otherwise)
        otherwise = start
    return otherwise


def _compare(program: _Program, arg: Comparison, yes: int, no: int) -> int:
    """A machine word is 32 bits, so both halves of the argument are looked at, the high one first."""
    match arg.op:
        case Operator.NE | Operator.LT | Operator.LE:
            opposite = {Operator.NE: Operator.EQ, Operator.LT: Operator.GE, Operator.LE: Operator.GT}[arg.op]
            return _compare(program, Comparison(arg.index, opposite, arg.value), no, yes)
        case Operator.EQ:
            return _compare(program, Comparison(arg.index, Operator.MASKED_EQ, MAX_U64, arg.value), yes, no)
        case _:
            pass
    at_low = _AT_ARGS + 8 * arg.index
    at_high = at_low + 4
    if arg.op is Operator.MASKED_EQ:
        for at, shift in ((at_low, 0), (at_high, 32)):
            if mask := arg.value >> shift & _LOW_HALF:
                yes = program.branch(_IF_EQ, arg.value_two >> shift & _LOW_HALF, yes, no)
                yes = program.add(_AND, mask, yes) if mask != _LOW_HALF else yes
                yes = program.add(_LOAD, at, yes)
        return yes
    high, low = arg.value >> 32, arg.value & _LOW_HALF
    start = program.branch(_IF_GT if arg.op is Operator.GT else _IF_GE, low, yes, no)
    start = program.add(_LOAD, at_low, start)
    start = program.branch(_IF_EQ, high, start, no)
    start = program.branch(_IF_GT, high, yes, start)
    return program.add(_LOAD, at_high, start)


@dataclass(slots=True)
class _Program:
    """BPF written from its end to its start: every jump goes forward, so each target is known when it is needed.

    ``code`` holds (operation, jump if true, jump if false, operand), last instruction first; a label is an index in it.
    """

    code: list[tuple[int, int, int, int]] = field(default_factory=list)

    def add(self, operation: int, operand: int, then: int) -> int:
        """Put an instruction that goes on to ``then``."""
        if then != len(self.code) - 1:
            self.code.append((_JUMP, 0, 0, len(self.code) - then - 1))
        self.code.append((operation, 0, 0, operand))
        return len(self.code) - 1

    def answer(self, answer: Answer) -> int:
        """End the program here; an equal end that is still within reach is used again."""
        end = (_RETURN, 0, 0, _RET_ALLOW if answer is None else _RET_ERRNO | answer)
        for label in range(len(self.code) - 1, max(len(self.code) - _NEAR, -1), -1):
            if self.code[label] == end:
                return label
        self.code.append(end)
        return len(self.code) - 1

    def branch(self, operation: int, operand: int, yes: int, no: int) -> int:
        """Put a conditional jump. Its offsets are one byte wide, so a far target gets a wide jump in between."""
        yes, no = self._near(yes), self._near(no)
        self.code.append((operation, len(self.code) - yes - 1, len(self.code) - no - 1, operand))
        return len(self.code) - 1

    def _near(self, label: int) -> int:
        # One less than the reach: the other target of the same jump may need an instruction too.
        if len(self.code) - label - 1 < _REACH:
            return label
        self.code.append((_JUMP, 0, 0, len(self.code) - label - 1))
        return len(self.code) - 1
