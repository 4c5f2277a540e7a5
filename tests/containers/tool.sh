#!/bin/sh
# One of Kafka's command line tools, by the name that it is called with.
case $(basename "$0") in
  kafka-topics.sh) class=TopicCommand ;;
  kafka-console-producer.sh) class=ConsoleProducer ;;
  kafka-console-consumer.sh) class=consumer.ConsoleConsumer ;;
esac
exec java -Xmx256m -cp '/opt/kafka/libs/*' "org.apache.kafka.tools.$class" "$@"
