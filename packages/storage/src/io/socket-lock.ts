import { randomBytes } from "node:crypto";
import fs from "node:fs";
import { type FileHandle, link, open, readdir } from "node:fs/promises";
import net from "node:net";
import { basename, dirname } from "node:path";
import type { IoLock } from "./io.js";
import { errorCode } from "./os-error.js";

/**
 * An exclusive lock that the kernel ends with the process, without native code: a listening Unix socket. Whoever can be
 * connected to is alive; no process id is compared, so a container that restarts under the same id is not mistaken.
 *
 * Lock files are numbered, `<path>.1`, `<path>.2` ...; a contender that finds the one behind the highest number dead, or
 * none, links its own, already listening, socket to the next number, which only one contender can do, and then looks
 * again: a higher number, a lower one that is alive, or another socket in its own place mean that its first look was
 * stale, and it withdraws. As everybody links before this second look, the later of two sees the earlier one.
 *
 * A holder's file is there as long as it holds. Only a holder removes files: those of others when it begins, whose owners
 * see it and withdraw, and its own at its release, before its socket ends, so that nobody takes a released lock for one
 * of a crash. A graceful stop leaves nothing, a crash one dead file to the next holder. Who withdraws leaves its file,
 * too: the name may be another's by then.
 */
export async function lockBySocket(path: string): Promise<IoLock | undefined> {
  const directory = dirname(path);
  const name = basename(path);
  const handle = await open(directory, "r");
  try {
    const reach = reachable(directory, handle);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const highest = Math.max(0, ...(await generations(directory, name)));
      if (highest > 0) {
        const state = await probe(`${reach}/${name}.${highest}`);
        if (state === "alive") return undefined;
        if (state === "gone") continue;
      }
      const server = await contend(reach, directory, name, highest + 1);
      if (server !== undefined) return { release: () => release(server, `${directory}/${name}.${highest + 1}`) };
    }
    return undefined;
  } finally {
    await handle.close();
  }
}

const ATTEMPTS = 16;
/** Longest socket address that every system takes; Node cuts a longer one without a word. */
const ADDRESS_BYTES_MAX = 100;
/** Room for the file's name behind the directory. */
const NAME_BYTES_MAX = 48;

/** A way to the directory that is short enough for a socket address. */
function reachable(directory: string, handle: FileHandle): string {
  if (Buffer.byteLength(directory) + NAME_BYTES_MAX <= ADDRESS_BYTES_MAX) return directory;
  const viaDescriptor = `/proc/self/fd/${handle.fd}`;
  if (fs.existsSync(viaDescriptor)) return viaDescriptor;
  throw new Error(
    `the path ${directory} is too long for a lock: keep it below ${ADDRESS_BYTES_MAX - NAME_BYTES_MAX} bytes`,
  );
}

async function contend(
  reach: string,
  directory: string,
  name: string,
  generation: number,
): Promise<net.Server | undefined> {
  // Containers that share a directory may share process ids too.
  const candidate = `${name}.c${randomBytes(8).toString("hex")}`;
  const server = await listen(`${reach}/${candidate}`);
  try {
    const path = `${directory}/${name}.${generation}`;
    const identity = identityOf(`${directory}/${candidate}`);
    await link(`${directory}/${candidate}`, path);
    const others = (await generations(directory, name)).filter((other) => other !== generation);
    const isNewest = others.every((other) => other < generation) && !(await isAnyAlive(reach, name, others));
    if (isNewest && identity !== undefined && identityOf(path) === identity) {
      removeLeftovers(directory, name, generation);
      return server;
    }
  } catch (error) {
    const code = errorCode(error);
    if (code !== "EEXIST" && code !== "ENOENT") {
      await closeServer(server);
      throw error;
    }
  }
  await closeServer(server);
  fs.rmSync(`${directory}/${candidate}`, { force: true });
  return undefined;
}

async function isAnyAlive(reach: string, name: string, numbers: readonly number[]): Promise<boolean> {
  for (const number of numbers) {
    if ((await probe(`${reach}/${name}.${number}`)) === "alive") return true;
  }
  return false;
}

/** A socket keeps its inode as long as it listens, also when the last name is gone: the number is no other file's. */
function identityOf(path: string): bigint | undefined {
  return fs.statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

/** In this order: whoever still sees the file must find it alive. */
async function release(server: net.Server, path: string): Promise<void> {
  try {
    fs.rmSync(path, { force: true });
  } finally {
    await closeServer(server);
  }
}

/** The new holder clears what earlier ones left, candidates included: a live contender among them only looks again. */
function removeLeftovers(directory: string, name: string, generation: number): void {
  for (const entry of fs.readdirSync(directory)) {
    if (entry.startsWith(`${name}.`) && entry !== `${name}.${generation}`) {
      fs.rmSync(`${directory}/${entry}`, { force: true });
    }
  }
}

async function generations(directory: string, name: string): Promise<number[]> {
  return (await readdir(directory))
    .filter((entry) => entry.startsWith(`${name}.`))
    .map((entry) => entry.slice(name.length + 1))
    .filter((suffix) => /^[1-9][0-9]{0,14}$/.test(suffix))
    .map(Number);
}

function listen(address: string): Promise<net.Server> {
  return new Promise((resolve, reject) => {
    const server = net.createServer((connection) => connection.destroy());
    server.once("error", reject);
    server.listen(address, () => {
      server.off("error", reject);
      server.unref();
      resolve(server);
    });
  });
}

function closeServer(server: net.Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
  });
}

type Liveness = "alive" | "dead" | "gone";

function probe(address: string): Promise<Liveness> {
  return new Promise((resolve, reject) => {
    const connection = net.connect(address);
    connection.once("connect", () => {
      connection.destroy();
      resolve("alive");
    });
    connection.once("error", (error) => {
      const code = errorCode(error);
      if (code === "ECONNREFUSED" || code === "ECONNRESET" || code === "EPIPE")
        resolve(code === "ECONNREFUSED" ? "dead" : "alive");
      else if (code === "EAGAIN") resolve("alive");
      else if (code === "ENOENT") resolve("gone");
      else reject(error);
    });
  });
}
