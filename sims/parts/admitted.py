"""Those that run in an engine, in the order of their admission: any may leave, the newest is found at once."""

from __future__ import annotations

from sims.engine.kernel import handler
from sims.engine.lists import END


@handler
def enter(engine, pool, slot):  # type: ignore[no-untyped-def]
    """``slot`` is admitted as the newest."""
    request = pool[slot]
    request.newer = END
    request.older = engine.newest
    if engine.newest != END:
        pool[engine.newest].newer = slot
    engine.newest = slot
    engine.admitted += 1


@handler
def leave(engine, pool, slot):  # type: ignore[no-untyped-def]
    """``slot`` runs no longer."""
    request = pool[slot]
    if request.newer == END:
        engine.newest = request.older
    else:
        pool[request.newer].older = request.older
    if request.older != END:
        pool[request.older].newer = request.newer
    engine.admitted -= 1
