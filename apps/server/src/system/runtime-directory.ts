import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { currentConfigToml, type ServerConfig } from "../config/index.js";

/** Name of the file that tells tools what a running server listens on. */
const CURRENT_CONFIG = "current_config.toml";

export function currentConfigPath(dataDirectory: string, config: ServerConfig): string {
  return join(dataDirectory, config.runtime.path, CURRENT_CONFIG);
}

/** Empties the scratch directory at the start of the server; what a former run left there is void. */
export async function recreateRuntimeDirectory(dataDirectory: string, config: ServerConfig): Promise<void> {
  const directory = join(dataDirectory, config.runtime.path);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
}

/**
 * Writes the effective configuration once the listeners are bound; `config` carries their real addresses. The file
 * appears complete or not at all, so a tool that waits for it reads no half of it.
 */
export async function writeCurrentConfig(dataDirectory: string, config: ServerConfig): Promise<void> {
  const path = currentConfigPath(dataDirectory, config);
  const temporary = `${path}.tmp`;
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(currentConfigToml(config));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const directory = await open(join(dataDirectory, config.runtime.path), "r");
  await directory.sync().finally(() => directory.close());
}
