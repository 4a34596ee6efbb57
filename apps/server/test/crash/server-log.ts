import type { ServerProcess } from "../raw-client/index.js";

interface Line {
  readonly level: string;
  readonly message: string;
  readonly text: string;
}

/** Digits and paths differ from line to line of one kind. */
const kindOf = (text: string): string =>
  text
    .replaceAll(/\/[^ :,"]*/g, "<path>")
    .replaceAll(/\d+/g, "<n>")
    .slice(0, 160);

/** What servers said over the whole run: an error is a fault, warnings are counted by kind. */
export class ServerLog {
  readonly warnings = new Map<string, number>();

  /** Reads what one server wrote, and gives what it must never say. */
  take(server: ServerProcess): string[] {
    const faults: string[] = [];
    for (const { level, message, text } of linesOf(server.stdout)) {
      if (level === "error" || level === "fatal" || text.includes("fenced")) faults.push(`the server says: ${text}`);
      else if (level === "warn") this.warnings.set(kindOf(message), (this.warnings.get(kindOf(message)) ?? 0) + 1);
    }
    if (server.stderr !== "") faults.push(`on stderr: ${server.stderr.slice(0, 500)}`);
    return faults;
  }
}

/** A killed server may leave half a line behind. */
function linesOf(output: string): Line[] {
  const lines: Line[] = [];
  for (const line of output.split("\n").slice(0, -1)) {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed !== "object" || parsed === null || !("level" in parsed) || !("msg" in parsed)) continue;
    lines.push({ level: String(parsed.level), message: String(parsed.msg), text: line.slice(0, 600) });
  }
  return lines;
}
