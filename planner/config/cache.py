"""What is kept in the cache is JSON: nothing that comes from outside this process is ever unpickled."""

from __future__ import annotations

import json
from typing import Any


class JsonSerializer:
    """Serializer of Django's Redis cache. Whole numbers stay raw, so that the server can count with them."""

    def dumps(self, value: Any) -> bytes | int:
        if type(value) is int:
            return value
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()

    def loads(self, stored: bytes) -> Any:
        return json.loads(stored)
