"""Decompression of RTF bodies in Outlook's mails (MS-OXRTFCP)."""

import struct
from typing import Final

_COMPRESSED, _UNCOMPRESSED = 0x75465A4C, 0x414C454D
_HEADER: Final = struct.Struct("<IIII")
_WINDOW: Final = 4096
_MAX_BYTES: Final = 64 * 1024 * 1024
_PRELOADED: Final = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor "
    rb"MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
"""What the window holds before the first byte."""


class RtfError(ValueError):
    """Bytes that are not compressed RTF."""


def decompress_rtf(data: bytes) -> bytes:
    """Decompress an RTF; a truncated one as far as it goes."""
    if len(data) < _HEADER.size:
        raise RtfError("no header")
    _, raw_bytes, kind, _ = _HEADER.unpack_from(data)
    if raw_bytes > _MAX_BYTES:
        raise RtfError("too large")
    if kind == _UNCOMPRESSED:
        return data[_HEADER.size : _HEADER.size + raw_bytes]
    if kind != _COMPRESSED:
        raise RtfError("unknown compression")
    return bytes(_decompress(data[_HEADER.size :], raw_bytes))


def _decompress(data: bytes, raw_bytes: int) -> bytearray:
    window = bytearray(_PRELOADED.ljust(_WINDOW, b"\x00"))
    write_at = len(_PRELOADED)
    output = bytearray()
    at = 0
    while at < len(data):
        control, at = data[at], at + 1
        for bit in range(8):
            if control >> bit & 1:
                if at + 2 > len(data):
                    return output
                token, at = data[at] << 8 | data[at + 1], at + 2
                read_at, length = token >> 4, (token & 0xF) + 2
                if read_at == write_at:  # the mark of the end
                    return output
                run = _copied(window, read_at, write_at, length)
            elif at < len(data):
                run, at = bytes((data[at],)), at + 1
                window[write_at] = run[0]
            else:
                return output
            write_at = (write_at + len(run)) % _WINDOW
            output += run
            if len(output) > raw_bytes + _WINDOW:
                raise RtfError("longer than declared")
    return output


def _copied(window: bytearray, read_at: int, write_at: int, length: int) -> bytes:
    """Copy within the window byte by byte, because source and target may overlap."""
    copied = bytearray()
    for index in range(length):
        byte = window[(read_at + index) % _WINDOW]
        window[(write_at + index) % _WINDOW] = byte
        copied.append(byte)
    return bytes(copied)
