import { monitorEventLoopDelay } from "node:perf_hooks";
import type { MetadataMachine, PartitionStats } from "@iggy/engine";
import { type ClientTransportName, ClientTransport, nameOf, PROTOCOL_VERSION, versionText } from "@iggy/protocol";
import type { ConnectionFacts } from "../../node/connection-facts.js";
import type { Metric, Sample } from "./open-metrics.js";

export interface NodeMetricsDeps {
  readonly machine: MetadataMachine;
  readonly partitionStats: PartitionStats;
  readonly connections: () => Promise<readonly ConnectionFacts[]>;
  readonly serverVersion: string;
  /** Series of single partitions are left out above this many. */
  readonly partitionsMax: number;
}

/** What this node measures, sampled when it is asked. */
export class NodeMetrics {
  private readonly deps: NodeMetricsDeps;
  private readonly loopDelay = monitorEventLoopDelay({ resolution: 20 });
  private requests = 0;

  constructor(deps: NodeMetricsDeps) {
    this.deps = deps;
    this.loopDelay.enable();
  }

  countRequest(): void {
    this.requests++;
  }

  close(): void {
    this.loopDelay.disable();
  }

  async read(): Promise<readonly Metric[]> {
    const { machine, partitionStats, serverVersion } = this.deps;
    const connections = await this.deps.connections();
    const totals = machine.totals(partitionStats);
    return [
      counter("http_requests", "HTTP requests, preflights included.", this.requests),
      gauge("streams", "Streams.", totals.streamsCount),
      gauge("topics", "Topics.", totals.topicsCount),
      gauge("partitions", "Partitions.", totals.partitionsCount),
      gauge("segments", "Segments.", totals.segmentsCount),
      gauge("messages", "Messages.", totals.messagesCount),
      gauge("users", "Users.", totals.usersCount),
      gauge("clients", "Connections of clients.", connections.length),
      gauge("iggy_sessions", "Live sessions.", [...machine.sessions()].length),
      {
        name: "iggy_connections",
        type: "gauge",
        help: "Connections by transport.",
        samples: byTransport(connections),
      },
      {
        name: "iggy_build",
        type: "info",
        help: "What runs.",
        samples: [{ labels: { version: serverVersion, protocol: versionText(PROTOCOL_VERSION) }, value: 1 }],
      },
      {
        name: "iggy_event_loop_delay_seconds",
        type: "gauge",
        help: "Delay of the event loop that orders metadata, since the start.",
        samples: [0.5, 0.99, 1].map((quantile) => ({
          labels: { quantile },
          value: this.loopDelay.percentile(100 * quantile) / 1e9,
        })),
      },
      ...(totals.partitionsCount > this.deps.partitionsMax ? [] : this.partitionMetrics()),
    ];
  }

  private partitionMetrics(): Metric[] {
    const { machine, partitionStats } = this.deps;
    const known = [...machine.partitions()].flatMap((partition) => {
      const key = {
        streamId: partition.topic.stream.id,
        topicId: partition.topic.id,
        partitionId: partition.partitionId,
        incarnation: partition.incarnation,
      };
      const counters = partitionStats.countersOf(key);
      if (counters === undefined) return [];
      const labels = {
        stream: key.streamId,
        topic: key.topicId,
        partition: key.partitionId,
      };
      return [{ labels, counters }];
    });
    const series = (
      name: string,
      help: string,
      valueOf: (counters: (typeof known)[number]["counters"]) => number,
    ): Metric => ({
      name,
      type: "gauge",
      help,
      samples: known.map(({ labels, counters }) => ({ labels, value: valueOf(counters) })),
    });
    return [
      series("iggy_partition_size_bytes", "Bytes of the batches of a partition.", ({ sizeBytes }) => sizeBytes),
      series(
        "iggy_partition_current_offset",
        "Offset of the last message of a partition.",
        ({ currentOffset }) => currentOffset,
      ),
      series("iggy_partition_in_sync_members", "Nodes that have all of a partition.", ({ inSync }) => inSync.length),
    ];
  }
}

const gauge = (name: string, help: string, value: number): Metric => ({
  name,
  type: "gauge",
  help,
  samples: [{ value }],
});
const counter = (name: string, help: string, value: number): Metric => ({
  name,
  type: "counter",
  help,
  samples: [{ value }],
});

function byTransport(connections: readonly ConnectionFacts[]): Sample[] {
  const counts = new Map<ClientTransportName, number>();
  for (const { transport } of connections) {
    const name = nameOf(ClientTransport, transport);
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([transport, value]) => ({ labels: { transport }, value }));
}
