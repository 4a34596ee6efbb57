// Sends requests in rounds and prints the resident bytes after each, with the garbage collected.
import { connectQuic, QuicListener, readCertificate } from "../src/index.js";
import { pemOf } from "./support/fixtures.js";
import { serverDefaults } from "./support/server-defaults.js";

const [rounds = 1, perRound = 1] = process.argv.slice(2).map(Number);
const listener = QuicListener.listen({
  ...serverDefaults,
  certificate: readCertificate(pemOf("p256")),
  onConnection: (connection) => ({
    message: (stream, bytes) => connection.respond(stream, [bytes]),
    stopped: () => undefined,
    drained: () => undefined,
    closed: () => undefined,
  }),
});
let done = 0;
const client = await connectQuic(
  { host: "127.0.0.1", port: listener.port, rejectUnauthorized: false },
  { onReply: () => done++, onFailed: () => undefined, onDrain: () => undefined, onClose: () => undefined },
);
const message = Buffer.alloc(300, 7);
const resident: number[] = [];
for (let round = 0; round < rounds; round++) {
  done = 0;
  for (let sent = 0; done < perRound;) {
    for (; sent < perRound && sent - done < 128; sent++) client.request(message);
    await new Promise((resolve) => setImmediate(resolve));
  }
  globalThis.gc?.();
  resident.push(process.memoryUsage().rss);
}
console.log(JSON.stringify(resident));
client.close();
await listener.close();
