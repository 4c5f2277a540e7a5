"""The judgement: values in, values out, with no clock, no I/O and no Kafka."""
