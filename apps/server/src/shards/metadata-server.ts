import { ErrorCode } from "@iggy/protocol";
import type { OperationRequest } from "../metadata/operation-request.js";
import type { CommittedReply } from "../request.js";
import type { SignIn } from "../sessions/login-desk.js";
import type { Mesh } from "./lanes/mesh.js";
import type { Outbox } from "./lanes/outbox.js";
import type { RecordReader, RecordWriter } from "./lanes/record.js";
import { type Importer, REFERENCE_BYTES_MAX } from "./lanes/transfer.js";
import { MainKind } from "./messages/kinds.js";
import {
  AnswerKind,
  METADATA_BYTES_MAX,
  type OperationFacts,
  type PrepareFacts,
  readOperation,
  readSignIn,
  type SignInFacts,
  writePrepare,
} from "./messages/metadata.js";
import { writeCommitted } from "./messages/reply.js";

/** Where operations are ordered. */
export interface OperationDesk {
  submit(request: OperationRequest): void;
  logout(request: OperationRequest): void;
  signIn(client: bigint, requestChecksum: bigint, body: Uint8Array): Promise<SignIn>;
}

export interface MetadataServerDeps {
  readonly mesh: Mesh;
  readonly desk: OperationDesk;
  readonly log: { error(fields: object, message: string): void };
}

/** Shard 0 towards the others: tells them every commit, and takes the operations and logins of their connections. */
export class MetadataServer {
  private readonly deps: MetadataServerDeps;

  constructor(deps: MetadataServerDeps) {
    this.deps = deps;
  }

  /** Some shard has commits to take that found no room in its lane. */
  get isBehind(): boolean {
    const { mesh } = this.deps;
    for (const shard of mesh.others) if (mesh.main(shard).backlog > 0) return true;
    return false;
  }

  committed(prepare: PrepareFacts & { readonly body: Uint8Array }): void {
    const { mesh } = this.deps;
    for (const shard of mesh.others) {
      const outbox = mesh.main(shard);
      const record = outbox.begin(METADATA_BYTES_MAX + REFERENCE_BYTES_MAX);
      record.u8(MainKind.prepare);
      writePrepare(record, prepare);
      outbox.body(record, [prepare.body]);
      outbox.commit();
    }
  }

  /** Takes a record whose first byte was `kind`; false when it is none of these. */
  take(kind: number, shard: number, record: RecordReader, importer: Importer): boolean {
    switch (kind) {
      case MainKind.operation:
        this.deps.desk.submit(this.request(shard, record, importer));
        return true;
      case MainKind.logout:
        this.deps.desk.logout(this.request(shard, record, importer));
        return true;
      case MainKind.signIn: {
        const facts = readSignIn(record);
        this.signIn(shard, facts, bodyOf(record, importer));
        return true;
      }
      default:
        return false;
    }
  }

  private request(shard: number, record: RecordReader, importer: Importer): OperationRequest {
    const facts = readOperation(record);
    return new ForwardedOperation(facts, bodyOf(record, importer), this.deps.mesh.main(shard));
  }

  private signIn(shard: number, { token, client, requestChecksum }: SignInFacts, body: Uint8Array): void {
    const outbox = this.deps.mesh.main(shard);
    this.deps.desk.signIn(client, requestChecksum, body).then(
      (outcome) => {
        answerSignIn(outbox, token, outcome);
      },
      (error: unknown) => {
        this.deps.log.error({ err: error }, "a login failed unexpectedly");
        answerSignIn(outbox, token, {
          kind: "code",
          code: ErrorCode.TransientNotCommitted,
        });
      },
    );
  }
}

function answerSignIn(outbox: Outbox, token: number, outcome: SignIn): void {
  switch (outcome.kind) {
    case "code": {
      const record = beginAnswer(outbox, token, AnswerKind.code);
      record.u32(outcome.code);
      break;
    }
    case "evict": {
      const record = beginAnswer(outbox, token, AnswerKind.evict);
      record.u32(outcome.reason);
      record.flag(outcome.isRefusal);
      break;
    }
    case "session": {
      const record = beginAnswer(outbox, token, AnswerKind.session);
      record.f64(outcome.session);
      record.u32(outcome.userId);
      outbox.body(record, [outcome.payload]);
    }
  }
  outbox.commit();
}

function beginAnswer(outbox: Outbox, token: number, kind: number): RecordWriter {
  const record = outbox.begin(METADATA_BYTES_MAX + REFERENCE_BYTES_MAX);
  record.u8(MainKind.metadataAnswer);
  record.u32(token);
  record.u8(kind);
  return record;
}

/** An operation of a client of another shard. */
class ForwardedOperation implements OperationRequest {
  readonly client: bigint;
  readonly session: number;
  readonly userId: number;
  readonly request: number;
  readonly requestChecksum: bigint;
  readonly operation: number;
  readonly partitionIncarnation: number;
  readonly body: Uint8Array;
  private readonly token: number;
  private readonly outbox: Outbox;

  constructor(facts: OperationFacts, body: Uint8Array, outbox: Outbox) {
    this.client = facts.client;
    this.session = facts.session;
    this.userId = facts.userId;
    this.request = facts.request;
    this.requestChecksum = facts.requestChecksum;
    this.operation = facts.operation;
    this.partitionIncarnation = facts.partitionIncarnation;
    this.body = body;
    this.token = facts.token;
    this.outbox = outbox;
  }

  deny(code: number): void {
    beginAnswer(this.outbox, this.token, AnswerKind.deny).u32(code);
    this.outbox.commit();
  }

  evict(reason: number): void {
    beginAnswer(this.outbox, this.token, AnswerKind.evict).u32(reason);
    this.outbox.commit();
  }

  committed(reply: CommittedReply): void {
    const record = beginAnswer(this.outbox, this.token, AnswerKind.committed);
    writeCommitted(record, reply);
    this.outbox.body(record, reply.body);
    this.outbox.commit();
  }
}

const bodyOf = (record: RecordReader, importer: Importer): Uint8Array =>
  importer.receive(record).pieces[0] ?? new Uint8Array(0);
