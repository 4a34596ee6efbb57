import { constants } from "node:fs";
import {
  AT_REMOVE_DIRECTORY,
  AT_WORKING_DIRECTORY,
  call,
  Operation,
  PathDesk,
  type Ring,
  type SystemError,
} from "../ring/index.js";
import type { FallbackIo, Io, IoLock, OpenMode } from "./storage-contract.js";
import { UringFile } from "./uring-file.js";

const FLAGS: Record<OpenMode, number> = {
  read: constants.O_RDONLY,
  write: constants.O_RDWR | constants.O_CREAT,
  "create-exclusive": constants.O_RDWR | constants.O_CREAT | constants.O_EXCL,
};
/** Not in `constants`: children that the process starts must not hold our files. */
const O_CLOEXEC = 0o2000000;
const FILE_MODE = 0o640;

/**
 * The disk through a ring: names and syncs are operations of the ring, writes go into the page cache at once, reads are
 * taken from there when they can be. Listing, locking and whatever else is rare is left to `rare`.
 */
export class UringIo implements Io {
  private readonly ring: Ring;
  private readonly rare: FallbackIo;
  private readonly paths: PathDesk;

  constructor(ring: Ring, rare: FallbackIo) {
    this.ring = ring;
    this.rare = rare;
    this.paths = new PathDesk(ring);
  }

  async open(path: string, mode: OpenMode): Promise<UringFile> {
    return new UringFile(this.ring, await this.openDescriptor(path, FLAGS[mode]));
  }

  rename(from: string, to: string): Promise<void> {
    return this.moveOrLink(Operation.renameAt, "rename", from, to);
  }

  link(from: string, to: string): Promise<void> {
    return this.moveOrLink(Operation.linkAt, "link", from, to);
  }

  async remove(path: string): Promise<void> {
    await this.unlink(path, "unlink", 0, ["ENOENT"]);
  }

  async removeEmptyDirectory(path: string): Promise<void> {
    await this.unlink(path, "rmdir", AT_REMOVE_DIRECTORY, ["ENOENT", "ENOTEMPTY", "EEXIST"]);
  }

  async syncDirectory(path: string): Promise<void> {
    const descriptor = await this.openDescriptor(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      // All of it: a sync of the data alone may skip changed names.
      await call(this.ring, "fsync", { code: Operation.fsync, descriptor }, path);
    } finally {
      await call(this.ring, "close", { code: Operation.close, descriptor }, path);
    }
  }

  makeDirectory(path: string): Promise<void> {
    return this.rare.makeDirectory(path);
  }

  list(path: string): Promise<readonly string[] | undefined> {
    return this.rare.list(path);
  }

  removeTree(path: string): Promise<void> {
    return this.rare.removeTree(path);
  }

  lock(path: string): Promise<IoLock | undefined> {
    return this.rare.lock(path);
  }

  bootId(): Promise<bigint> {
    return this.rare.bootId();
  }

  private openDescriptor(path: string, flags: number): Promise<number> {
    return this.paths.lend([path], (placed) =>
      call(
        this.ring,
        "open",
        {
          code: Operation.openAt,
          descriptor: AT_WORKING_DIRECTORY,
          path: placed,
          length: FILE_MODE,
          flags: flags | O_CLOEXEC,
          givesDescriptor: true,
        },
        path,
      ),
    );
  }

  private async moveOrLink(code: number, syscall: string, from: string, to: string): Promise<void> {
    await this.paths.lend([from, to], (path, secondPath) =>
      call(
        this.ring,
        syscall,
        { code, descriptor: AT_WORKING_DIRECTORY, path, secondPath, length: AT_WORKING_DIRECTORY },
        from,
      ),
    );
  }

  private async unlink(path: string, syscall: string, flags: number, fine: readonly string[]): Promise<void> {
    try {
      await this.paths.lend([path], (placed) =>
        call(
          this.ring,
          syscall,
          { code: Operation.unlinkAt, descriptor: AT_WORKING_DIRECTORY, path: placed, flags },
          path,
        ),
      );
    } catch (error) {
      if (!fine.includes((error as Partial<SystemError>).code ?? "")) throw error;
    }
  }
}
