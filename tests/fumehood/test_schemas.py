"""Requests as values: whatever is sent becomes a job or a problem, and never anything else."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fumehood.problems import Kind, Problem
from fumehood.schemas import ExecuteRequest, parse
from sandbox import Job, JobRefused, Limits

FIELDS = sorted({*ExecuteRequest.model_fields, "wall_seconds", "cpus", "path", "content", "encoding", "kind", "mode"})
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["base64", "python", "/w=="]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | st.text(), inner, max_size=4),
    max_leaves=20,
)
CEILINGS = Limits()


patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # machines of others may be slow


def outcome(text: bytes) -> Job | Problem | JobRefused:
    """Give the job, or the refusal."""
    try:
        return parse(ExecuteRequest, text).job(CEILINGS, {})
    except (Problem, JobRefused) as refusal:
        return refusal


@patient
@given(st.dictionaries(st.sampled_from(FIELDS), json_values))
def test_any_json_object_is_a_job_or_a_refusal(value: object) -> None:
    """Refusals name their fields and can be sent; a job that comes out holds bytes and text."""
    match outcome(json.dumps(value).encode()):
        case Problem() as problem:
            assert problem.kind is Kind.INVALID_REQUEST
            assert json.loads(problem.body())["errors"]
        case JobRefused() as refused:
            assert refused.field
        case job:
            assert "\0" not in job.code
            assert isinstance(job.stdin, bytes)


@patient
@given(st.binary())
def test_any_bytes_are_a_job_or_a_refusal(text: bytes) -> None:
    """Also what is no JSON at all."""
    assert isinstance(outcome(text), Job | Problem | JobRefused)


@patient
@given(st.text())
def test_code_arrives_as_it_was_sent(code: str) -> None:
    """Every character that JSON can carry, but NUL."""
    job = outcome(json.dumps({"code": code}).encode())
    assert job.code == code if isinstance(job, Job) else "\0" in code


def test_a_request_with_very_many_wrong_fields_gets_a_short_answer() -> None:
    """Otherwise a small attack would make a large answer."""
    wrong = json.dumps({f"field{number}": number for number in range(100_000)}).encode()
    with pytest.raises(Problem) as refused:
        parse(ExecuteRequest, wrong)
    assert len(refused.value.document()["errors"]) == 50
    assert "and 100000 more" in refused.value.detail
    assert len(refused.value.body()) < 10_000
