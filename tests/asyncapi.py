"""Checks the AsyncAPI document with AsyncAPI's own parser, which npm fetches once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.vendored import ROOT
from topics.asyncapi import ASYNCAPI_DOCUMENT

PACKAGES = ("@asyncapi/parser@3.6.3", "@asyncapi/avro-schema-parser@3.0.24")
CHECK = """\
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";
import { AvroSchemaParser } from "@asyncapi/avro-schema-parser";
const parser = new Parser();
parser.registerSchemaParser(AvroSchemaParser());
const { document, diagnostics } = await parser.parse(readFileSync(process.argv[2], "utf8"));
for (const { path, message } of diagnostics) console.error(`${path.join(".")}: ${message}`);
process.exitCode = document === undefined || diagnostics.length > 0 ? 1 : 0;
"""


def checker() -> Path:
    """Return the program that checks, with the parsers beside it, fetched if they are not there yet."""
    folder = ROOT / ".cache" / "asyncapi-3.6.3"
    program = folder / "check.mjs"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES]
        subprocess.run(install, cwd=folder, check=True, capture_output=True, text=True)
        program.write_text(CHECK)
    return program


def main() -> int:
    """Run it; return 75 (try later) if it cannot be fetched or run here."""
    if not (shutil.which("node") and shutil.which("npm")):
        sys.stderr.write("AsyncAPI was not checked: node and npm are missing. As root: apt-get install npm\n")
        return os.EX_TEMPFAIL
    try:
        program = checker()
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"The document was not checked: npm cannot fetch the parser. {error.stderr}\n")
        return os.EX_TEMPFAIL
    return subprocess.run(["node", str(program), str(ROOT / ASYNCAPI_DOCUMENT)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
