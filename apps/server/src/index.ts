export { ConfigError, type ConfigOverrides } from "./config/index.js";
export { type RunningServer, startServer, type StartServerOptions } from "./start-server.js";
export { SERVER_VERSION } from "./version.js";
