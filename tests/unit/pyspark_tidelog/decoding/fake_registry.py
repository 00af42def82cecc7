"""A schema registry with as much of its HTTP interface as decoders ask for, and a count of what was asked."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class FakeRegistry:
    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self.answers: dict[str, dict[str, Any]] = {}
        self.broken = False

    def add(
        self, schema_id: int, schema: str, kind: str = "AVRO", subject: str = "s", references: Sequence[str] = ()
    ) -> None:
        """`references`: names that are subjects too, in version 1."""
        answer: dict[str, Any] = {"id": schema_id, "subject": subject, "version": 1, "schema": schema}
        if kind != "AVRO":
            answer["schemaType"] = kind
        answer["references"] = [{"name": name, "subject": name, "version": 1} for name in references]
        self.answers[f"/schemas/ids/{schema_id}"] = self.answers[f"/subjects/{subject}/versions/1"] = answer

    def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        self.asked.append(path)
        if self.broken:
            return 401, {"error_code": 401, "message": "who are you?"}
        found = self.answers.get(urlsplit(path).path)
        return (200, found) if found is not None else (404, {"error_code": 40403, "message": "Schema not found"})


@contextmanager
def serving() -> Iterator[FakeRegistry]:
    registry = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, answer = registry.answer(self.path)
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Not on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    registry.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
