"""A schema registry in this process: the routes Eddy and Confluent's clients use, kept in memory."""

from __future__ import annotations

import asyncio
import json
import ssl
from base64 import b64encode
from contextlib import asynccontextmanager
from uuid import UUID, uuid5

import fastavro
from aiohttp import web
from aiohttp.test_utils import TestServer

NAMESPACE = UUID(int=7)


def error(status, code, message):
    return web.json_response({"error_code": code, "message": message}, status=status)


class FakeRegistry:
    """The state and the routes.

    ``failures`` holds HTTP statuses to answer before anything else, ``answers`` (status, text) by path. With
    a ``token`` only those who send it get in; ``headers`` are those of the last request.
    """

    def __init__(self, login=None):
        self.schemas = {}
        self.subjects = {}
        self.rules = {}
        self.requests = []
        self.failures = []
        self.answers = {}
        self.token = None
        self.headers = {}
        self.most_at_once = self._at_once = 0
        self._login = login
        self.app = web.Application(middlewares=[self._every])
        self.app.add_routes(
            [
                web.get("/schemas/ids/{id}", self._by_id),
                web.get("/schemas/guids/{guid}", self._by_guid),
                web.post("/subjects/{subject}", self._lookup),
                web.post("/subjects/{subject}/versions", self._register),
                web.get("/subjects/{subject}/versions/latest", self._latest),
                web.put("/config/{subject}", self._rule),
            ]
        )

    @asynccontextmanager
    async def serve(self, tls: ssl.SSLContext | None = None):
        server = TestServer(self.app, scheme="https" if tls else "http")
        await server.start_server(ssl=tls)
        try:
            yield str(server.make_url("")).rstrip("/")
        finally:
            await server.close()

    def add(self, text, kind="AVRO", **more):
        """Keep a schema under no subject; return its id."""
        id_ = 100_001 + len(self.schemas)
        self.schemas[id_] = {"schema": text, "schemaType": kind} | more
        return id_

    def guid(self, id_):
        return uuid5(NAMESPACE, str(id_))

    @web.middleware
    async def _every(self, request, handler):
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await asyncio.sleep(0)
            return await self._answer(request, handler)
        finally:
            self._at_once -= 1

    async def _answer(self, request, handler):
        self.requests.append(f"{request.method} {request.path}")
        if request.path in self.answers:
            status, text = self.answers[request.path]
            return web.Response(status=status, text=text)
        self.headers = dict(request.headers)
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return error(401, 401, "Unauthorized")
        if self.failures:
            return error(self.failures.pop(0), 50001, "not now")
        if self._login:
            wanted = b64encode(":".join(self._login).encode()).decode()
            if request.headers.get("Authorization") != f"Basic {wanted}":
                return error(401, 401, "Unauthorized")
        return await handler(request)

    async def _by_id(self, request):
        return self._found(int(request.match_info["id"]))

    async def _by_guid(self, request):
        wanted = UUID(request.match_info["guid"])
        return self._found(next((id_ for id_ in self.schemas if self.guid(id_) == wanted), None))

    def _found(self, id_):
        if id_ not in self.schemas:
            return error(404, 40403, "Schema not found")
        return web.json_response(self.schemas[id_] | {"guid": str(self.guid(id_))})

    async def _lookup(self, request):
        subject, text = request.match_info["subject"], (await request.json())["schema"]
        for version, id_ in enumerate(self.subjects.get(subject, ()), 1):
            if json.loads(self.schemas[id_]["schema"]) == json.loads(text):
                return self._registered(subject, version, id_)
        if subject not in self.subjects:
            return error(404, 40401, f"Subject '{subject}' not found.")
        return error(404, 40403, "Schema not found")

    async def _latest(self, request):
        subject = request.match_info["subject"]
        ids = self.subjects.get(subject)
        if not ids:
            return error(404, 40401, f"Subject '{subject}' not found.")
        return self._registered(subject, len(ids), ids[-1])

    async def _register(self, request):
        subject, text = request.match_info["subject"], (await request.json())["schema"]
        try:
            fastavro.parse_schema(json.loads(text))
        except (ValueError, fastavro.schema.SchemaParseException):
            return error(422, 42201, "Invalid schema")
        ids = self.subjects.setdefault(subject, [])
        same = (id_ for id_ in ids if json.loads(self.schemas[id_]["schema"]) == json.loads(text))
        id_ = next(same, None)
        if id_ is None:
            if self.rules.get(subject) == "REFUSE":
                return error(409, 409, "Schema being registered is incompatible with an earlier schema")
            id_ = self.add(text)
            ids.append(id_)
        return self._registered(subject, ids.index(id_) + 1, id_)

    def _registered(self, subject, version, id_):
        named = {"subject": subject, "version": version, "id": id_, "guid": str(self.guid(id_))}
        return web.json_response(self.schemas[id_] | named)

    async def _rule(self, request):
        self.rules.setdefault(request.match_info["subject"], (await request.json())["compatibility"])
        return web.json_response({"compatibility": self.rules[request.match_info["subject"]]})
