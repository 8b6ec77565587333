"""The main text of a page: the article with its lead, whatever surrounds it."""

import pytest

from connectors.providers.web_crawler.content import parse_page

SENTENCES = [
    f"Keeper number {number} of the lighthouse writes down every ship that passes the rocks." for number in range(9)
]
BODY = "".join(f"<p>{sentence}</p>" for sentence in SENTENCES)
LEAD = "The lamp was lit for the first time in a winter that nobody on the island has forgotten."


def text_of(body: str, head: str = "") -> str:
    return parse_page(
        f"<html><head><title>Lamp</title>{head}</head><body>{body}</body></html>", "https://e.test/a"
    ).text


@pytest.mark.parametrize(
    "lead",
    [
        f"<p class='article__teaser'>{LEAD}</p>",
        f"<div class='contentHeader__abstract'>{LEAD}</div>",
        f"<header><p>{LEAD}</p></header>",
        f"<hgroup><h2>{LEAD}</h2></hgroup>",
    ],
)
def test_the_lead_between_heading_and_article_is_kept_once(lead: str) -> None:
    text = text_of(f"<main><h1>The lamp</h1>{lead}<article>{BODY}</article></main>")
    assert text.count(LEAD) == 1
    assert all(sentence in text for sentence in SENTENCES)


def test_a_lead_is_recognized_by_the_description_of_the_page() -> None:
    head = f"<meta property='og:description' content='{LEAD}'>"
    text = text_of(f"<div class='teaser-box'><p>{LEAD}</p></div><h1>The lamp</h1><article>{BODY}</article>", head)
    assert text.count(LEAD) == 1


def test_an_article_inside_an_aside_is_the_article() -> None:
    surroundings = "<p>Your most important contact in the world of lighthouses and everything around them.</p>"
    text = text_of(f"{surroundings}<aside class='sidebar'><article><h1>The lamp</h1>{BODY}</article></aside>")
    assert all(sentence in text for sentence in SENTENCES)


@pytest.mark.parametrize("wrapper", ["<form action='/' method='post'>{}</form>", "<div aria-hidden='true'>{}</div>"])
def test_pages_inside_a_form_or_behind_a_dialog_are_read(wrapper: str) -> None:
    text = text_of(wrapper.format(f"<main><h1>The lamp</h1>{BODY}</main>"))
    assert all(sentence in text for sentence in SENTENCES)


@pytest.mark.parametrize("wrapper", ["<form action='/' method='post'>{}</form>", "<div aria-hidden='true'>{}</div>"])
def test_short_pages_inside_a_form_or_behind_a_dialog_are_read(wrapper: str) -> None:
    assert (
        text_of(wrapper.format("<h1>Hours</h1><p>Open from nine to five.</p>")) == "# Hours\n\nOpen from nine to five."
    )


@pytest.mark.parametrize("name", ["newsletter-box", "paywall", "jp-relatedposts", "social-links", "article-cta"])
def test_offers_of_the_site_are_left_out(name: str) -> None:
    offer = "Never miss what happens on the coast and sign up for our letter today, it costs nothing."
    text = text_of(f"<article><h1>The lamp</h1>{BODY}<div class='{name}'><p>{offer}</p></div></article>")
    assert offer not in text
    assert all(sentence in text for sentence in SENTENCES)


def test_an_article_that_is_named_as_an_offer_is_kept() -> None:
    text = text_of(f"<div class='paywall'><h2>The lamp</h2>{BODY}</div>")
    assert all(sentence in text for sentence in SENTENCES)


def test_comments_of_readers_do_not_decide_what_the_article_is() -> None:
    comments = "".join(f"<p>Reader {number} once met a keeper and never forgot the light.</p>" for number in range(40))
    text = text_of(
        f"<article><h1>The lamp</h1>{BODY}</article><div id='comments' class='comment-list'>{comments}</div>"
    )
    assert all(sentence in text for sentence in SENTENCES)
    assert "Reader 3" not in text


LONG = "The harbour office opens at nine and lists every ship that arrives during the week, with its cargo. "


@pytest.mark.parametrize(
    "part",
    [
        f"<div aria-hidden='true'><p>Closed answer: {LONG}</p></div>",
        f"<form><fieldset><legend>Apply</legend><p>Closed answer: {LONG}</p><input name=a></fieldset></form>",
    ],
)
def test_text_in_forms_and_closed_parts_is_kept(part: str) -> None:
    page = parse_page(f"<main><h1>Office</h1><p>{LONG * 6}</p>{part}<p>{LONG * 2}</p></main>", "https://e.test/")
    assert "Closed answer" in page.text


def test_icons_and_the_fields_of_forms_are_not_text() -> None:
    icons = "<span aria-hidden='true'>★</span><form><label>Your name</label><input><button>Send</button></form>"
    page = parse_page(f"<main><h1>Office</h1><p>{LONG * 3}{icons}</p></main>", "https://e.test/")
    assert "★" not in page.text
    assert "Your name" not in page.text


@pytest.mark.parametrize(
    "body",
    [
        "<div id=root></div>",
        "<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>",
        "<div id=app>Loading…</div>",
        "<p>Bitte aktivieren Sie JavaScript, um diese Seite zu sehen.</p>",
    ],
)
def test_a_page_that_only_its_scripts_can_fill_is_told_apart(body: str) -> None:
    assert parse_page(f"<html><body>{body}<script src=a.js></script></body></html>", "https://e.test/").needs_javascript


@pytest.mark.parametrize(
    "body",
    [
        "<h1>News</h1><p>Short.</p>",
        f"<p>How to enable JavaScript. {LONG * 5}</p>",
        "<h1>Talk</h1><p>JavaScript without frameworks: what a page needs today.</p>",
        "<p>The course requires JavaScript and some patience.</p>",
    ],
)
def test_a_short_page_with_scripts_is_a_page(body: str) -> None:
    page = parse_page(f"<html><body>{body}<script src=a.js></script></body></html>", "https://e.test/")
    assert not page.needs_javascript
