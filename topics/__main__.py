"""`python -m topics`: write what the code and the documents derive from topics.yaml."""

from __future__ import annotations

from pathlib import Path

from topics.asyncapi import ASYNCAPI_DOCUMENT, asyncapi, newest_schemas
from topics.catalogue import Catalogue
from topics.derived import derived
from topics.documents import DOCUMENTS

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Write each derived place that differs."""
    documents = {path: (ROOT / path).read_text(encoding="utf-8") for path in DOCUMENTS}
    catalogue = Catalogue.load()
    described = asyncapi(catalogue, newest_schemas(ROOT / "schemas"))
    for name, text in {**derived(catalogue, documents), ASYNCAPI_DOCUMENT: described}.items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
