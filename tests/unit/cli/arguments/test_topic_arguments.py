"""Topics as words and behind --topic; and the hints for users who are used to Kafka's tools."""

import pytest
from tests.unit.cli.test_main import parsed, refused

from tidelog.cli.arguments.topic_arguments import check_names, topic_of, topics_of
from tidelog.cli.failing import WrongUsage


@pytest.mark.parametrize("action", ["create", "describe", "delete", "offsets"])
def test_several_topics_are_words_or_options(action: str) -> None:
    assert topics_of(parsed("topics", action, "a", "b")) == ["a", "b"]
    assert topics_of(parsed("topics", action, "--topic", "a")) == ["a"]
    assert topics_of(parsed("topics", action, "a", "--topic", "b", "--topic", "a")) == ["a", "b"]
    with pytest.raises(WrongUsage, match="which topic"):
        topics_of(parsed("topics", action))


@pytest.mark.parametrize("words", [("alter",), ("truncate", "--before", "end")])
def test_a_single_topic_is_a_word_or_an_option(words: tuple[str, ...]) -> None:
    assert topic_of(parsed("topics", *words, "a")) == "a"
    assert topic_of(parsed("topics", *words, "--topic", "a")) == "a"
    with pytest.raises(WrongUsage, match="which topic"):
        topic_of(parsed("topics", *words))
    with pytest.raises(WrongUsage, match="one topic, please: a or b"):
        topic_of(parsed("topics", *words, "a", "--topic", "b"))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a,b"], "parted by spaces: `tidelog consume a b`"),
        (["a", "greet.*"], "a regular expression goes with --include"),
    ],
)
def test_what_is_no_name_is_told_what_it_may_be(names: list[str], told: str) -> None:
    with pytest.raises(WrongUsage, match=told.replace("*", r"\*")):
        check_names(names, "tidelog consume")


def test_names_are_names() -> None:
    check_names(["a", "b.c_d-E9"], "tidelog consume")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("topics", "--create", "--topic", "orders"),
            "there is no option --create; did you mean `tidelog topics create`?",
        ),
        (
            ("topics", "--bootstrap-server", "localhost:9092", "--describe", "--topic", "orders"),
            "there is no option --describe; did you mean `tidelog topics describe`?",
        ),
        (("groups", "describe", "--group", "g"), "without an option, `tidelog groups describe GROUP`"),
        (("consume", "t", "--timeout-ms", "1000"), "there is no option --timeout-ms; here it is --exit"),
        (("consume", "t", "--offset", "earliest"), "there is no option --offset; here it is --from"),
    ],
)
def test_the_habits_of_kafkas_tools(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str) -> None:
    assert told in refused(capsys, *words)
