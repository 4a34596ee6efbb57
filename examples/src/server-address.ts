/** `host:port` of the server: the environment variable `IGGY_ADDRESS`, or a local server with the default settings. */
export const serverAddress = process.env["IGGY_ADDRESS"] ?? "127.0.0.1:8090";

/** The connection string of the root user of a development server. */
export const rootUrl = `iggy+tcp://iggy:iggy@${serverAddress}`;
