from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import reading

from sandbox.confine.seccomp import Comparison, Operator, Profile, Rule, load_profile, profile, shipped_profiles
from sandbox.errors import SetupError

if TYPE_CHECKING:
    from pathlib import Path

RULE = {"names": ["read", "fork"], "action": "SCMP_ACT_ALLOW"}
ARG = {"index": 1, "value": 6, "valueTwo": 2, "op": "SCMP_CMP_MASKED_EQ"}
GOOD: dict[str, Any] = {
    "defaultAction": "SCMP_ACT_ERRNO",
    "defaultErrnoRet": 38,
    "architectures": ["SCMP_ARCH_AARCH64"],
    "syscalls": [RULE, {"names": ["ioctl"], "action": "SCMP_ACT_ERRNO", "args": [ARG]}],
}


def write(folder: Path, document: object) -> Path:
    """Put a document where a profile would lie."""
    path = folder / "mine.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def with_rule(**changes: object) -> dict[str, Any]:
    """Give the good document with its first rule changed."""
    return {**GOOD, "syscalls": [{**RULE, **changes}]}


def with_arg(**changes: object) -> dict[str, Any]:
    """Give the good document with one condition changed; None takes a key away."""
    arg = {key: value for key, value in {**ARG, **changes}.items() if value is not None}
    return with_rule(args=[arg])


def test_a_document_becomes_values(tmp_path: Path) -> None:
    """Actions become errnos (EPERM where none is given) or None, operators become words of ours."""
    assert load_profile(write(tmp_path, GOOD)) == Profile(
        default=38,
        architectures=("SCMP_ARCH_AARCH64",),
        rules=(
            Rule(names=("read", "fork"), answer=None),
            Rule(names=("ioctl",), answer=1, args=(Comparison(1, Operator.MASKED_EQ, 6, 2),)),
        ),
    )


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ([], "mine.json: must be an object"),
        ("{", "mine.json: Expecting"),
        ('{"defaultAction": 1, "defaultAction": 2}', "mine.json: a key is there twice"),
        ({**GOOD, "comment": ""}, "mine.json: unknown key 'comment'"),
        ({key: GOOD[key] for key in GOOD if key != "architectures"}, "mine.json: missing key 'architectures'"),
        ({**GOOD, "defaultAction": "SCMP_ACT_KILL_PROCESS"}, "mine.json: defaultAction: unknown word"),
        ({**GOOD, "defaultErrnoRet": 0}, "mine.json: defaultErrnoRet: must be a whole number"),
        ({**GOOD, "defaultAction": "SCMP_ACT_ALLOW"}, "mine.json: defaultErrnoRet: an allowed call has no errno"),
        ({**GOOD, "architectures": ["SCMP_ARCH_X32"]}, "mine.json: architectures.0: unknown word"),
        ({**GOOD, "syscalls": []}, "mine.json: syscalls: must be a list that is not empty"),
        (with_rule(names=["read", "raed"]), "mine.json: syscalls.0.names.1: unknown word 'raed'"),
        (with_rule(names="read"), "mine.json: syscalls.0.names: must be a list"),
        (with_rule(action="SCMP_ACT_KILL"), "mine.json: syscalls.0.action: unknown word"),
        (with_rule(action="SCMP_ACT_ERRNO", errnoRet=4096), "mine.json: syscalls.0.errnoRet: must be"),
        (with_rule(action="SCMP_ACT_ERRNO", errnoRet=True), "mine.json: syscalls.0.errnoRet: must be"),
        (with_rule(includes={}), "mine.json: syscalls.0: unknown key 'includes'"),
        (with_rule(args=[ARG, ARG]), "mine.json: syscalls.0: one argument is compared twice"),
        (with_arg(index=6), "mine.json: syscalls.0.args.0.index: must be a whole number between 0 and 5, not 6"),
        (with_arg(op="SCMP_CMP_ISH"), "mine.json: syscalls.0.args.0.op: unknown word"),
        (with_arg(value=1 << 64), "mine.json: syscalls.0.args.0.value: must be"),
        (with_arg(value=-1), "mine.json: syscalls.0.args.0.value: must be"),
        (with_arg(value="6"), "mine.json: syscalls.0.args.0.value: must be"),
        (with_arg(op="SCMP_CMP_EQ"), "mine.json: syscalls.0.args.0: valueTwo belongs to"),
        (with_arg(value=4), "mine.json: syscalls.0.args.0: the mask"),
        (with_arg(value=0, valueTwo=0), "mine.json: syscalls.0.args.0: the mask"),
        (with_arg(op=None), "mine.json: syscalls.0.args.0: missing key 'op'"),
    ],
)
def test_anything_not_understood_is_refused_with_its_place(tmp_path: Path, document: object, place: str) -> None:
    """Nothing is skipped: an unknown key, word, number or shape is an error that says where it stands."""
    with pytest.raises(SetupError) as caught:
        load_profile(write(tmp_path, document))
    assert place in str(caught.value)


def test_a_missing_file_is_a_set_up_error(tmp_path: Path) -> None:
    """A profile that cannot be read is our failure, with the kernel's errno and the path."""
    with pytest.raises(SetupError, match="No such file"):
        load_profile(tmp_path / "none.json")


def test_the_shipped_profiles_are_an_allow_list_and_a_deny_list() -> None:
    """The first refuses with ENOSYS what it does not name, the second lets it through; both cover both machines."""
    allow, deny = shipped_profiles()
    assert (allow.default, deny.default) == (38, None)
    assert set(allow.architectures) == set(deny.architectures) == {"SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"}
    assert None not in {rule.answer for rule in deny.rules}


def test_an_installed_package_reads_its_own_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the wheel put the profiles inside the package, those are read; a source tree beside it is not."""
    inside = tmp_path / "sandbox" / "seccomp_profiles"
    shutil.copytree(reading.SHIPPED, inside)
    write(inside, {**GOOD, "architectures": ["SCMP_ARCH_X86_64"]}).rename(inside / "deny.json")
    monkeypatch.setattr(profile, "__file__", str(tmp_path / "sandbox" / "confine" / "seccomp" / "profile.py"))
    assert shipped_profiles()[1].architectures == ("SCMP_ARCH_X86_64",)
