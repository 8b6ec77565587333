"""Waiting with a time limit."""

import asyncio


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, at most this long; return whether it is set."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
