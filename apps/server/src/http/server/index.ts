export { type AppDeps, buildApp } from "./app.js";
export { HttpListener } from "./http-listener.js";
export { nodeServer } from "./node-server.js";
