import { describe, expect, it } from "vitest";
import { FrameCommand, Operation } from "../../src/enums/index.js";
import {
  EvictionHeader,
  FrameAssembler,
  frameSize,
  ReplyHeader,
  RequestHeader,
  validateRequestHeader,
  writeEviction,
  writeReplyHeader,
  writeRequestHeader,
} from "../../src/frames/index.js";
import { fromHex, loadVectors, toHex } from "../golden.js";

interface CapturedFrame {
  readonly event: string;
  readonly code?: number;
  readonly request?: string;
  readonly session?: string;
  readonly operation?: number;
  readonly partition_incarnation?: string;
  readonly owner_generation?: string;
  readonly minimum_metadata_op?: string;
  readonly header_hex?: string;
  readonly body_hex?: string;
}
interface CapturedCall {
  readonly call: string;
  readonly frames: readonly CapturedFrame[];
}
const captures: Readonly<Record<"single_node" | "three_nodes", readonly CapturedCall[]>> = loadVectors("captures");

describe.each(["single_node", "three_nodes"] as const)("captured frames, %s", (set) => {
  const calls = captures[set].filter(({ frames }) => frames.some(({ header_hex }) => header_hex !== undefined));
  const header = new RequestHeader();
  const reply = new ReplyHeader();

  it.each(calls)("$call re-encode to the bytes that crossed the wire", ({ frames }) => {
    for (const frame of frames) {
      if (frame.header_hex === undefined) continue;
      const bytes = fromHex(frame.header_hex + (frame.body_hex ?? ""));
      expect(frameSize(bytes)).toBe(bytes.length);
      const again = new Uint8Array(256);
      switch (bytes[60]) {
        case FrameCommand.Request:
          header.at(bytes);
          expect(validateRequestHeader(header)).toBeUndefined();
          expect({
            request: String(header.requestBig),
            session: String(header.sessionBig),
            operation: header.operation,
            partition_incarnation: String(header.partitionIncarnation),
            owner_generation: String(header.ownerGeneration),
            minimum_metadata_op: String(header.minimumMetadataOp),
          }).toEqual({
            request: frame.request,
            session: frame.session,
            operation: frame.operation,
            partition_incarnation: frame.partition_incarnation,
            owner_generation: frame.owner_generation,
            minimum_metadata_op: frame.minimum_metadata_op,
          });
          if (header.operation === Operation.NonReplicated) expect(header.commandCode).toBe(frame.code);
          writeRequestHeader(again, 0, {
            bodyLength: header.bodyLength,
            client: header.client,
            operation: header.operation,
            requestChecksum: header.requestChecksum,
            request: header.requestBig,
            session: header.sessionBig,
            commandCode: header.commandCode,
            partitionIncarnation: header.partitionIncarnation,
            ownerGeneration: header.ownerGeneration,
            minimumMetadataOp: header.minimumMetadataOp,
          });
          break;
        case FrameCommand.Reply:
          reply.at(bytes);
          writeReplyHeader(again, 0, {
            bodyLength: reply.bodyLength,
            cluster: reply.cluster,
            view: reply.view,
            replica: reply.replica,
            client: reply.client,
            operation: reply.operation,
            requestChecksum: reply.requestChecksum,
            request: reply.requestBig,
            op: reply.opBig,
            commit: reply.commitBig,
            timestamp: reply.timestamp,
            status: reply.status,
            isCommitted: reply.isCommitted,
            partitionIncarnation: reply.partitionIncarnationBig,
          });
          break;
        default: {
          const eviction = new EvictionHeader().at(bytes);
          writeEviction(again, 0, {
            cluster: eviction.cluster,
            view: eviction.view,
            replica: eviction.replica,
            client: eviction.client,
            reason: eviction.reason,
            serverProtocolVersion: eviction.serverProtocolVersion,
            serverProtocolVersionMin: eviction.serverProtocolVersionMin,
          });
        }
      }
      expect(toHex(again)).toBe(frame.header_hex);
    }
  });

  it("come out of an assembler frame by frame, however the stream is cut", () => {
    const sent = calls.flatMap(({ frames }) =>
      frames.flatMap(({ event, header_hex, body_hex }) =>
        event === "request" ? [(header_hex ?? "") + (body_hex ?? "")] : [],
      ),
    );
    const stream = fromHex(sent.join(""));
    for (const step of [1, 100, 1460, 65_536]) {
      const assembler = new FrameAssembler();
      const seen: string[] = [];
      for (let at = 0; at < stream.length; at += step) {
        assembler.push(stream.subarray(at, at + step), (frame) => seen.push(toHex(frame)));
      }
      expect(seen).toEqual(sent);
    }
  });
});
