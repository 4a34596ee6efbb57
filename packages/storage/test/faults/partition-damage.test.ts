import { describe, expect, it } from "vitest";
import { type DamageKind, damageKinds, damagesOf } from "./damage.js";
import { type FileKind, fileKinds, fileOf, filledPartition, type Leaving } from "./filled-partition.js";
import { judge, type Outcome } from "./judge.js";
import { withFile } from "./picture.js";

/** How the partition was left; what recovery may conclude depends on it. */
const leavings = {
  /** Closed: everything was synced, and the superblock says so. */
  "persisted, closed": { persisted: true, by: "close" },
  "replicated, closed": { persisted: false, by: "close" },
  /** The process ended, the machine ran on: what was written is there, synced or not. */
  "persisted, killed": { persisted: true, by: "kill" },
  "replicated, killed": { persisted: false, by: "kill" },
  /** The machine stopped: what was not synced may be gone, in any order. */
  "persisted, power lost": { persisted: true, by: "power" },
  "replicated, power lost": { persisted: false, by: "power" },
} as const satisfies Record<string, Leaving>;
type LeavingName = keyof typeof leavings;

type Expectation = readonly Outcome[] | Readonly<Record<LeavingName, readonly Outcome[]>>;

const whole: Expectation = ["whole"];
const damaged: Expectation = ["damaged read"];
const damagedLog: Expectation = ["fenced: damaged-log"];
const missingHistory: Expectation = ["fenced: missing-history"];
const unreadable: Expectation = ["fenced: unreadable-record"];
const skipped: Expectation = ["offset skipped"];

/** A slot that is empty or absent never held anything; one with other bytes may have been the newer one. */
const superblock: Readonly<Record<DamageKind, Expectation>> = {
  "a flipped bit": unreadable,
  "a cut end": unreadable,
  "an empty file": whole,
  "no file": whole,
  "a sector of zeros": unreadable,
  "bytes behind its end": unreadable,
};

const record = (noFile: Expectation): Readonly<Record<DamageKind, Expectation>> => ({
  "a flipped bit": unreadable,
  "a cut end": unreadable,
  "an empty file": unreadable,
  "no file": noFile,
  "a sector of zeros": unreadable,
  "bytes behind its end": unreadable,
});

const offset: Readonly<Record<DamageKind, Expectation>> = {
  "a flipped bit": skipped,
  // Eight bytes are an offset of the time before there were checksums.
  "a cut end": ["offset skipped", "whole"],
  "an empty file": skipped,
  "no file": ["offset absent"],
  "a sector of zeros": skipped,
  "bytes behind its end": skipped,
};

/** It is made from the log, so nothing is lost with it. */
const index: Readonly<Record<DamageKind, Expectation>> = {
  "a flipped bit": whole,
  "a cut end": whole,
  "an empty file": whole,
  "no file": whole,
  "a sector of zeros": whole,
  "bytes behind its end": whole,
};

/**
 * What becomes of a partition when one of its files is found damaged. The first rule of recovery: what was synced and is
 * gone or wrong fences the partition, and so do wrong bytes where only the process ended; what was never synced is cut;
 * what nobody can tell from a torn end is cut too.
 */
const table: Readonly<Record<FileKind, Readonly<Record<DamageKind, Expectation>>>> = {
  /** Counted by the checkpoint and read only when somebody asks. Retention removes from the front, so the oldest may be absent. */
  "a sealed segment": {
    "a flipped bit": damaged,
    "a cut end": damagedLog,
    "an empty file": damagedLog,
    "no file": ["begins later"],
    "a sector of zeros": damaged,
    "bytes behind its end": whole,
  },
  /** Above the checkpoint. Whether the very last operation was synced is written down nowhere, until the partition closes. */
  "the newest segment": {
    "a flipped bit": {
      "persisted, closed": damagedLog,
      "replicated, closed": damagedLog,
      "persisted, killed": damagedLog,
      "replicated, killed": damagedLog,
      "persisted, power lost": ["fenced: damaged-log", "cut"],
      "replicated, power lost": ["cut"],
    },
    "a cut end": {
      "persisted, closed": damagedLog,
      "replicated, closed": ["cut"],
      "persisted, killed": ["fenced: damaged-log", "cut"],
      "replicated, killed": ["cut"],
      "persisted, power lost": ["fenced: damaged-log", "cut"],
      "replicated, power lost": ["cut"],
    },
    "an empty file": {
      "persisted, closed": damagedLog,
      "replicated, closed": ["cut"],
      "persisted, killed": damagedLog,
      "replicated, killed": ["cut"],
      "persisted, power lost": damagedLog,
      "replicated, power lost": ["cut"],
    },
    "no file": {
      "persisted, closed": damagedLog,
      "replicated, closed": damagedLog,
      "persisted, killed": damagedLog,
      "replicated, killed": damagedLog,
      "persisted, power lost": damagedLog,
      "replicated, power lost": ["cut"],
    },
    "a sector of zeros": {
      "persisted, closed": damagedLog,
      "replicated, closed": damagedLog,
      "persisted, killed": damagedLog,
      "replicated, killed": damagedLog,
      "persisted, power lost": ["fenced: damaged-log", "cut"],
      "replicated, power lost": ["cut"],
    },
    "bytes behind its end": whole,
  },
  "the index of a sealed segment": index,
  /** On the same run of the machine a journal that ends early is one whose end was being written: its offsets are free. */
  "the newest journal file": {
    "a flipped bit": {
      "persisted, closed": damagedLog,
      "replicated, closed": damagedLog,
      "persisted, killed": damagedLog,
      "replicated, killed": damagedLog,
      "persisted, power lost": ["fenced: damaged-log", "cut"],
      "replicated, power lost": ["cut"],
    },
    "a cut end": {
      "persisted, closed": damagedLog,
      "replicated, closed": damagedLog,
      "persisted, killed": ["cut anew"],
      "replicated, killed": ["cut anew"],
      "persisted, power lost": ["cut"],
      "replicated, power lost": ["cut"],
    },
    "an empty file": {
      "persisted, closed": damagedLog,
      "replicated, closed": damagedLog,
      "persisted, killed": ["cut anew"],
      "replicated, killed": ["cut anew"],
      "persisted, power lost": ["cut"],
      "replicated, power lost": ["cut"],
    },
    "no file": missingHistory,
    "a sector of zeros": {
      "persisted, closed": damagedLog,
      "replicated, closed": damagedLog,
      "persisted, killed": damagedLog,
      "replicated, killed": damagedLog,
      "persisted, power lost": ["fenced: damaged-log", "cut"],
      "replicated, power lost": ["cut"],
    },
    // Whole entries behind the end are no torn write.
    "bytes behind its end": {
      "persisted, closed": ["whole", "fenced: damaged-log"],
      "replicated, closed": ["whole", "fenced: damaged-log"],
      "persisted, killed": ["whole", "fenced: damaged-log"],
      "replicated, killed": ["whole", "fenced: damaged-log"],
      "persisted, power lost": whole,
      "replicated, power lost": whole,
    },
  },
  "superblock a": superblock,
  "superblock b": superblock,
  "the checkpoint": record(missingHistory),
  /** Adopted, with a warning. */
  "created.revision": record(whole),
  /** Written again: the log is there. */
  "the record of initialisation": record(whole),
  "the offset of a consumer": offset,
  "the offset of a group": offset,
  "the offset of an external group": offset,
};

for (const leaving of Object.keys(leavings) as LeavingName[]) {
  describe(`a partition (${leaving})`, () => {
    for (const file of fileKinds) {
      it(`with damage to ${file} serves nothing wrong`, { timeout: 120_000 }, async () => {
        const filled = await filledPartition(leavings[leaving]);
        const path = fileOf(filled.picture, file);
        const original = filled.picture.get(path) ?? new Uint8Array(0);
        for (const kind of damageKinds) {
          const row = table[file][kind];
          const expected = "length" in row ? row : row[leaving];
          for (const { place, bytes } of damagesOf(kind, original, file.length + leaving.length)) {
            const outcome = await judge(withFile(filled.picture, path, bytes), filled, place.length);
            expect(expected, `${kind}: ${place}`).toContain(outcome);
          }
        }
      });
    }
  });
}

describe("a partition with files of an earlier time put back", () => {
  /** A backup of single files is no backup. What can be told apart is fenced; the rest is what a crash could have left. */
  for (const [what, names, expected] of [
    ["both superblocks", ["superblock a", "superblock b"], ["whole"]],
    ["the newer superblock", ["superblock a"], ["whole"]],
    ["the checkpoint", ["the checkpoint"], ["fenced: missing-history"]],
    [
      "the checkpoint and both superblocks",
      ["the checkpoint", "superblock a", "superblock b"],
      ["fenced: missing-history"],
    ],
    ["the stored offsets", ["the offset of a consumer", "the offset of a group"], ["whole"]],
  ] as const satisfies readonly (readonly [string, readonly FileKind[], readonly Outcome[]])[]) {
    it(what, async () => {
      for (const leaving of Object.values(leavings)) {
        const filled = await filledPartition(leaving);
        let { picture } = filled;
        for (const file of names) {
          const path = fileOf(filled.picture, file);
          picture = withFile(picture, path, filled.earlier.get(path));
        }
        expect(expected).toContain(await judge(picture, filled, 2));
      }
    });
  }

  it("neither superblock: the log is there, and nobody vouches for it", async () => {
    for (const leaving of Object.values(leavings)) {
      const filled = await filledPartition(leaving);
      const paths = (["superblock a", "superblock b"] as const).map((file) => fileOf(filled.picture, file));
      const picture = paths.reduce((rest, path) => withFile(rest, path, undefined), filled.picture);
      expect(await judge(picture, filled, 2)).toBe("fenced: missing-history");
    }
  });
});
