export { metricsRoutes } from "./metrics-routes.js";
export { NodeMetrics } from "./node-metrics.js";
