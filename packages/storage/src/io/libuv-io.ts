import fs from "node:fs";
import { link, mkdir, open, readdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import type { Io, IoFile, IoLock, OpenMode } from "./io.js";
import { LibuvFile } from "./libuv-file.js";
import { errorCode, isMissing } from "./os-error.js";
import { lockBySocket } from "./socket-lock.js";

const FLAGS: Record<OpenMode, number> = {
  read: fs.constants.O_RDONLY,
  write: fs.constants.O_RDWR | fs.constants.O_CREAT,
  "create-exclusive": fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL,
};
const FILE_MODE = 0o640;
const DIRECTORY_MODE = 0o750;

/** A neighbour's clean-up may remove a parent while we create a child in it. */
const MAKE_DIRECTORY_ATTEMPTS = 20;

const BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id";

/** The disk through Node's own thread pool: works everywhere Node does. */
export class LibuvIo implements Io {
  open(path: string, mode: OpenMode): Promise<IoFile> {
    return new Promise((resolve, reject) => {
      fs.open(path, FLAGS[mode], FILE_MODE, (error, descriptor) => {
        if (error === null) resolve(new LibuvFile(descriptor));
        else reject(error);
      });
    });
  }

  async makeDirectory(path: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await mkdir(path, { recursive: true, mode: DIRECTORY_MODE });
        return;
      } catch (error) {
        // Node says ENOTDIR when a parent that was there is gone when it looks what it is.
        const isParentGone = isMissing(error) || errorCode(error) === "ENOTDIR";
        if (!isParentGone || attempt === MAKE_DIRECTORY_ATTEMPTS) throw error;
      }
    }
  }

  async list(path: string): Promise<readonly string[] | undefined> {
    try {
      return await readdir(path);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  rename(from: string, to: string): Promise<void> {
    return rename(from, to);
  }

  link(from: string, to: string): Promise<void> {
    return link(from, to);
  }

  remove(path: string): Promise<void> {
    return rm(path, { force: true });
  }

  async removeEmptyDirectory(path: string): Promise<void> {
    try {
      await rmdir(path);
    } catch (error) {
      const code = errorCode(error);
      if (code !== "ENOENT" && code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
    }
  }

  removeTree(path: string): Promise<void> {
    return rm(path, { force: true, recursive: true });
  }

  async syncDirectory(path: string): Promise<void> {
    const directory = await open(path, "r");
    try {
      // fsync: fdatasync may skip changed names.
      await directory.sync();
    } finally {
      await directory.close();
    }
  }

  lock(path: string): Promise<IoLock | undefined> {
    return lockBySocket(path);
  }

  async bootId(): Promise<bigint> {
    try {
      const text = await readFile(BOOT_ID_FILE, "utf8");
      return BigInt(`0x${text.trim().replaceAll("-", "")}`);
    } catch (error) {
      if (isMissing(error)) return 0n;
      throw error;
    }
  }
}
