import { name, struct, u32, type ValueOf } from "../codec/index.js";

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

const part = 0x3ff;

/** `major << 20 | minor << 10 | patch`, ten bits each. */
export function packVersion(version: Version): number {
  for (const value of [version.major, version.minor, version.patch]) {
    if (!Number.isInteger(value) || value < 0 || value > part) {
      throw new RangeError(`a version part takes 0 to ${String(part)}, got ${String(value)}`);
    }
  }
  return version.major * 0x10_0000 + version.minor * 0x400 + version.patch;
}

export function unpackVersion(packed: number): Version {
  return { major: (packed >>> 20) & part, minor: (packed >>> 10) & part, patch: packed & part };
}

export function versionText(packed: number): string {
  const { major, minor, patch } = unpackVersion(packed);
  return `${String(major)}.${String(minor)}.${String(patch)}`;
}

/** The number that statistics carry for a package version: `major × 1 000 000 + minor × 1000 + patch`, suffixes left out. */
export function semanticVersionNumber(text: string): number {
  const [major = 0, minor = 0, patch = 0] = (text.split(/[-+]/, 1)[0] ?? "").split(".").map(Number);
  return major * 1_000_000 + minor * 1000 + patch;
}

/** 0.12.2, the one protocol version that a server of this release admits. */
export const PROTOCOL_VERSION = packVersion({ major: 0, minor: 12, patch: 2 });
/** Lowest admitted version. Equal to the current one: an earlier peer speaks other layouts. */
export const PROTOCOL_VERSION_MIN = PROTOCOL_VERSION;

export function isAdmittedVersion(packed: number): boolean {
  return packed >= PROTOCOL_VERSION_MIN && packed <= PROTOCOL_VERSION;
}

/**
 * First bytes of every login and bind; read and gated before anything behind them.
 *
 * `[protocol_version u32][sdk_name name][sdk_version name]`
 */
export const clientVersionInfo = struct("client version info", {
  protocolVersion: u32,
  sdkName: name,
  sdkVersion: name,
});
export type ClientVersionInfo = ValueOf<typeof clientVersionInfo>;
