import { connect, serve } from "../support/sink.js";
import { openForProgram } from "./program.js";

const uring = openForProgram();
const listener = serve(uring, (stream) => stream.send([new Uint8Array(50_000_000)]));
const socket = await connect(listener.port);
socket.pause();
setTimeout(() => {
  console.log("busy");
  process.exit(3);
}, 50);
