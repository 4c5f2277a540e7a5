"""One RocksDB database per partition: sessions and the changelog offset they correspond to.

Everything in here is rocksdict; the rest of Eddy sees bytes in, bytes out. A write is one batch that holds
the values *and* the changelog offset, so a database is always exactly as far as it says.
"""

from streams.worker.state.store.inspection import StoreInspection, inspect_store
from streams.worker.state.store.layout import FORMAT, is_older
from streams.worker.state.store.options import StoreOptions
from streams.worker.state.store.partition import PartitionStore
from streams.worker.state.store.partitions import PartitionStores
from streams.worker.state.store.set_aside import SET_ASIDE

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
