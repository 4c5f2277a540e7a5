"""Log lines for a screen that has no room for a log."""

import logging
import warnings

from streams.observe.notices import Notices


def test_the_newest_warnings_are_texts_for_ten_minutes_and_nothing_reaches_a_stream() -> None:
    now = 1_700_000_000_000
    notices = Notices(lambda: now)
    before = logging.getLogger().handlers
    with notices.taken():
        assert logging.getLogger().handlers == [notices]
        logging.getLogger("streams").info("no warning")
        logging.getLogger("streams").warning("too old to be kept")
        logging.getLogger("streams").warning("the brokers do not answer: %d", 7)
        logging.getLogger("aiokafka.cluster").error("Unable to update metadata")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("an old name", DeprecationWarning, stacklevel=1)
    assert logging.getLogger().handlers is before
    *first, last = notices.recent()
    assert first == [
        "22:13:20 the brokers do not answer: 7",
        "22:13:20 Kafka client: Unable to update metadata",
    ]
    assert "an old name" in last
    now += 600_001
    assert notices.recent() == ()
