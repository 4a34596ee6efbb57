export { FakeServer, type FakeServerOptions } from "./fake-server.js";
