"""One RocksDB database per partition: sessions and the changelog offset they correspond to.

Everything in here is rocksdict; the rest of Eddy sees bytes in, bytes out. A write is one batch that holds
the values *and* the changelog offset, so a database is always exactly as far as it says.
"""

from streams.worker.state.store.damage import SET_ASIDE
from streams.worker.state.store.layout import FORMAT, StoreInspection, inspect_store, is_older
from streams.worker.state.store.partition import PartitionStore
from streams.worker.state.store.partitions import PartitionStores, StoreOptions

__all__ = [
    "FORMAT",
    "SET_ASIDE",
    "PartitionStore",
    "PartitionStores",
    "StoreInspection",
    "StoreOptions",
    "inspect_store",
    "is_older",
]
