"""What the engine overrides or relies on in Faust, mode and aiokafka is what it was written against.

When one of these fails after an update: read what changed, make the engine fit, run the integration tests on
both brokers, and only then write the new fingerprint down here.
"""

import hashlib
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator
from typing import Any

import faust
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import RecordMetadata
from faust.transport import by_url
from faust.types import TP
from faust.types.tuples import ConsumerMessage

import streams.worker
from streams.worker.faust import transport

RELIED_ON: dict[str, dict[str, str]] = {
    "Delivery: fetched through `_wait_next_records`, handed to `callback`, stopped with the flow.": {
        "faust.serializers.schemas.Schema.loads_key": "2e1724f7a6a7",
        "faust.serializers.schemas.Schema.loads_value": "d5a89118ae85",
        "faust.streams.Stream.ack": "c3cfc8c4fc8f",
        "faust.streams.Stream.events": "bed628278776",
        "faust.streams.Stream.noack": "40489cfbbb7d",
        "faust.transport.conductor.ConductorCompiler.build": "70ded0e71910",
        "faust.transport.consumer.Consumer.__init__": "00f02908cf84",
        "faust.transport.consumer.Consumer._drain_messages": "8f35dd7a1114",
        "faust.transport.consumer.Consumer._wait_next_records": "ba40cd367132",
        "faust.transport.consumer.Consumer.on_buffer_drop": "c5f80b096c71",
        "faust.transport.consumer.Consumer.on_buffer_full": "edcee17978c4",
        "faust.transport.consumer.Consumer.resume_flow": "192f20bc377f",
        "faust.transport.consumer.Consumer.stop_flow": "aa77389dc23a",
        "faust.transport.consumer.Consumer.verify_event_path": "7759907d47b5",
        "faust.transport.consumer.Fetcher._fetcher": "64ea6297f5a0",
        "faust.transport.drivers.aiokafka.Consumer.verify_event_path": "883ce70ac0a6",
        "faust.types.tuples.ConsumerMessage.on_final_ack": "818bf19da001",
        "faust.types.tuples.Message.__init__": "34616bad2796",
    },
    "A fetch: what aiokafka returns after a rebalance, and from which set of partitions.": {
        "aiokafka.consumer.consumer.AIOKafkaConsumer.seek": "fec4e1829687",
        "aiokafka.consumer.fetcher.Fetcher.fetched_records": "e20ce0c8117f",
        "aiokafka.consumer.fetcher.Fetcher.seek_to": "10c45c3c873d",
        "faust.transport.consumer.Consumer._get_active_partitions": "da41bc1e8d86",
        "faust.transport.consumer.Consumer.pause_partitions": "a1814af09823",
        "faust.transport.consumer.Consumer.resume_partitions": "fc6392136c27",
        "faust.transport.drivers.aiokafka.AIOKafkaConsumerThread._fetch_records": "9e7369fc572d",
        "faust.transport.drivers.aiokafka.AIOKafkaConsumerThread.getmany": "1b1c58046a9b",
    },
    "Options of the consumer: `_fetch_max_wait_ms` is read when it starts.": {
        "aiokafka.consumer.consumer.AIOKafkaConsumer.__init__": "bda88cd61988",
        "aiokafka.consumer.consumer.AIOKafkaConsumer.start": "5ba1baa38f62",
        "faust.transport.drivers.aiokafka.AIOKafkaConsumerThread._create_worker_consumer": "c179c0bdb975",
        "faust.transport.drivers.aiokafka.Consumer._new_consumer_thread": "8fd0d41b1514",
    },
    "Leaders: looking up a first offset at the wrong broker asks for no new metadata.": {
        "aiokafka.consumer.fetcher.Fetcher._proc_offset_request": "f3cbaf6cb1b3",
        "aiokafka.consumer.fetcher.Fetcher._update_fetch_positions": "1dc02ecce273",
        "faust.transport.drivers.aiokafka.AIOKafkaConsumerThread.on_start": "675d03707bbe",
        "faust.transport.drivers.aiokafka.AIOKafkaConsumerThread.on_thread_stop": "cdbbe53230d2",
    },
    "The consumer's thread: who waits for an answer from it, and how it ends.": {
        "faust.transport.consumer.ConsumerThread.__init__": "d28391029483",
        "mode.threads.QueueServiceThread.call_thread": "d1304f73ca65",
        "mode.threads.ServiceThread.set_shutdown": "7ee054a59dac",
        "mode.threads.ServiceThread._stopped_set": "59ef3956d5b9",
    },
    "Acknowledging: `_unacked_messages` is what a drain waits for, `_waiting_for_ack` wakes it.": {
        "faust.transport.consumer.Consumer._clean_unacked_messages": "c616dec1d18b",
        "faust.transport.consumer.Consumer._wait_for_ack": "0d4f76b083a9",
        "faust.transport.consumer.Consumer.ack": "5548cf0f7584",
        "faust.transport.consumer.Consumer.wait_empty": "53195dca246c",
    },
    "Committing: offsets come from `_new_offset`, partitions from `_filter_tps_with_pending_acks`.": {
        "aiokafka.consumer.consumer.AIOKafkaConsumer.commit": "f85283bf7c7c",
        "faust.transport.consumer.Consumer._commit_offsets": "86b3e9b0aec7",
        "faust.transport.consumer.Consumer._commit_tps": "b83d551c3278",
        "faust.transport.consumer.Consumer._filter_tps_with_pending_acks": "cccdca32d241",
        "faust.transport.consumer.Consumer._new_offset": "2b29afe4dd9a",
        "faust.transport.consumer.Consumer.commit": "e43a7d03685f",
        "faust.transport.consumer.Consumer.commit_and_end_transactions": "cdc86f2fe363",
        "faust.transport.consumer.Consumer.force_commit": "464b62ae9172",
        "faust.transport.consumer.Consumer.maybe_wait_for_commit_to_finish": "14281eda99cf",
        "faust.transport.consumer.Consumer.on_stop": "7accc1bf4f97",
        "faust.transport.consumer.ThreadDelegateConsumer._commit": "91c201528438",
        "faust.transport.drivers.aiokafka.AIOKafkaConsumerThread._commit": "78c931ecfa8d",
    },
    "A rebalance: the flow stops, the lanes drain, offsets are committed, and only then the partitions go.": {
        "aiokafka.consumer.consumer.AIOKafkaConsumer.seek_to_committed": "9c20926f1712",
        "faust.app.base.App._consumer_wait_empty": "73ba99b95ca0",
        "faust.app.base.App._on_partitions_assigned": "c9c5485eb273",
        "faust.app.base.App._on_partitions_revoked": "c1abd58dcb37",
        "faust.transport.consumer.Consumer.on_partitions_assigned": "c07feb1175f7",
        "faust.transport.consumer.Consumer.on_partitions_revoked": "652177e770ee",
        "faust.transport.consumer.Consumer.perform_seek": "2b4ceebd23de",
        "faust.transport.consumer.ThreadDelegateConsumer.__init__": "eb97deeb86ee",
        "faust.transport.consumer.ThreadDelegateConsumer.threadsafe_partitions_assigned": "ea72c2d1bfff",
        "faust.transport.consumer.ThreadDelegateConsumer.threadsafe_partitions_revoked": "f848859a8b85",
        "faust.transport.drivers.aiokafka.AIOKafkaConsumerThread.seek_to_committed": "43907fc11636",
        "faust.transport.drivers.aiokafka.ConsumerRebalanceListener.on_partitions_assigned": "f8231db51dd5",
        "faust.transport.drivers.aiokafka.ConsumerRebalanceListener.on_partitions_revoked": "cb4aa49e968a",
    },
    "Start and stop of the app: other services first; `_stop_consumer` stops the flow before it drains.": {
        "faust.app.base.App.__init__": "c90c021f3805",
        "faust.app.base.App._stop_consumer": "96573acf5f04",
        "faust.app.base.App.crash": "6e0b5672cd83",
        "faust.app.base.App.on_first_start": "a87e1f3590af",
        "faust.app.base.App.on_stop": "d8e7904b258c",
        "faust.app.base.BootStrategy.server": "2281b36f9896",
        "mode.services.Service.__init__": "4a44ca859d66",
        "mode.services.Service._crash": "023e36034cd9",
        "mode.services.Service.crash_reason": "34241b53be01",
        "mode.services.ServiceCallbacks.on_start": "8878cfa83a70",
        "mode.services.ServiceCallbacks.on_stop": "11211872b272",
    },
    "Signals: the first begins a stop, later ones are passed over; the end waits for that stop.": {
        "faust.worker.Worker.__init__": "4cb5c59364a6",
        "faust.worker.Worker._on_sigint": "5d4bc60aebe7",
        "mode.worker.Worker._schedule_shutdown": "00f5a7d8fd26",
        "mode.worker.Worker._stop_on_signal": "a4bcdaa5b7ec",
        "mode.worker.Worker.stop_and_shutdown": "7fa7b1566e48",
    },
    "Restoring: who signals a start and an end, and what is declared ready.": {
        "faust.tables.manager.TableManager.on_actives_ready": "fb443bf457e0",
        "faust.tables.manager.TableManager.on_partitions_revoked": "1ca4d59de641",
        "faust.tables.manager.TableManager.on_rebalance": "fc9b70e03994",
        "faust.tables.manager.TableManager.recovery": "9e5e10447444",
        "faust.tables.recovery.Recovery.__init__": "0b42091feae4",
        "faust.tables.recovery.Recovery._add": "0bc4d8362676",
        "faust.tables.recovery.Recovery._publish_stats": "099a124a57bf",
        "faust.tables.recovery.Recovery._restart_recovery": "f93138b040ef",
        "faust.tables.recovery.Recovery._set_recovery_ended": "7ac139109d4e",
        "faust.tables.recovery.Recovery._set_recovery_started": "4a070fa901b0",
        "faust.tables.recovery.Recovery._slurp_changelogs": "7e3120dad754",
        "faust.tables.recovery.Recovery._wait": "768af810dce8",
        "faust.tables.recovery.Recovery.add_active": "0a7e18b69ba5",
        "faust.tables.recovery.Recovery.on_partitions_revoked": "684cfdcf513b",
        "faust.tables.recovery.Recovery.on_rebalance": "31030bc1807f",
        "faust.tables.recovery.Recovery.on_recovery_completed": "895e7c415a4d",
        "faust.tables.recovery.Recovery.on_stop": "8c13b139b74d",
        "faust.tables.recovery.Recovery.revoke": "b22e61ecd04c",
        "mode.services.Service.wait_first": "3ed3b8c32e14",
        "mode.services.Service.wait_for_stopped": "6f44463c6eb9",
    },
    "Assigning: topics with the same number of partitions together, those nobody knows not at all.": {
        "faust.assignor.client_assignment.ClientAssignment.kafka_protocol_assignment": "5d0664432e4d",
        "faust.assignor.partition_assignor.PartitionAssignor._get_changelog_distribution": "3db971f3f45e",
        "faust.assignor.partition_assignor.PartitionAssignor._get_external_topic_distribution": "b907f18e619c",  # noqa: E501
        "faust.assignor.partition_assignor.PartitionAssignor._get_copartitioned_groups": "76de3cb3088e",
        "faust.assignor.partition_assignor.PartitionAssignor.assigned_actives": "e0748d7d3bc1",
    },
    "Record batches: what a fetch leaves, unpacked when asked, and how aiokafka goes over it.": {
        "aiokafka.consumer.fetcher.FetchResult.getall": "b638929de343",
        "aiokafka.consumer.fetcher.Fetcher._proc_fetch_request": "ace04969424f",
        "aiokafka.consumer.fetcher.PartitionRecords.__init__": "4649d3084e59",
        "aiokafka.consumer.fetcher.PartitionRecords._contains_abort_marker": "9692685641ab",
        "aiokafka.consumer.fetcher.PartitionRecords._unpack_records": "047f7fc3f005",
    },
    "The table: a store that Faust opens, tells of rebalances and closes.": {
        "faust.stores.base.SerializedStore._clear": "d8836490be42",
        "faust.stores.base.SerializedStore._contains": "dba115e1e193",
        "faust.stores.base.SerializedStore._del": "98895a98f043",
        "faust.stores.base.SerializedStore._get": "2a1acc5a3876",
        "faust.stores.base.SerializedStore._iteritems": "32b4ccdbbeca",
        "faust.stores.base.SerializedStore._iterkeys": "2da1b69b2bae",
        "faust.stores.base.SerializedStore._itervalues": "75dd04dc1ee2",
        "faust.stores.base.SerializedStore._set": "3edf926d9a08",
        "faust.stores.base.SerializedStore._size": "1c8e0aedb2c4",
        "faust.stores.base.Store.__init__": "670b879a6e03",
        "faust.stores.base.Store.persisted_offset": "732e51549cb1",
        "faust.tables.base.Collection.__init__": "72f41693d421",
        "faust.tables.base.Collection._changelog_topic_name": "2c44f5e74a2a",
        "faust.tables.base.Collection._new_store": "0cad007da65f",
        "faust.tables.base.Collection.on_rebalance": "5d760812d911",
        "faust.tables.base.Collection.on_recovery_completed": "4c9baa0b38be",
        "faust.types.stores.StoreT.backup_partition": "1eef3f5f8e12",
        "faust.types.stores.StoreT.reset_state": "e5ee22c951f4",
        "faust.types.stores.StoreT.restore_backup": "8362ad3d6dcc",
        "mode.services.Service.stop": "c7859eae93d2",
    },
    "Redating: what a topic refuses for its timestamp is built again, and put back like any other retry.": {
        "aiokafka.producer.message_accumulator.BatchBuilder._build": "2ac3562b09c1",
        "aiokafka.producer.message_accumulator.MessageAccumulator.reenqueue": "5b1222b685b9",
        "aiokafka.producer.message_accumulator.MessageBatch.get_data_buffer": "8ccecb7995ab",
        "aiokafka.producer.sender.SendProduceReqHandler.__init__": "39c66935c031",
        "aiokafka.producer.sender.SendProduceReqHandler.do": "89912727d3c8",
        "aiokafka.producer.sender.SendProduceReqHandler.handle_response": "552007acc49e",
        "aiokafka.producer.sender.Sender._send_produce_req": "5fbb5b444b0f",
        "aiokafka.protocol.produce.ProduceResponse_v8": "1f6cd222911d",
    },
    "Producing: batches built by the caller, each with one future for the offset of its first record.": {
        "aiokafka.producer.message_accumulator.BatchBuilder.append": "65992902ef83",
        "aiokafka.producer.message_accumulator.BatchBuilder.record_count": "f96629dde6e6",
        "aiokafka.producer.message_accumulator.MessageBatch.done": "3593c71c89aa",
        "aiokafka.producer.producer.AIOKafkaProducer.create_batch": "86ae801b347c",
        "aiokafka.producer.producer.AIOKafkaProducer.send_batch": "ff8d65b59517",
        "faust.transport.drivers.aiokafka.Producer._ensure_producer": "04016bd22147",
        "faust.transport.drivers.aiokafka.Producer._new_producer": "a1bef421b990",
        "faust.transport.drivers.aiokafka.Producer._settings_extra": "2b12df47f0a5",
        "faust.transport.drivers.aiokafka.Producer.create_topic": "3d7ff92d2919",
    },
    "Requests in flight: a set of busy brokers, a batch of a topic partition at a time, and what fails.": {
        "aiokafka.producer.message_accumulator.MessageAccumulator.drain_by_nodes": "cc2f3eafe1e1",
        "aiokafka.producer.sender.Sender.__init__": "4bb233e8e8ad",
        "aiokafka.producer.sender.Sender._send_produce_req": "5fbb5b444b0f",
        "aiokafka.producer.sender.Sender._sender_routine": "c07b5ec56875",
    },
    "The lease: which answers renew it, and that a generation is forgotten in one place.": {
        "aiokafka.consumer.group_coordinator.GroupCoordinator._do_heartbeat": "5628cb32b3d2",
        "aiokafka.consumer.group_coordinator.GroupCoordinator._heartbeat_routine": "a6c6710b8e4a",
        "aiokafka.consumer.group_coordinator.GroupCoordinator._send_req": "ca4ba17474e1",
        "aiokafka.consumer.group_coordinator.GroupCoordinator.ensure_active_group": "44c4b92c3714",
        "aiokafka.consumer.group_coordinator.GroupCoordinator.reset_generation": "3cb4a2490077",
    },
    "A sender under a lease: an object for each request, what is put back, and when an id is got.": {
        "aiokafka.client.AIOKafkaClient._get_conn": "1eaeaab22404",
        "aiokafka.client.AIOKafkaClient.ready": "2811af48dbaf",
        "aiokafka.client.AIOKafkaClient.send": "fb1726e3ed8e",
        "aiokafka.conn.AIOKafkaConnection.close": "7772fd3aee39",
        "aiokafka.conn.AIOKafkaConnection.connected": "515f0348b12c",
        "aiokafka.conn.AIOKafkaConnection.send": "360d12e20e64",
        "aiokafka.producer.message_accumulator.MessageAccumulator._pop_batch": "6dc3d1b62145",
        "aiokafka.producer.message_accumulator.MessageAccumulator.add_batch": "35870bc8e9eb",
        "aiokafka.producer.message_accumulator.MessageAccumulator.reenqueue": "5b1222b685b9",
        "aiokafka.producer.message_accumulator.MessageBatch.failure": "1a80d3cc49a2",
        "aiokafka.producer.sender.SendProduceReqHandler.__init__": "39c66935c031",
        "aiokafka.producer.sender.SendProduceReqHandler.do": "89912727d3c8",
        "aiokafka.producer.sender.Sender._maybe_wait_for_pid": "32cf248482fc",
        "aiokafka.producer.sender.Sender._send_produce_req": "5fbb5b444b0f",
        "aiokafka.producer.transaction_manager.TransactionManager.has_pid": "723e7f92f94b",
        "aiokafka.producer.transaction_manager.TransactionManager.sequence_number": "ab05f6c33818",
        "aiokafka.producer.transaction_manager.TransactionManager.set_pid_and_epoch": "e922ba49268e",
    },
    "The begin of a transaction: one method adds partitions, and a group that is added is not asked for.": {
        "aiokafka.producer.sender.BaseHandler.do": "47be65fcbddd",
        "aiokafka.producer.sender.Sender._do_add_offsets_to_txn": "3a95fb5064fa",
        "aiokafka.producer.sender.Sender._do_add_partitions_to_txn": "36fc8c796c5e",
        "aiokafka.producer.sender.Sender._find_coordinator": "7c69b57bc1fc",
        "aiokafka.producer.transaction_manager.TransactionManager.begin_transaction": "07894931781c",
        "aiokafka.producer.transaction_manager.TransactionManager.consumer_group_to_add": "c06cdbaf0754",
    },
    "Transactions: what each error does to one, and that a commit passes over a batch that failed.": {
        "aiokafka.producer.message_accumulator.MessageAccumulator.fail_all": "408861a4748d",
        "aiokafka.producer.message_accumulator.MessageAccumulator.flush_for_commit": "c1deaeb33046",
        "aiokafka.producer.producer.AIOKafkaProducer.abort_transaction": "7f938be0c3c6",
        "aiokafka.producer.producer.AIOKafkaProducer.begin_transaction": "9834b9f64d8a",
        "aiokafka.producer.producer.AIOKafkaProducer.commit_transaction": "8f568a6acef9",
        "aiokafka.producer.producer.AIOKafkaProducer.send_offsets_to_transaction": "8053778fb7d2",
        "aiokafka.producer.producer.AIOKafkaProducer.start": "dd4ee2867d8e",
        "aiokafka.producer.producer.AIOKafkaProducer.stop": "8ee7f0d1b6a5",
        "aiokafka.producer.sender.AddOffsetsToTxnHandler.handle_response": "dbcfa40d7bb0",
        "aiokafka.producer.sender.AddPartitionsToTxnHandler.handle_response": "17bcd38903ea",
        "aiokafka.producer.sender.EndTxnHandler.handle_response": "0d6dddf7e76d",
        "aiokafka.producer.sender.InitPIDHandler.handle_response": "310b52e848f2",
        "aiokafka.producer.sender.SendProduceReqHandler.handle_response": "552007acc49e",
        "aiokafka.producer.sender.Sender._fail_all": "a939bb088a36",
        "aiokafka.producer.sender.Sender._maybe_do_transactional_request": "84a1736c0bd8",
        "aiokafka.producer.sender.Sender._sender_routine": "c07b5ec56875",
        "aiokafka.producer.sender.TxnOffsetCommitHandler.handle_response": "da2a7e6d89c7",
        "aiokafka.producer.transaction_manager.TransactionManager.error_transaction": "4acd8c0364a2",
        "aiokafka.producer.transaction_manager.TransactionManager.fatal_error": "982d69337228",
    },
    "Reading committed records: the position goes on over markers and over what was aborted.": {
        "aiokafka.consumer.consumer.AIOKafkaConsumer.last_stable_offset": "ecbdc68482bf",
        "aiokafka.consumer.fetcher.FetchResult.getall": "b638929de343",
        "aiokafka.consumer.fetcher.PartitionRecords._unpack_records": "047f7fc3f005",
    },
    "Topic ids: a request of our own is sent in the version that the broker speaks, or is refused here.": {
        "aiokafka.client.AIOKafkaClient.bootstrap": "f9d734f5446b",
        "aiokafka.client.AIOKafkaClient.get_random_node": "2bd095d67033",
        "aiokafka.client.AIOKafkaClient.send": "fb1726e3ed8e",
        "aiokafka.protocol.api.Request.build": "eac666de710e",
        "aiokafka.protocol.api.Request.prepare": "af9f578c3892",
    },
}

FINGERPRINTS = {name: known for names in RELIED_ON.values() for name, known in names.items()}

FOREIGN = {"faust", "mode", "aiokafka"}

#: What the class machinery of Faust and mode puts into every subclass.
MADE = {"logger", "_tasks", "_abc_impl"}

#: What a request declares of itself.
DECLARED = {"API_KEY", "API_VERSION", "FLEXIBLE_VERSION", "RESPONSE_TYPE", "SCHEMA"}


def find(path: str) -> Any:
    """Return the function, task or property of a dotted name."""
    words = path.split(".")
    for end in range(len(words), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(words[:end]))
        except ImportError:
            continue
        for word in words[end:]:
            found = inspect.getattr_static(found, word)
        return found
    raise AssertionError(f"there is no {path}")


def function(found: Any) -> Any:
    """Return the function that a task, a property or a decorator is made of."""
    if isinstance(found, property):
        return found.fget
    return inspect.unwrap(getattr(found, "fun", found))


def fingerprint(path: str) -> str:
    """Return a short digest of the source text."""
    source = textwrap.dedent(inspect.getsource(function(find(path))))
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def overrides() -> Iterator[tuple[str, Any, Any]]:
    """Yield dotted name, theirs and ours of whatever the engine's classes replace in a foreign class."""
    for module in pkgutil.walk_packages(streams.worker.__path__, "streams.worker."):
        ours = importlib.import_module(module.name)
        for kind in vars(ours).values():
            if not inspect.isclass(kind) or kind.__module__ != ours.__name__:
                continue
            bases = [base for base in kind.__mro__[1:] if base.__module__.split(".")[0] in FOREIGN]
            for name, mine in vars(kind).items():
                base = next((base for base in bases if name in vars(base)), None)
                dunder = name.startswith("__") and name != "__init__"
                if (
                    base is not None
                    and not dunder
                    and name not in MADE | DECLARED
                    and not inspect.isclass(mine)
                ):
                    yield f"{base.__module__}.{base.__qualname__}.{name}", vars(base)[name], mine


OVERRIDES = list(overrides())


@pytest.mark.parametrize("path", sorted(FINGERPRINTS))
def test_it_is_the_code_the_engine_was_written_against(path: str) -> None:
    assert fingerprint(path) == FINGERPRINTS[path], f"{path} has changed"


def test_the_engine_overrides_nothing_that_is_not_written_down() -> None:
    assert {name for name, _, _ in OVERRIDES} - FINGERPRINTS.keys() == set()
    assert len(OVERRIDES) > 40


@pytest.mark.parametrize(
    ("theirs", "ours"), [pytest.param(theirs, ours, id=name) for name, theirs, ours in OVERRIDES]
)
def test_an_override_can_be_called_as_the_original(theirs: Any, ours: Any) -> None:
    assert type(ours) is type(theirs)
    wanted = inspect.signature(function(theirs)).parameters
    offered = inspect.signature(function(ours)).parameters
    kinds = {parameter.kind for parameter in offered.values()}
    takes_all = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds
    if not takes_all and function(ours).__name__ != "__init__":
        named = [name for name, each in wanted.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
        assert [name for name in offered if name in named] == named
    assert inspect.iscoroutinefunction(function(ours)) == inspect.iscoroutinefunction(function(theirs))


def test_the_url_scheme_leads_to_the_engines_transport() -> None:
    transport.register()
    found = by_url("runs://localhost:9092")
    assert found is transport.RunTransport
    assert found.Consumer is transport.RunConsumer
    assert found.Producer is transport.RunProducer


def test_a_consumer_message_keeps_what_it_is_given_by_position() -> None:
    tp = TP("topic", 3)
    message = ConsumerMessage("topic", 3, 17, 1.5, 0, None, None, b"run", None, 0, 0, tp, generation_id=4)
    assert (message.topic, message.partition, message.offset, message.timestamp) == ("topic", 3, 17, 1.5)
    assert (message.value, message.tp, message.generation_id, message.acked) == (b"run", tp, 4, False)


async def test_aiokafkas_consumer_keeps_its_options_where_the_engine_sets_them() -> None:
    consumer = AIOKafkaConsumer(fetch_max_wait_ms=1500, max_poll_records=7)
    assert (consumer._fetch_max_wait_ms, consumer._max_poll_records) == (1500, 7)
    await consumer.stop()


def test_the_metadata_of_a_batch_has_an_offset() -> None:
    assert "offset" in RecordMetadata._fields


def test_fausts_version_is_the_pinned_one() -> None:
    assert faust.__version__ == "0.15.3"
