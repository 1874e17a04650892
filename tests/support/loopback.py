"""A web server on this machine, for what is downloaded."""

import contextlib
import http.server
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the files of a dict, with ranges unless ``ranges`` is off."""

    def do_GET(self):
        server, name = self.server, self.path.removeprefix("/baseline/")
        asked = self.headers.get("Range")
        server.requests.append((name, asked))
        if name not in server.files:
            return self.send_error(404)
        body, status, length = server.files[name], 200, None
        if asked and server.ranges:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                return self.send_error(416)
            status, length, body = 206, len(body) - start, body[start:]
        self.send_response(status)
        if status == 206:
            total = start + length
            self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if name in server.cuts:
            body = body[: server.cuts.pop(name)]
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(files):
    """A web server on this machine; ``requests`` holds what it was asked for."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.files, server.requests, server.cuts, server.ranges = files, [], {}, True
    server.url = f"http://127.0.0.1:{server.server_port}/baseline/"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
