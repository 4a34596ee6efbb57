import {
  type AnyCommand,
  commandByCode,
  decodeRequest,
  decodeResponse,
  encodeRequest,
  fetchMessages,
  getPartitionRoute,
  HEADER_SIZE,
  loginRegister,
  loginRegisterWithPat,
  Operation,
  pollMessagesDeferred,
  RequestHeader,
  requestOperation,
} from "@iggy/protocol";
import { type Answer, outcome, type RawLink } from "../raw-client/index.js";
import type { CapturedRequest } from "./captures.js";

/**
 * Sends captured frames to a running server. Of each only what depends on the run is replaced: the session, the
 * partition history and owner, the metadata position, and the token that signs in. Each answer is held against the
 * rules by which the client accepts one.
 */
export class Replay {
  private readonly link: RawLink;
  private readonly token: string;
  private session = 0n;
  private watermark = 0;
  private incarnation = 0n;
  private ownerGeneration = 0n;

  constructor(link: RawLink, token: string) {
    this.link = link;
    this.token = token;
  }

  /** The frame as this run sends it. */
  frameOf(request: CapturedRequest): Uint8Array {
    const body = this.bodyOf(request);
    const frame = new Uint8Array(HEADER_SIZE + body.length);
    frame.set(request.header);
    frame.set(body, HEADER_SIZE);
    const view = new DataView(frame.buffer);
    view.setUint32(48, frame.length, true);
    const replace = (at: number, value: bigint): void => {
      if (view.getBigUint64(at, true) !== 0n) view.setBigUint64(at, value, true);
    };
    replace(184, this.session);
    replace(200, this.incarnation);
    replace(208, this.ownerGeneration);
    replace(216, BigInt(this.watermark));
    return frame;
  }

  /** Sends requests in order, the next one when the last was answered. */
  async run(requests: readonly CapturedRequest[]): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (const request of requests) {
      const frame = this.frameOf(request);
      const answer = await this.link.ask(frame);
      this.judge(request, frame, answer);
      answers.push(answer);
    }
    return answers;
  }

  /** Sends requests without waiting in between, and gives the answers to those that are answered. */
  async runTogether(requests: readonly CapturedRequest[]): Promise<Answer[]> {
    const pending: {
      readonly request: CapturedRequest;
      readonly frame: Uint8Array;
      readonly answer: Promise<Answer>;
    }[] = [];
    for (const request of requests) {
      const frame = this.frameOf(request);
      if (commandOf(request).answered) {
        pending.push({ request, frame, answer: this.link.ask(frame) });
      } else this.link.write(frame);
    }
    const answers: Answer[] = [];
    for (const { request, frame, answer } of pending) {
      this.judge(request, frame, await answer);
      answers.push(await answer);
    }
    return answers;
  }

  private bodyOf({ code, body }: CapturedRequest): Uint8Array {
    if (code === loginRegisterWithPat.code) {
      return encodeRequest(loginRegisterWithPat, { ...decodeRequest(loginRegisterWithPat, body), token: this.token });
    }
    if (code !== fetchMessages.code) return body;
    const { targets, ...fetch } = decodeRequest(fetchMessages, body);
    const fenced = targets.map((target) => ({ ...target, incarnation: this.incarnation }));
    return encodeRequest(fetchMessages, { ...fetch, targets: fenced });
  }

  /** The checks of a client, in its order. A violation throws; a refusal is an answer. */
  private judge(request: CapturedRequest, frame: Uint8Array, answer: Answer): void {
    const command = commandOf(request);
    if (answer.kind === "evicted" || answer.kind === "closed") throw new Error(`${command.title}: ${outcome(answer)}`);
    const sent = new RequestHeader().at(frame, 0);
    const { header } = answer;
    const faults = [
      header.requestBig === sent.requestBig ? "" : "another request number",
      header.client === sent.client ? "" : "another client",
      requestOperation(header.operation) === sent.operation ? "" : `operation ${header.operation}`,
      header.checksum === 0n ? "" : "a sealed header",
    ];
    if (answer.kind === "ok" && needsProof(sent.operation) && !header.isCommitted)
      faults.push("no proof of the commit");
    if (header.isCommitted) {
      const isEcho =
        header.requestChecksum === sent.requestChecksum &&
        header.partitionIncarnationBig === BigInt(sent.partitionIncarnation);
      if (!isEcho) faults.push("another checksum or history");
      if (header.op === 0 || header.op !== header.commit) faults.push(`op ${header.op}, commit ${header.commit}`);
    }
    const found = faults.filter((fault) => fault !== "");
    if (found.length > 0) throw new Error(`${command.title}: the reply has ${found.join(", ")}`);
    if (raisesWatermark(sent.operation)) this.watermark = Math.max(this.watermark, header.commit);
    if (answer.kind === "ok") this.learn(command, answer.payload);
  }

  private learn(command: AnyCommand, payload: Uint8Array): void {
    decodeResponse(command, payload);
    switch (command.code) {
      case loginRegister.code:
      case loginRegisterWithPat.code:
        this.session = decodeResponse(loginRegister, payload).session;
        break;
      case getPartitionRoute.code:
        this.incarnation = decodeResponse(getPartitionRoute, payload).incarnation;
        break;
      case pollMessagesDeferred.code: {
        const { ownerGeneration } = decodeResponse(pollMessagesDeferred, payload).context;
        if (ownerGeneration !== 0n) this.ownerGeneration = ownerGeneration;
      }
    }
  }
}

function commandOf({ code }: CapturedRequest): AnyCommand {
  const command = commandByCode(code);
  if (command === undefined) throw new Error(`no command ${code}`);
  return command;
}

/** A login proves itself by its session, a read needs no proof. */
const needsProof = (operation: number): boolean =>
  operation !== Operation.NonReplicated && operation !== Operation.Register;

const raisesWatermark = (operation: number): boolean =>
  operation !== Operation.NonReplicated && operation < Operation.SendMessages;
