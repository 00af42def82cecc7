"""The tables of APIs agree with each other, and no module is imported before it is needed."""

import subprocess
import sys

import pytest

from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.registry import APIS, REQUESTS, RESPONSES
from tidelog.protocol.reference import render
from tidelog.protocol.schema import schema_of


def test_the_keys_are_those_of_kafka_4_3() -> None:
    assert list(APIS) == [*range(4), *range(8, 93)]
    assert {api.module.upper(): key for key, api in APIS.items()} == {key.name: key.value for key in ApiKey}


@pytest.mark.parametrize("api_key", list(APIS))
def test_request_and_response_belong_together(api_key: int) -> None:
    request, response = schema_of(REQUESTS[api_key]), schema_of(RESPONSES[api_key])
    assert (request.kind, response.kind) == ("request", "response")
    assert request.name.removesuffix("Request") == response.name.removesuffix("Response") == APIS[api_key].name
    assert request.api_key == response.api_key == api_key
    assert request.versions == response.versions
    assert request.flexible == response.flexible
    named = APIS[api_key]
    assert request.versions == (named.lowest_version, named.highest_version)
    assert request.latest_version_unstable == named.is_latest_unstable


def test_an_unknown_key_is_a_key_error() -> None:
    assert 4 not in REQUESTS
    with pytest.raises(KeyError):
        REQUESTS[4]


def test_a_message_is_imported_when_it_is_asked_for() -> None:
    script = (
        "import sys; from tidelog.protocol.messages.registry import REQUESTS; REQUESTS[18];"
        "print([name for name in sys.modules if name.startswith('tidelog.protocol.messages.')])"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    imported = "['tidelog.protocol.messages.registry', 'tidelog.protocol.messages.api_versions']"
    assert done.stdout.strip() == imported


def test_the_reference_page_names_every_api() -> None:
    page = render()
    assert "| 17 | SaslHandshake | 0-1 | never | broker and controller |\n" in page
    assert "| 22 | InitProducerId | 0-6 (6 unstable) | 2 | broker |\n" in page
    assert "| 52 | Vote | 0-2 | 0 | controller |\n" in page
    assert page.count("\n| ") == len(APIS) + 1
