import { RingListener } from "../../src/index.js";
import { connect } from "../support/sink.js";
import { openForProgram } from "./program.js";

process.on("uncaughtException", (error) => console.log(`caught: ${error.message}`));
const uring = openForProgram();
let count = 0;
const listener = RingListener.listen(uring.ring, {
  host: "127.0.0.1",
  port: 0,
  onAccept: (descriptor) => {
    uring.ring.addon.socketClose(descriptor);
    if (count++ === 0) throw new Error("from a callback");
    console.log("still working");
    void listener.close();
  },
});
for (let at = 0; at < 2; at++) {
  const socket = await connect(listener.port);
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.resume().once("close", resolve));
}
