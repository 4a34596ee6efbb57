export type { Fetch } from "./exchange.js";
export { HttpClient, type HttpClientConfig } from "./http-client.js";
export * from "../public.js";
