import { checked, list, oneOf, restBytes, struct, u8 } from "../codec/index.js";
import { Operation, SnapshotCompression, SnapshotType } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";

const allStandsAlone = ({ snapshotTypes }: { readonly snapshotTypes: readonly number[] }): string | undefined =>
  snapshotTypes.length > 1 && snapshotTypes.includes(SnapshotType.all)
    ? "the snapshot type all excludes other types"
    : undefined;

/**
 * Diagnostic archive of the answering node.
 *
 *   request  compression    u8, a SnapshotCompression code
 *            snapshot_types [u8 count][u8 × count], SnapshotType codes; `all` stands alone
 *   reply    bytes of a ZIP archive
 */
export const getSnapshot = command({
  code: 11,
  name: "snapshot",
  title: "GetSnapshot",
  operation: Operation.NonReplicated,
  request: checked(
    struct("GetSnapshot", {
      compression: oneOf("snapshot compression", u8, Object.values(SnapshotCompression)),
      snapshotTypes: list(u8, oneOf("snapshot type", u8, Object.values(SnapshotType))),
    }),
    allStandsAlone,
    (s) => ({ compression: 1 + s.integer(5), snapshotTypes: s.boolean() ? [SnapshotType.all] : [1 + s.integer(5)] }),
  ),
  response: struct("Snapshot", { data: restBytes }),
});
export type GetSnapshotRequest = RequestOf<typeof getSnapshot>;
export type Snapshot = NonNullable<ResponseOf<typeof getSnapshot>>;
