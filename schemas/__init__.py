"""The records on the wire: Avro schemas, one folder per subject, and the codec that reads and writes them."""
