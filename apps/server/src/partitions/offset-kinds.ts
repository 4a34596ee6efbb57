import type { ConsumerKindName } from "@iggy/protocol";
import type { OffsetKind } from "@iggy/storage";

/** The storage's word for each kind of offset key, and back. */
export const storedKinds: Readonly<Record<ConsumerKindName, OffsetKind>> = {
  consumer: "consumer",
  consumer_group: "group",
  external_group: "external_group",
};

export const machineKinds: Readonly<Record<OffsetKind, ConsumerKindName>> = {
  consumer: "consumer",
  group: "consumer_group",
  external_group: "external_group",
};
