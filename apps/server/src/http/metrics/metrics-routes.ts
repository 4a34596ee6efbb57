import { anyCredential, raw, route, type Route } from "../route/index.js";
import type { NodeMetrics } from "./node-metrics.js";
import { OPEN_METRICS, openMetricsText } from "./open-metrics.js";

const text = raw(200, "What the node measures, in the text of OpenMetrics.", OPEN_METRICS);

export const metricsRoutes = (metrics: NodeMetrics, path: string): readonly Route[] => [
  route({
    method: "GET",
    path,
    tag: "Health",
    summary: "Read what the node measures",
    access: anyCredential,
    place: "here",
    answers: [text],
    serve: async () => text.of(openMetricsText(await metrics.read())),
  }),
];
