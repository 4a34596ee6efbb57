import { getSystemErrorMap } from "node:util";

/** An error of the operating system, as Node.js throws them. */
export interface SystemError extends Error {
  readonly code: string;
  /** Negative, as Node.js has it. */
  readonly errno: number;
  readonly syscall: string;
  readonly path?: string;
}

class KernelError extends Error implements SystemError {
  readonly code: string;
  readonly errno: number;
  readonly syscall: string;

  constructor(errno: number, syscall: string, path: string | undefined) {
    const [code, text] = getSystemErrorMap().get(-errno) ?? [`E${errno}`, "unknown error"];
    super(`${code}: ${text}, ${syscall}${path === undefined ? "" : ` '${path}'`}`);
    this.code = code;
    this.errno = -errno;
    this.syscall = syscall;
    if (path !== undefined) Object.defineProperty(this, "path", { value: path, enumerable: true });
  }
}

/** `errno` is positive. */
export function systemError(errno: number, syscall: string, path?: string): SystemError {
  return new KernelError(errno, syscall, path);
}

/** The ring can't take an operation: it is closed, or as many are under way as it has room for. */
export class RingError extends Error {
  readonly code: "ERR_RING_CLOSED" | "ERR_RING_FULL";

  constructor(code: RingError["code"], message: string) {
    super(message);
    this.name = "RingError";
    this.code = code;
  }
}
