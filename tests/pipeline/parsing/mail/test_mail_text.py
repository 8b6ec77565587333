"""Mails as text: the richer body, invitations, forwarded mails, charsets."""

from email.message import EmailMessage

import pytest

from pipeline.parsing.mail.mail_file import read_mail
from pipeline.parsing.mail.mail_text import MailPart, attached_parts, decode_header_value, decode_text, mail_text

STORY = "The lamp is lit at dusk and the keeper writes down every ship that passes before dawn."


def plain(text: str, **more: object) -> MailPart:
    return MailPart("text/plain", text.encode(), **more)  # type: ignore[arg-type]  # fields of a part


def rich(text: str) -> MailPart:
    return MailPart("text/html", f"<html><body>{text}</body></html>".encode())


def multipart(kind: str, *children: MailPart) -> MailPart:
    return MailPart(f"multipart/{kind}", children=children)


def test_an_html_body_beside_a_stub_is_read() -> None:
    stub = plain("Your mail program can't show this message.")
    assert mail_text(multipart("alternative", stub, rich(f"<p>{STORY}</p>"))) == STORY


def test_a_plain_body_that_says_the_same_as_the_html_is_preferred() -> None:
    assert mail_text(
        multipart("alternative", plain(f"{STORY}\n- one"), rich(f"<p>{STORY}</p><ul><li>one</li></ul>"))
    ) == (f"{STORY}\n- one")


def test_an_html_body_with_a_plain_footer_of_a_mailing_list_is_read_with_it() -> None:
    footer = "_______\nlamps mailing list"
    assert mail_text(multipart("mixed", rich(f"<p>{STORY}</p>"), plain(footer))) == f"{STORY}\n\n{footer}"


INVITATION = """BEGIN:VCALENDAR
METHOD:REQUEST
BEGIN:VTIMEZONE
TZID:Europe/Paris
BEGIN:STANDARD
DTSTART:19701025T030000
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
SUMMARY:Painting the lighthouse\\, white first
DTSTART;TZID=Europe/Paris:20260304T093000
DTEND:20260304T103000Z
LOCATION:The island
ORGANIZER;CN="Lovelace, Ada":mailto:ada@example.test
ATTENDEE;CN=Grace;PARTSTAT=ACCEPTED:mailto:grace@example.test
DESCRIPTION:Bring brushes\\nand a very long rope that has to be folded over
  two lines.
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
END:VCALENDAR
"""
READABLE = """(Invitation)

### Painting the lighthouse, white first

Start: 2026-03-04 09:30 (Europe/Paris)\x20\x20
End: 2026-03-04 10:30 UTC\x20\x20
Where: The island\x20\x20
Organizer: Lovelace, Ada <ada@example.test>\x20\x20
Attendees: Grace <grace@example.test>

Bring brushes
and a very long rope that has to be folded over two lines."""


@pytest.mark.parametrize("media_type", ["text/calendar", "application/ics"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_an_invitation_is_readable_and_stands_there_once(media_type: str, line_end: str) -> None:
    data = INVITATION.replace("\n", line_end).encode()
    body = multipart("alternative", plain(STORY), MailPart("text/calendar", data))
    file = MailPart(media_type, data, filename="invite.ics", is_attachment=True)
    assert mail_text(multipart("mixed", body, file)) == f"{STORY}\n\n{READABLE}"


def test_calendar_data_that_is_broken_stays_as_it_is() -> None:
    assert mail_text(MailPart("text/calendar", b"BEGIN:VCALENDAR\nnonsense")) == "BEGIN:VCALENDAR\nnonsense"


def test_a_forwarded_mail_is_read_with_its_header_and_its_files() -> None:
    file = MailPart("application/pdf", b"%PDF", filename="offer.pdf")
    headers = {"from": "Bob <bob@example.test>", "subject": "The offer"}
    inner = MailPart("multipart/mixed", headers=headers, children=(plain("It is 300."), file))
    whole = multipart("mixed", plain("See below."), MailPart("message/rfc822", filename="mail.eml", children=(inner,)))
    assert mail_text(whole) == (
        "See below.\n\n---------- Forwarded message ---------\n\n"
        "From: Bob <bob@example.test>  \nSubject: The offer\n\nIt is 300."
    )
    assert [part.name for part in attached_parts(whole)] == ["offer.pdf"]


def test_a_file_without_a_name_gets_one_of_its_type() -> None:
    assert [part.name for part in attached_parts(MailPart("application/pdf", b"%PDF"))] == ["attachment.pdf"]


@pytest.mark.parametrize(
    ("text", "charset", "codec"),
    [
        ("すみません。", "ISO-2022-JP", "iso2022_jp"),
        ("あいうえお", "Shift_JIS", "shift_jis"),
        ("스티해", "ks_c_5601-1987", "cp949"),
        ("软件", '"gb2312"', "gb2312"),
        ("“quoted” text", "iso-8859-1", "cp1252"),
        ("Привет, смотритель", "koi8-r", "koi8-r"),
        ("Grüße", "utf-8", "utf-8"),
        ("Grüße aus dem Leuchtturm", "x-unknown", "cp1252"),
        ("Grüße", None, "utf-8"),
    ],
)
def test_charsets_are_decoded_as_declared(text: str, charset: str | None, codec: str) -> None:
    assert decode_text(text.encode(codec), charset) == text


def test_a_few_wrong_bytes_do_not_change_the_charset() -> None:
    assert decode_text("軟體王國更新".encode("big5") * 10 + b"\xff", "big5").startswith("軟體王國更新")


@pytest.mark.parametrize(
    ("value", "decoded"),
    [
        ("=?iso-2022-jp?B?GyRCJF4kXyRgJGEkYhsoQg==?=", "まみむめも"),
        ("=?NONE?B?VEVTVA=?=", "=?NONE?B?VEVTVA=?="),
        ("=?ut±-8?q?Caf=C3=A9?=", "=?ut±-8?q?Caf=C3=A9?="),
        ("folded\r\n subject", "folded subject"),
    ],
)
def test_header_values_are_decoded_on_one_line(value: str, decoded: str) -> None:
    assert decode_header_value(value) == decoded


def test_a_mail_file_is_read_with_its_headers_and_its_attachments() -> None:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "Grüße", "Ada <ada@example.test>", "Grace <g@example.test>"
    message.set_content(STORY)
    message.add_attachment(b"a,b", maintype="text", subtype="csv", filename="list.csv")
    mail = read_mail(message.as_bytes())
    assert mail.text == f"Subject: Grüße\nFrom: Ada <ada@example.test>\nTo: Grace <g@example.test>\n\n{STORY}"
    assert [part.name for part in mail.attachments] == ["list.csv"]


def test_a_mail_whose_boundary_never_comes_is_read_as_text() -> None:
    assert STORY in read_mail(f"Subject: a\nContent-Type: multipart/mixed; boundary=x\n\n{STORY}".encode()).text


def test_raw_eight_bit_headers_are_readable() -> None:
    assert read_mail("Subject: Formação\n\nTexto.".encode()).subject == "Formação"
    assert read_mail("Subject: Formação\n\nTexto.".encode("cp1252")).subject == "Formação"


@pytest.mark.parametrize(
    "odd", [b"a line without a name", b"X-Bar : with a blank", b"X-\xe9: not ASCII", b"Subject2 folded without a blank"]
)
def test_a_broken_line_does_not_turn_the_headers_behind_it_into_text(odd: bytes) -> None:
    data = b"From: a@example.test\n" + odd + b"\nX-Foo: program\nSubject: Tides\n\nHigh water at noon."
    mail = read_mail(data)
    assert mail.subject == "Tides"
    assert mail.text.endswith("\n\nHigh water at noon.")
    assert "X-Foo" not in mail.text


def test_a_text_that_follows_the_headers_without_an_empty_line_stays() -> None:
    mail = read_mail(b"From: a@example.test\nSubject: Tides\nHigh water at noon.\nNote: bring boots.\n\nAda")
    assert "High water at noon.\nNote: bring boots." in mail.text


def test_of_the_mail_that_came_back_the_header_is_told_as_people_read_it() -> None:
    returned = MailPart("text/rfc822-headers", b"Received: from x\nX-Foo: program\nFrom: a@b.c\nSubject: Tides\n")
    assert mail_text(returned) == "From: a@b.c  \nSubject: Tides"


def test_a_text_that_a_server_took_for_latin_1_is_what_it_was() -> None:
    transcoded = "軟體光碟更新迅速".encode("big5").decode("latin-1").encode()
    assert decode_text(transcoded, "big5") == "軟體光碟更新迅速"
    assert decode_text("déjà vu à l'été, très très légère".encode(), "big5") == "déjà vu à l'été, très très légère"
