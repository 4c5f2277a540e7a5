"""The job on Faust: the only room that knows faust, mode and RocksDB."""
