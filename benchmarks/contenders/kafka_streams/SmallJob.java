import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * The small job of benchmarks/contenders/small_job.py as one writes it with Kafka Streams: the processor API, a
 * persistent store with its cache and changelog, at least once. It writes the same bytes.
 *
 * <p>Arguments: the brokers, the application id, the directory of its state.
 */
public final class SmallJob {
  private static final int WINDOW = 5;
  private static final String STORE = "windows";

  public static void main(String[] arguments) throws InterruptedException {
    Topology topology = new Topology();
    topology.addSource("in", "decision-logs");
    topology.addProcessor("score", Scorer::new, "in");
    topology.addStateStore(
        Stores.keyValueStoreBuilder(
                Stores.persistentKeyValueStore(STORE), Serdes.String(), Serdes.ByteArray())
            .withCachingEnabled(),
        "score");
    topology.addSink("out", "decision-logs-enriched", "score");

    KafkaStreams streams = new KafkaStreams(topology, settings(arguments));
    CountDownLatch stopped = new CountDownLatch(1);
    streams.setUncaughtExceptionHandler(
        error -> {
          error.printStackTrace();
          Runtime.getRuntime().halt(1);
          return null;
        });
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  streams.close(Duration.ofSeconds(20));
                  stopped.countDown();
                }));
    streams.start();
    stopped.await();
  }

  private static Properties settings(String[] arguments) {
    Properties settings = new Properties();
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[2]);
    settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class);
    // One thread, as a worker of Eddy keeps one core busy; commits as often as Eddy commits.
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1_000);
    settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 64L << 20);
    settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 4_000);
    settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.COMPRESSION_TYPE_CONFIG), "lz4");
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 20);
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 256 << 10);
    settings.put(StreamsConfig.producerPrefix(ProducerConfig.ACKS_CONFIG), "all");
    return settings;
  }

  private static final class Scorer implements Processor<String, byte[], String, byte[]> {
    private final ObjectMapper json = new ObjectMapper();
    private ProcessorContext<String, byte[]> context;
    private KeyValueStore<String, byte[]> windows;

    @Override
    public void init(ProcessorContext<String, byte[]> given) {
      context = given;
      windows = given.getStateStore(STORE);
    }

    @Override
    public void process(Record<String, byte[]> record) {
      try {
        JsonNode value = json.readTree(record.value());
        ArrayDeque<String> window = read(windows.get(record.key()));
        window.addLast(decision(value));
        if (window.size() > WINDOW) {
          window.removeFirst();
        }
        windows.put(record.key(), write(window));
        context.forward(record.withValue(line(value, window)));
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    private static String decision(JsonNode value) {
      JsonNode action = value.get("action");
      JsonNode tool = action.get("tool_call");
      return value.get("cognition").get("intent").textValue()
          + '\0'
          + (tool == null || tool.isNull() ? "" : '+' + tool.textValue())
          + '\0'
          + action.get("status").textValue();
    }

    private static byte[] line(JsonNode value, ArrayDeque<String> window) {
      int different = new HashSet<>(window).size();
      double score = Math.rint(different * 10_000.0 / window.size()) / 10_000.0;
      String severity = score < 0.25 ? "LOOP" : score < 0.5 ? "WARNING" : "NORMAL";
      String text =
          "{\"event_id\":\""
              + value.get("event_id").textValue()
              + "\",\"score\":"
              + score
              + ",\"severity\":\""
              + severity
              + "\",\"window_size\":"
              + window.size()
              + ",\"unique_count\":"
              + different
              + "}";
      return text.getBytes(StandardCharsets.UTF_8);
    }

    private static ArrayDeque<String> read(byte[] stored) throws IOException {
      ArrayDeque<String> window = new ArrayDeque<>(WINDOW + 1);
      if (stored != null) {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(stored));
        for (int left = in.readByte(); left > 0; left--) {
          window.addLast(in.readUTF());
        }
      }
      return window;
    }

    private static byte[] write(ArrayDeque<String> window) throws IOException {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
      DataOutputStream out = new DataOutputStream(bytes);
      out.writeByte(window.size());
      for (String decision : window) {
        out.writeUTF(decision);
      }
      return bytes.toByteArray();
    }
  }
}
