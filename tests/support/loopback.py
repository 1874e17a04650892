"""A web server on this machine, for what is downloaded."""

import contextlib
import http.server
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the files of a dict."""

    def do_GET(self):
        server, name = self.server, self.path.removeprefix("/baseline/")
        server.requests.append(name)
        if name not in server.files:
            return self.send_error(404)
        body = server.files[name]
        self.send_response(200)
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
    server.files, server.requests, server.cuts = files, [], {}
    server.url = f"http://127.0.0.1:{server.server_port}/baseline/"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
