"""Prints each alert that Alertmanager sends, as one line of JSON. Stands for what pages people."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Receiver(BaseHTTPRequestHandler):
    """Answers each request, and prints the alerts in it."""

    def do_POST(self) -> None:
        """Print the alerts of a notification."""
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for alert in told["alerts"]:
            line = {"status": alert["status"], **alert["labels"], **alert["annotations"]}
            sys.stdout.write(json.dumps(line, sort_keys=True) + "\n")
        sys.stdout.flush()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep quiet about the requests themselves."""


HTTPServer(("", 8080), Receiver).serve_forever()
