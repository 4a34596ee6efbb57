import { connect, echo, readAll, serve } from "../support/sink.js";
import { openForProgram } from "./program.js";

// Nothing else keeps the process alive meanwhile, and nobody closes the ring.
const uring = openForProgram();
const listener = serve(uring, echo);
console.log("listening");
const socket = await connect(listener.port);
const all = readAll(socket);
socket.end("hello");
if ((await all).toString() === "hello") console.log("echoed");
await listener.close();
console.log("closed");
