"""XXH3 with 64 bits and no seed, for what Kafka keeps of a group's topics in its log.

The value is compared after a failover, also between brokers of both kinds: it has to be this hash. It is computed when
a topic changes, not per request, so plain Python will do (about 8 us for every 64 bytes) and no library is needed.
"""

from collections.abc import Sequence
from struct import unpack_from
from typing import Final

_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_P32_1: Final = 0x9E3779B1
_P32_2: Final = 0x85EBCA77
_P32_3: Final = 0xC2B2AE3D
_P64_1: Final = 0x9E3779B185EBCA87
_P64_2: Final = 0xC2B2AE3D27D4EB4F
_P64_3: Final = 0x165667B19E3779F9
_P64_4: Final = 0x85EBCA77C2B2AE63
_P64_5: Final = 0x27D4EB2F165667C5
_MIX_1: Final = 0x165667919E3779F9
_MIX_2: Final = 0x9FB21C651E98DF25
_MASK: Final = (1 << 64) - 1
_STRIPE: Final = 64
_BLOCK: Final = 1024


def xxh3_64(data: bytes) -> int:
    """Return the hash as a signed 64-bit number."""
    size = len(data)
    if size <= 16:
        value = _hash_to_16(data, size)
    elif size <= 128:
        value = _hash_to_128(data, size)
    elif size <= 240:
        value = _hash_to_240(data, size)
    else:
        value = _hash_long(data, size)
    return value - (1 << 64) if value >> 63 else value


def _hash_to_16(data: bytes, size: int) -> int:
    if size > 8:
        low = _read(data, 0) ^ _read(_SECRET, 24) ^ _read(_SECRET, 32)
        high = _read(data, size - 8) ^ _read(_SECRET, 40) ^ _read(_SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(size + swapped + high + _fold(low, high) & _MASK)
    if size >= 4:
        first: int = unpack_from("<I", data, 0)[0]
        last: int = unpack_from("<I", data, size - 4)[0]
        return _rrmxmx((last + (first << 32)) ^ _read(_SECRET, 8) ^ _read(_SECRET, 16), size)
    if size:
        bits = data[0] << 16 | data[size >> 1] << 24 | data[size - 1] | size << 8
        return _avalanche_64(bits ^ (_read(_SECRET, 0) ^ _read(_SECRET, 0) >> 32) & 0xFFFFFFFF)
    return _avalanche_64(_read(_SECRET, 56) ^ _read(_SECRET, 64))


def _hash_to_128(data: bytes, size: int) -> int:
    total = size * _P64_1
    for pair in range((size - 1) // 32 + 1):
        total += _mix(data, 16 * pair, 32 * pair) + _mix(data, size - 16 * (pair + 1), 32 * pair + 16)
    return _avalanche(total & _MASK)


def _hash_to_240(data: bytes, size: int) -> int:
    total = size * _P64_1 + sum(_mix(data, 16 * i, 16 * i) for i in range(8))
    total = _avalanche(total & _MASK) + sum(_mix(data, 16 * i, 16 * (i - 8) + 3) for i in range(8, size // 16))
    return _avalanche(total + _mix(data, size - 16, 119) & _MASK)


def _hash_long(data: bytes, size: int) -> int:
    lanes = [_P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1]
    blocks = (size - 1) // _BLOCK
    for block in range(blocks):
        for stripe in range(_BLOCK // _STRIPE):
            _accumulate(lanes, data, block * _BLOCK + stripe * _STRIPE, 8 * stripe)
        _scramble(lanes)
    for stripe in range((size - 1 - blocks * _BLOCK) // _STRIPE):
        _accumulate(lanes, data, blocks * _BLOCK + stripe * _STRIPE, 8 * stripe)
    _accumulate(lanes, data, size - _STRIPE, 121)
    keys = unpack_from("<8Q", _SECRET, 11)
    folded = [_fold(lanes[i] ^ keys[i], lanes[i + 1] ^ keys[i + 1]) for i in range(0, 8, 2)]
    return _avalanche(size * _P64_1 + sum(folded) & _MASK)


def _accumulate(lanes: list[int], data: bytes, position: int, secret: int) -> None:
    values: Sequence[int] = unpack_from("<8Q", data, position)
    keys: Sequence[int] = unpack_from("<8Q", _SECRET, secret)
    for i in range(8):
        key = values[i] ^ keys[i]
        lanes[i] = lanes[i] + (key & 0xFFFFFFFF) * (key >> 32) + values[i ^ 1] & _MASK


def _scramble(lanes: list[int]) -> None:
    keys = unpack_from("<8Q", _SECRET, 128)
    for i in range(8):
        lanes[i] = (lanes[i] ^ lanes[i] >> 47 ^ keys[i]) * _P32_1 & _MASK


def _read(data: bytes, position: int) -> int:
    value: int = unpack_from("<Q", data, position)[0]
    return value


def _mix(data: bytes, position: int, secret: int) -> int:
    low, high = unpack_from("<2Q", data, position)
    low_key, high_key = unpack_from("<2Q", _SECRET, secret)
    return _fold(low ^ low_key, high ^ high_key)


def _fold(a: int, b: int) -> int:
    product = a * b
    return (product ^ product >> 64) & _MASK


def _avalanche(value: int) -> int:
    value = (value ^ value >> 37) * _MIX_1 & _MASK
    return value ^ value >> 32


def _avalanche_64(value: int) -> int:
    value = (value ^ value >> 33) * _P64_2 & _MASK
    value = (value ^ value >> 29) * _P64_3 & _MASK
    return value ^ value >> 32


def _rrmxmx(value: int, size: int) -> int:
    value ^= (value << 49 | value >> 15) & _MASK ^ (value << 24 | value >> 40) & _MASK
    value = value * _MIX_2 & _MASK
    value = (value ^ (value >> 35) + size) * _MIX_2 & _MASK
    return value ^ value >> 28
