"""Small HTML pages without external assets."""

from html import escape

from starlette.responses import HTMLResponse

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self';"
    " img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:15vh auto;padding:0 1rem;color:#1a1a1a;"
    "background:#fff}@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}}"
)


def message_page(title: str, text: str, status: int = 200) -> HTMLResponse:
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport"'
        f' content="width=device-width"><title>{escape(title)}</title><style>{_STYLE}</style>'
        f"<main><h1>{escape(title)}</h1><p>{escape(text)}</p></main></html>"
    )
    return HTMLResponse(body, status, SECURITY_HEADERS)
