// A server in a process of its own: `serve.ts <way> <shape> <file>`. Reports its port, and on request what it used.
import { loadAddon } from "../src/index.js";
import { serveByNet } from "./net-server.js";
import { serveByRing } from "./ring-server.js";
import { SHAPES } from "./shapes.js";

const [way, name, path = ""] = process.argv.slice(2);
const shape = SHAPES.find((candidate) => candidate.name === name);
if (shape === undefined) throw new Error(`no shape ${name ?? ""}`);
const { addon } = loadAddon();
const port = way === "net" || addon === undefined ? await serveByNet(shape, path) : serveByRing(addon, shape, path);
process.send?.({ port });
process.on("message", () => process.send?.({ cpuMicros: totalMicros() }));

function totalMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
