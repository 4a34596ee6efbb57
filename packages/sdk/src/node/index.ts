import { writeFile } from "node:fs/promises";
import type { CallOptions } from "../api/caller.js";
import type { SnapshotOptions } from "../api/system.js";
import type { ClientCore } from "../client/client.js";

/**
 * Writes a diagnostic snapshot, a ZIP archive, to a file; one that is there is replaced. Resolves with its size in bytes.
 * Errors: those of `system.snapshot`, and those of `node:fs` for the file.
 */
export async function snapshotToFile(
  client: Pick<ClientCore, "system">,
  path: string,
  options?: SnapshotOptions,
  callOptions?: CallOptions,
): Promise<number> {
  const bytes = await client.system.snapshot(options, callOptions);
  await writeFile(path, bytes);
  return bytes.length;
}
