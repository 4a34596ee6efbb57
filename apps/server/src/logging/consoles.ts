import type { Environment } from "../config/index.js";
import type { Console } from "./logging.js";

/** Standard output. A closed pipe silences it instead of ending the process. */
export function stdoutConsole(stream: NodeJS.WriteStream, environment: Environment): Console {
  let isOpen = true;
  stream.on("error", () => (isOpen = false));
  const isTerminal = stream.isTTY;
  return {
    isTerminal,
    hasColors: isTerminal && (environment["NO_COLOR"] ?? "") === "",
    write: (text) => {
      if (isOpen) stream.write(text);
    },
  };
}

/** Nobody reads. */
export const silentConsole: Console = { isTerminal: false, hasColors: false, write: () => undefined };

/** Keeps the newest lines for a test to look at. */
export class MemoryConsole implements Console {
  readonly isTerminal = false;
  readonly hasColors = false;
  readonly #linesMax: number;
  readonly lines: string[] = [];

  constructor(linesMax = 10_000) {
    this.#linesMax = linesMax;
  }

  write(text: string): void {
    this.lines.push(text);
    if (this.lines.length > this.#linesMax) this.lines.shift();
  }
}
