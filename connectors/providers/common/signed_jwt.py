"""JWT that an operator's private key signs, by which an app or a service account authenticates as itself."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from connectors.errors import MisconfigurationError

_CLOCK_MARGIN: Final = timedelta(minutes=1)


def sign_jwt(
    claims: Mapping[str, Any],
    private_key: str,
    *,
    now: datetime,
    lifetime: timedelta,
    refusal: str,
    header: Mapping[str, str] | None = None,
) -> str:
    """Sign claims with a key (PEM); MisconfigurationError with the `refusal` if it is none.

    It begins a minute ago, because clocks differ, and lasts for `lifetime` from then on.
    """
    # Imported on first use: slow to import, and needed only by deployments with such a key.
    from joserfc import jwt  # noqa: PLC0415 - see above
    from joserfc.errors import JoseError  # noqa: PLC0415 - see above
    from joserfc.jwk import RSAKey  # noqa: PLC0415 - see above

    begins = now - _CLOCK_MARGIN
    times = {"iat": int(begins.timestamp()), "exp": int((begins + lifetime).timestamp())}
    try:
        key = RSAKey.import_key(private_key)
        return jwt.encode({"alg": "RS256", **(header or {})}, {**claims, **times}, key, algorithms=["RS256"])
    except (JoseError, ValueError) as error:
        raise MisconfigurationError(refusal) from error
