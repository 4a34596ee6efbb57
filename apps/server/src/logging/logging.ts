import { join } from "node:path";
import { pino, stdTimeFunctions, type Logger } from "pino";
import type { LogDirectives, LogLevel, ServerConfig } from "../config/index.js";
import { jsonForm, textForm, type LineForm } from "./form.js";
import { maskSecrets } from "./mask.js";
import { RotatingFile } from "./rotating-file.js";

export const LOG_FILE_NAME = "iggy-server.log";
/** Lines kept until the log is opened; the start writes a few dozen. */
const EARLY_LINES_MAX = 1000;

/** Where lines go besides the file. */
export interface Console {
  write(text: string): void;
  readonly isTerminal: boolean;
  readonly hasColors: boolean;
}

/**
 * The log of one server. Lines written before `open` are kept and appear then, so nothing of the start is lost although
 * level, form and directory are known only once the configuration is read.
 */
export class Logging {
  /** The logger of everything that names no part. */
  readonly logger: Logger;
  readonly #parts = new Map<string, Logger>();
  readonly #console: Console;
  #early: string[] | undefined = [];
  #directives: LogDirectives = { level: "trace", targets: new Map() };
  #consoleForm: LineForm = jsonForm;
  #fileForm: LineForm = jsonForm;
  #file: RotatingFile | undefined;

  constructor(console: Console) {
    this.#console = console;
    const original = pino(
      {
        level: "trace",
        base: null,
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }), log: maskSecrets },
      },
      { write: (line) => this.#take(line) },
    );
    this.logger = maskChildren(original, original.child({}));
  }

  /** The logger of a part of the server, such as `tcp`; its level can be set apart (`logging.level = "info,tcp=debug"`). */
  part(name: string): Logger {
    const known = this.#parts.get(name);
    if (known !== undefined) return known;
    const logger = this.logger.child({ part: name }, { level: pinoLevel(this.#levelOf(name)) });
    this.#parts.set(name, logger);
    return logger;
  }

  /** Applies the configuration, opens the file and writes the early lines. Rejects when the file cannot be opened. */
  async open(config: ServerConfig["logging"], dataDirectory: string, nowMillis: () => number): Promise<void> {
    const { format } = config;
    const { isTerminal, hasColors } = this.#console;
    this.#consoleForm = format === "text" || (format === "auto" && isTerminal) ? textForm(hasColors) : jsonForm;
    this.#fileForm = format === "text" ? textForm(false) : jsonForm;
    this.#setLevels(config.level);
    if (config.fileEnabled) {
      this.#file = await RotatingFile.open({
        directory: join(dataDirectory, config.path),
        name: LOG_FILE_NAME,
        maxFileSizeBytes: config.maxFileSizeBytes,
        maxTotalSizeBytes: config.maxTotalSizeBytes,
        retentionMillis: config.retentionMillis,
        checkIntervalMillis: config.rotationCheckIntervalMillis,
        nowMillis,
        onTrouble: (message) => this.#console.write(`${message}\n`),
      });
    }
    this.#releaseEarly();
  }

  /** For a start that fails before `open`: shows the early lines from `info` on, on the console only. */
  abandon(): void {
    this.#consoleForm = this.#console.isTerminal ? textForm(this.#console.hasColors) : jsonForm;
    this.#setLevels({ level: "info", targets: new Map() });
    this.#releaseEarly();
  }

  /** Writes what is queued for the file before the process ends in an unusual way. */
  flushSync(): void {
    this.#file?.flushSync();
  }

  /** Waits for the file. Later lines go to the console only. */
  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  #take(line: string): void {
    if (this.#early === undefined) {
      this.#console.write(this.#consoleForm(line));
      this.#file?.write(this.#fileForm(line));
    } else if (this.#early.length < EARLY_LINES_MAX) {
      this.#early.push(line);
    }
  }

  #releaseEarly(): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const line of early) if (this.#isWanted(line)) this.#take(line);
  }

  /** Whether an early line, written before the levels were known, passes them. */
  #isWanted(line: string): boolean {
    const record: unknown = JSON.parse(line);
    if (typeof record !== "object" || record === null) return false;
    const part = "part" in record && typeof record.part === "string" ? record.part : "";
    const level = "level" in record && typeof record.level === "string" ? record.level : "";
    const wanted = pino.levels.values[pinoLevel(this.#levelOf(part))] ?? Number.POSITIVE_INFINITY;
    return (pino.levels.values[level] ?? 0) >= wanted;
  }

  #setLevels(directives: LogDirectives): void {
    this.#directives = directives;
    this.logger.level = pinoLevel(directives.level);
    for (const [name, logger] of this.#parts) logger.level = pinoLevel(this.#levelOf(name));
  }

  #levelOf(part: string): LogLevel {
    return this.#directives.targets.get(part) ?? this.#directives.level;
  }
}

/**
 * Masks the fields that a child carries, and those of its children: pino itself masks the fields of single lines only.
 * `original` is a logger that still has pino's own `child`.
 */
function maskChildren<L extends string>(original: Logger, logger: Logger<L>): Logger<L> {
  const child: Logger<L>["child"] = original.child.bind(logger);
  logger.child = (bindings, options) => maskChildren(original, child(maskSecrets(bindings), options));
  return logger;
}

function pinoLevel(level: LogLevel): string {
  return level === "off" ? "silent" : level;
}
