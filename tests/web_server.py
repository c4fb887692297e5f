"""A small web server that can misbehave on request."""

from __future__ import annotations

import contextlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site:
    """What the server has and how it behaves.

    `cuts` are the numbers of body bytes after which it drops the connection, one for each request to come.
    """

    def __init__(self):
        self.files = {}
        self.etag = '"v1"'
        self.last_modified = None
        self.honours_range = True
        self.declares_length = True
        self.lies_about_range = False
        self.redirects = {}
        self.cuts = []
        self.requests = []
        self.address = ""

    def url(self, path):
        return f"{self.address}/{path}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        site, path = self.server.site, self.path.lstrip("/")
        site.requests.append(dict(self.headers))
        if path in site.redirects:
            self.send_response(302)
            self.send_header("Location", site.redirects[path])
            self.end_headers()
        elif path not in site.files:
            self.send_error(404)
        else:
            self._send(site, site.files[path])

    def _send(self, site, content):
        start = self._start(site)
        if start >= len(content) > 0:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.end_headers()
            return
        body = content[start:]
        self.send_response(206 if start else 200)
        if start:
            first = start + site.lies_about_range
            self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        if site.declares_length:
            self.send_header("Content-Length", str(len(body)))
        for header, value in (("ETag", site.etag), ("Last-Modified", site.last_modified)):
            if value:
                self.send_header(header, value)
        self.end_headers()
        self.wfile.write(body[: site.cuts.pop(0)] if site.cuts else body)

    def _start(self, site):
        """First byte to send: 0 unless the range asked for belongs to the version we have."""
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        current = self.headers.get("If-Range") in (None, site.etag, site.last_modified)
        return int(asked[1]) if asked and site.honours_range and current else 0

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving():
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.site = Site()
        server.site.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.site
        finally:
            server.shutdown()
            thread.join()
