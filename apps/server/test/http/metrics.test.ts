import { describe, expect, it } from "vitest";
import { openMetricsText } from "../../src/http/metrics/open-metrics.js";
import { startServer } from "../start-server.js";
import { Api, message } from "./messages/api-client.js";

const valueOf = (text: string, series: string): number | undefined => {
  const line = text.split("\n").find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
};

describe("metrics", () => {
  it("tell what is there, in the text of OpenMetrics", async () => {
    await using server = await startServer();
    const root = await Api.signIn(server);
    const topic = await root.makeTopic(2);
    await root.send(topic, [message("a"), message("b")], { partition: 1 });
    const { text, headers } = await root.call("GET", "/metrics");
    expect(headers.get("content-type")).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
    expect(text.endsWith("# EOF\n")).toBe(true);
    const gauges = ["streams", "topics", "partitions", "messages", "users", "iggy_sessions"];
    expect(gauges.map((name) => valueOf(text, name))).toEqual([1, 1, 2, 2, 1, 1]);
    expect(valueOf(text, "http_requests_total")).toBeGreaterThanOrEqual(4);
    const labels = '{stream="0",topic="0",partition="1"}';
    expect(valueOf(text, `iggy_partition_current_offset${labels}`)).toBe(1);
    expect(valueOf(text, `iggy_partition_size_bytes${labels}`)).toBeGreaterThan(0);
    expect(text).toMatch(/^iggy_build_info\{version="[^"]+",protocol="0\.12\.2"\} 1$/m);
    for (const line of text.split("\n").filter((each) => each !== "" && !each.startsWith("#"))) {
      expect(line).toMatch(/^[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+$/);
    }
  });

  it("count preflights as requests", async () => {
    await using server = await startServer();
    const root = await Api.signIn(server);
    const before = valueOf((await root.call("GET", "/metrics")).text, "http_requests_total") ?? 0;
    const headers = { origin: "https://a.example", "access-control-request-method": "POST" };
    await fetch(`${root.base}/streams`, { method: "OPTIONS", headers });
    expect(valueOf((await root.call("GET", "/metrics")).text, "http_requests_total")).toBe(before + 2);
  });

  it("leave out the series of partitions above the limit, and move with their path", async () => {
    await using server = await startServer({
      config: { "http.metrics.partitions_max": 1, "http.metrics.endpoint": "/figures/all" },
    });
    const root = await Api.signIn(server);
    await root.makeTopic(2);
    const { text } = await root.call("GET", "/figures/all");
    expect(valueOf(text, "partitions")).toBe(2);
    expect(text).not.toContain("iggy_partition_");
    expect((await root.call("GET", "/metrics")).status).toBe(404);
  });

  it("are not there when switched off", async () => {
    await using server = await startServer({ config: { "http.metrics.enabled": false } });
    expect((await (await Api.signIn(server)).call("GET", "/metrics")).status).toBe(404);
  });

  it("escape what labels hold", () => {
    const samples = [{ labels: { name: 'a"b\\c\nd' }, value: 1 }];
    expect(openMetricsText([{ name: "m", type: "gauge", help: "h", samples }])).toBe(
      '# HELP m h\n# TYPE m gauge\nm{name="a\\"b\\\\c\\nd"} 1\n# EOF\n',
    );
  });
});
