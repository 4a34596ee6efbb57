import { spawn } from "node:child_process";
import { join } from "node:path";

export interface Outcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
}

/** Runs a program of the tests in a process of its own. */
export function runProgram(name: string, args: readonly string[]): Promise<Outcome> {
  const program = join(import.meta.dirname, "..", `${name}.ts`);
  const child = spawn(
    process.execPath,
    ["--expose-gc", "--conditions=@iggy/source", "--import", "tsx", program, ...args],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  return new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal, out })));
}
