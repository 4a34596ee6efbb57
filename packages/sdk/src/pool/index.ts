export { ClientPoolCore, type ClientPoolOptions, type PooledClient } from "./client-pool.js";
