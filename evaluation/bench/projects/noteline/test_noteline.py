import datetime

import pytest

import noteline
from noteline import agenda, anchor, html, inline, parse, plain, summary, table_of_contents

WEDNESDAY = datetime.date(2024, 5, 1)
NOTE = """\
= Weekly round =

We met at nine.
Coffee was *late*.

- buy paper @Mia !2024-05-03
  from the shop
  - ask for a *discount* @ben @mia
+ buy ink !mon
> we keep the
old printer
== Money
"""


@pytest.fixture
def entries():
    return parse(NOTE, today=WEDNESDAY)


def tasks(text):
    return [entry for entry in parse(text, today=WEDNESDAY) if entry.kind == "task"]


def test_kinds(entries):
    assert [entry.kind for entry in entries] == [
        "heading", "paragraph", "task", "task", "task", "decision", "heading",
    ]


def test_a_closing_mark_of_a_heading_is_left_out(entries):
    assert entries[0].text == "Weekly round"


def test_paragraph_lines_are_joined(entries):
    assert entries[1].text == "We met at nine. Coffee was *late*."


def test_an_indented_line_continues_a_task(entries):
    assert entries[2].text == "buy paper from the shop"


def test_a_flush_line_does_not_continue_a_task():
    assert [entry.kind for entry in parse("- a\nb")] == ["task", "paragraph"]


def test_decisions_go_on(entries):
    assert entries[5].text == "we keep the old printer"


def test_a_blank_line_ends_a_paragraph():
    assert [entry.text for entry in parse("a\n\nb")] == ["a", "b"]


def test_owners_are_lower_case_and_once():
    assert tasks("- x @Mia @ben @mia")[0].owners == ("mia", "ben")


def test_an_address_is_no_owner():
    task = tasks("- write to shop@example.org")[0]
    assert (task.owners, task.text) == ((), "write to shop@example.org")


def test_an_owner_with_a_dot_at_the_end_of_a_sentence():
    assert tasks("- ask @j.doe.")[0].owners == ("j.doe",)


def test_levels(entries):
    assert [entry.level for entry in entries if entry.kind == "task"] == [0, 1, 0]


def test_a_tab_is_one_level():
    assert [task.level for task in tasks("- a\n\t- b\n\t\t- c")] == [0, 1, 2]


@pytest.mark.parametrize(
    ("word", "day"),
    [("today", "2024-05-01"), ("tomorrow", "2024-05-02"), ("fri", "2024-05-03"), ("2024-12-24", "2024-12-24")],
)
def test_due(word, day):
    assert tasks(f"- x !{word}")[0].due.isoformat() == day


def test_a_weekday_is_never_today():
    assert tasks("- x !wed")[0].due.isoformat() == "2024-05-08"


def test_a_weekday_after_the_weekend():
    assert tasks("- x !tue")[0].due.isoformat() == "2024-05-07"


def test_an_impossible_date():
    with pytest.raises(noteline.NoteError, match=r"no such date: 2024-02-30 \(line 2\)") as caught:
        parse("a\n- x !2024-02-30")
    assert caught.value.line == 2


def test_an_exclamation_is_no_date():
    assert tasks("- hurry !!")[0].due is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*a* and _b_", "<strong>a</strong> and <em>b</em>"),
        ("**a** *b*", "<b>a</b> <strong>b</strong>"),
        ("snake_case_name", "snake_case_name"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("a < b", "a &lt; b"),
        ("~~gone~~", "<del>gone</del>"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
    ],
)
def test_inline(text, expected):
    assert inline(text) == expected


def test_links():
    assert inline("see [the *plan*](https://e.org/?a=1&b=2)") == (
        'see <a href="https://e.org/?a=1&amp;b=2">the *plan*</a>'
    )


def test_mail_links():
    assert inline("[write](mailto:a@e.org)") == '<a href="mailto:a@e.org">write</a>'


def test_unsafe_links_leave_their_label():
    assert inline("[x](JavaScript:alert)") == "x"


def test_relative_links():
    assert inline("[x](plan.html)") == '<a href="plan.html">x</a>'


def test_an_anchor_for_each_heading():
    assert anchor("Über Café") == "ueber-cafe"
    assert anchor("???") == "section"


def test_anchors_differ():
    assert anchor("Money", {"money"}) == "money-2"
    assert anchor("Money", {"money", "money-2"}) == "money-3"


def test_html_of_nested_tasks():
    assert html(parse("- a\n  - b\n+ c\nend", today=WEDNESDAY)).splitlines() == [
        "<ul>", "<li>a</li>", "<ul>", "<li>b</li>", "</ul>", '<li class="done">c</li>', "</ul>", "<p>end</p>",
    ]


def test_html_closes_its_lists():
    assert html(parse("- a\n  - b")).count("</ul>") == 2


def test_html_of_a_task():
    assert html(tasks("- pay @mia !fri")) == (
        '<ul>\n<li>pay <i>@mia</i> <time datetime="2024-05-03">03.05.</time></li>\n</ul>'
    )


def test_html_headings():
    assert html(parse("= A\n= A")) == '<h1 id="a">A</h1>\n<h1 id="a-2">A</h1>'


def test_plain():
    text = "= Round\n- see [plan](p.html)\n  - b\n> yes\n== Sub\nbye"
    assert plain(parse(text)).splitlines() == [
        "ROUND", "", "[ ] see plan <p.html>", "  [ ] b", "=> yes", "", "Sub", "", "bye",
    ]


def test_plain_wraps_with_a_hanging_indent():
    assert plain(parse("  - one two three"), width=13).splitlines() == ["  [ ] one two", "      three"]


def test_plain_fills_the_width():
    assert plain(parse("abc def ghi"), width=7).splitlines() == ["abc def", "ghi"]


def test_a_long_word_stays_whole():
    assert plain(parse("a incomprehensible b"), width=5).splitlines() == ["a", "incomprehensible", "b"]


def test_agenda_order():
    text = "- none\n- later !2024-06-01\n+ done !today\n- soon !tomorrow"
    assert [task.text for task in agenda(tasks(text), WEDNESDAY)] == ["soon", "later", "none"]


def test_agenda_of_an_owner(entries):
    assert [task.line for task in agenda(entries, WEDNESDAY, owner="MIA")] == [6, 8]


def test_summary(entries):
    later = datetime.date(2024, 5, 4)
    assert summary(entries, later) == {"open": 2, "done": 1, "late": 1, "decisions": 1}


def test_what_is_due_today_is_not_late():
    assert summary(tasks("- a !today"), WEDNESDAY)["late"] == 0


def test_what_is_done_is_not_late():
    assert summary(tasks("+ a !today"), datetime.date(2024, 6, 1))["late"] == 0


def test_table_of_contents():
    rows = table_of_contents(parse("= A\n==== Deep\n== Deep"))
    assert rows == [(1, "A", "a"), (2, "Deep", "deep-2")]


def test_anchor_of_a_street():
    assert anchor("Straße 5") == "strasse-5"


def test_mail_links_in_capitals():
    assert inline("[w](MAILTO:a@e.org)") == '<a href="MAILTO:a@e.org">w</a>'


def test_bold_words_in_a_sentence():
    assert html(parse("a **very long** day")) == "<p>a <b>very long</b> day</p>"


def test_an_address_beside_an_owner():
    assert tasks("- mail a@example.org @ben")[0].owners == ("ben",)


def test_a_weekday_on_itself_in_the_week_before():
    assert noteline.due_date("sun", datetime.date(2024, 5, 5)) == datetime.date(2024, 5, 12)


def test_four_headings_of_a_name():
    rows = table_of_contents(parse("= A\n= A\n= A\n= A"))
    assert [name for _, _, name in rows] == ["a", "a-2", "a-3", "a-4"]


def test_a_blank_line_ends_a_decision():
    assert [entry.kind for entry in parse("> yes\n\nafter")] == ["decision", "paragraph"]


def test_a_task_goes_on_twice():
    assert [task.text for task in tasks("- a\n  b\n  c\n- d")] == ["a b c", "d"]
